/* Inside arranging: which values share memory, when they live, where they lie, and which steps
 * run.
 *
 * Time is counted in nodes of the topological order; a follower runs at the time of the step it
 * follows. Values that are views of one another form an alias set: the root owns the memory,
 * members lie at an offset in it. An alias set may begin in the memory of one that ends there (in
 * place): both are one buffer. Buffers and scratch are packed into the arena. */
#ifndef TN_PLAN_ARRANGE_H
#define TN_PLAN_ARRANGE_H

#include "plan/passes/passes.h"

/* ---- pack.c ---- */

enum { TN_ARENA_ALIGN = 64 };

typedef struct tn_live_range { /* something that needs bytes from time first to time last */
  uint64_t bytes;
  int32_t first, last; /* both included */
  uint32_t device;     /* in whose arena */
  uint64_t offset;     /* answer, a multiple of TN_ARENA_ALIGN */
} tn_live_range;

/* Gives every live range an offset so that no two overlap in time and bytes. out_bytes: where the
 * highest ends. out_bound: the most bytes that live at once, which no packing can beat (bytes
 * rounded up to the alignment). */
tn_status tn_pack(const tn_allocator *a, tn_live_range *live_ranges, int32_t n, uint64_t *out_bytes,
                  uint64_t *out_bound);

/* ---- the arrangement ---- */

typedef struct tn_want { /* a step that needs a packed weights */
  int32_t node;
  tn_step *step;
  tn_status status;
} tn_want;

typedef struct tn_step_tail { /* of a step that is being put together */
  int32_t node;               /* its last: the leader, or the latest follower */
  int32_t n_followers;
} tn_step_tail;

typedef struct tn_arrangement {
  const tn_planner *p;
  tn_graph *g;
  tn_plan *plan;
  tn_diag *diag;
  tn_arena arena; /* dies with the pass */
  int32_t n_values, n_nodes;
  /* per node */
  int32_t *time;   /* -1: does not run */
  int32_t *leader; /* the node whose step it runs in: itself, or the one it follows; -1: no step */
  int32_t *next;   /* next follower of the same leader, -1: last */
  tn_step_tail *tail; /* at leaders */
  uint32_t *place;    /* the device whose step it is; 0: the CPU's */
  int32_t *until;     /* of an island beside which others run: the time at which it has ended; 0 */
  /* per value */
  int32_t *root;         /* the value whose memory this one lies in; itself if it has its own */
  uint64_t *inside;      /* bytes from the root's start */
  uint32_t *on;          /* the device that it lies on */
  int32_t *first, *last; /* of the alias set, at its root */
  int32_t *last_reads;   /* how often it is read at time last, by steps that begin then */
  int32_t *buffer;       /* of the root: index into live ranges; -1: none */
  int32_t end;           /* a time after all nodes: outputs live until then */
  TN_VEC(tn_live_range) live_ranges;
  TN_VEC(tn_want) wants;
  int32_t *scratch, *worker_scratch; /* per node: index into live ranges, -1: none */
} tn_arrangement;

/* Where the outputs of a node lie: those of a transfer where its attribute says. */
static inline uint32_t tn_device_given(const tn_gnode *n) {
  if (!n->choice->device || !tn_is_core_op(n, TN_CORE_TRANSFER)) return n->choice->device;
  int64_t device;
  const tn_arg *arg = tn_schema_find(&n->def->schema, "device");
  memcpy(&device, (const char *)n->attrs + arg->offset, sizeof device);
  return (uint32_t)device;
}

static inline const tn_kernel_plan *tn_plan_of(const tn_graph *g, int32_t node) {
  return &tn_graph_node(g, node)->choice->plan;
}

/* segments.c, where devices are wanted: orders the nodes so that those of a device stand together,
 * and, when the steps are there, which segments they are and when they are submitted and waited
 * for. */
tn_status tn_arrange_group(tn_graph *g, const tn_planner *p);
tn_status tn_arrange_segments(tn_arrangement *r);
/* What lies on devices as long as the plan: constants and states of its steps. */
tn_status tn_arrange_residents(tn_arrangement *r);
/* May a value of this device lie so many bytes behind the start of another one? */
bool tn_arrange_may_view(const tn_arrangement *r, uint32_t device, uint64_t offset, int64_t bytes,
                         bool is_written);

/* beside.c: islands that run beside steps of the CPU begin early, what reads them comes late. */
tn_status tn_arrange_beside(tn_graph *g, const tn_planner *planner);
void tn_arrange_until(tn_arrangement *r); /* sets until, once time and views are known */

/* alias.c: place, root and inside of every value; regions that move nothing, and those
 * whose inputs can be written straight into the output, do not run (leader -1). */
void tn_arrange_alias(tn_arrangement *r);
/* True if a tensor of these dims has the same bytes in both layouts. */
bool tn_layouts_coincide(const tn_tensor *type, tn_layout a, tn_layout b);
/* order.c: times, leaders and followers. */
void tn_arrange_order(tn_arrangement *r);
/* live_ranges.c: live ranges, in-place pairs, offsets. */
tn_status tn_arrange_memory(tn_arrangement *r);
/* steps.c: slots and steps of the plan, with states and callables of subgraphs. */
tn_status tn_arrange_slots(tn_arrangement *r);
tn_status tn_arrange_steps(tn_arrangement *r);
/* dynamic.c: may the plan have the values that grow, if there are any? */
tn_status tn_arrange_want_dynamic(tn_arrangement *r);
#define TN_WITHOUT_DYNAMIC_VALUES                                                                \
  "value '%s' is a string, a list, or of a size that only the run says, which this program was " \
  "linked without; to have them: tenon select MODEL"
/* constants/prepare.c: notes that a step needs a state; gets the states of all, on all threads. */
tn_status tn_arrange_want_packed(tn_arrangement *r, int32_t node, tn_step *step);
tn_status tn_arrange_prepare(tn_arrangement *r);

/* Staging for a transfer that writes this slot. */
static inline uint64_t tn_transfer_bytes(const tn_slot *slot) {
  return tn_round_up((uint64_t)tn_max_i64(tn_storage_bytes(slot->type), 0), TN_ARENA_ALIGN);
}

#endif
