/* What the files of a session share. */
#ifndef TN_EXEC_SESSION_H
#define TN_EXEC_SESSION_H

#include "exec/device_buffer.h"
#include "exec/frame.h"
#include "exec/profile.h"

/* What the model is when some of its defaults are replaced: those are inputs then. */
typedef struct tn_variant {
  uint8_t *fed; /* per default */
  tn_callable *callable;
  tn_frame *frame;
  const tn_tensor **inputs;
} tn_variant;

typedef struct tn_states tn_states;

struct tn_session {
  tn_model *model;
  tn_frame *frame; /* that prepares and runs: main or a variant's */
  tn_frame *main;
  const tn_tensor **frame_inputs;
  TN_VEC(tn_variant *) variants;           /* most recently used last */
  int32_t n_inputs, n_outputs;             /* n_inputs: those that must be set */
  int32_t n_all;                           /* with those that have a default, which follow */
  tn_tensor *inputs, *bound;               /* as the user set them */
  const tn_tensor **input_of, **bound_of;  /* into the above; NULL: not set */
  tn_placed *input_places, *output_places; /* of those that are on a device */
  tn_profile profile;
  bool profiling;
  int32_t n_states; /* 0: the four below are NULL */
  tn_states *states;
  struct tn_kept **kept;          /* this model's, in their order */
  const tn_tensor **main_inputs;  /* inputs without defaults, then states */
  const tn_tensor **state_inputs; /* the states among frame_inputs */
  atomic_int stop;                /* tn_session_cancel() was called since the run began */
};

/* device_buffer.c: the tensor lies there from now on, NULL: no longer, and the place holds the
 * buffer as long. */
void tn_session_place(tn_placed *place, tn_tensor *t, tn_device_buffer *buffer, uint64_t offset);

/* variant.c: sets frame and frame_inputs for the defaults that are replaced now. */
tn_status tn_session_choose_frame(tn_session *s, tn_diag *diag);
void tn_session_drop_variants(tn_session *s);

/* states.c. A session is opened and closed with states zeroed. */
tn_status tn_session_open_states(tn_session *s, const tn_allocator *a);
void tn_session_close_states(tn_session *s, const tn_allocator *a);
void tn_states_release(tn_states *s); /* NULL is legal */
/* Finds the states of a session of m among s by their names, and adds those that are not there. */
tn_status tn_states_join(tn_states *s, const tn_model *m, struct tn_kept **out, tn_diag *diag);
/* Puts them at inputs[0], ..., and into bound_of behind the outputs. */
void tn_session_bind_states(tn_session *s, const tn_tensor **inputs);
/* device_states.c: tn_frame.place, for the plan that the frame has. */
tn_status tn_session_place_states(void *session, tn_frame *f, tn_diag *diag);
/* Brings all to memory; any: one was not there. */
tn_status tn_session_fetch_states(tn_session *s, bool *out_any, tn_diag *diag);
/* A run begins (TN_ERR_STATE: another one is on its way), and ends with that status. */
tn_status tn_session_take_states(tn_session *s, tn_diag *diag);
tn_status tn_session_keep_states(tn_session *s, tn_status status, tn_diag *diag);
void tn_session_release_states(tn_session *s); /* taken, and not run on */

/* session_check.c: does a tensor fit what the model declares? Messages name the input and both
 * types. */
tn_status tn_session_check_input(const tn_session *s, int32_t index, const tn_tensor *t,
                                 tn_diag *diag);
tn_status tn_session_check_state(const char *name, const tn_tensor *declared, const tn_tensor *t,
                                 tn_diag *diag);
tn_status tn_session_check_output(const tn_session *s, int32_t index, const tn_tensor *t,
                                  tn_diag *diag);

#endif
