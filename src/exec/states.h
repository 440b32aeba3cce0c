/* The states that sessions keep: states.c; device_states.c has them on devices where their runs
 * want them there. Whoever runs on them, or moves them, has taken them (tn_session_take_states). */
#ifndef TN_EXEC_STATES_H
#define TN_EXEC_STATES_H

#include "exec/cell.h"
#include "exec/device_buffer.h"

typedef struct tn_kept {
  const char *name; /* in the arena */
  tn_tensor type;   /* as declared */
  bool is_open;     /* some of its dims may change: it stays in memory */
  tn_cell first, now;
  tn_placed places[2]; /* in buffers on a device, which take turns; no buffer: there is none yet */
  tn_tensor ends[2];   /* of its type, at its place */
  int at;              /* the place that has its value, if is_there */
  bool is_here;        /* `now` has its value */
  bool is_there;       /* a place has its value */
  bool is_the_same;    /* the run that is on its way hands it on */
  bool is_refused;     /* a device had no memory for it: none is asked again */
} tn_kept;

struct tn_states {
  atomic_int refs;
  atomic_int busy; /* a run is on its way */
  tn_allocator a;  /* the states may outlive the runtime of the session that made them */
  tn_arena arena;
  TN_VEC(tn_kept *) all;
};

/* Where it is: what a run is given. */
static inline const tn_tensor *tn_kept_value(const tn_kept *k) {
  return k->is_here ? &k->now.value : &k->ends[k->at];
}

/* ---- device_states.c ---- */

/* Its value is in memory, too, from now on. TN_ERR_STATE: its device is lost, and it with it. */
tn_status tn_kept_fetch(tn_kept *k, tn_diag *diag);
void tn_kept_close(tn_kept *k);
/* Behind a run that was given `bound` for it. */
void tn_kept_after(tn_kept *k, const tn_tensor *bound, tn_status status);

#endif
