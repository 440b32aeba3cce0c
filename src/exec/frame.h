/* What the files of a frame share: the frame, its tasks, and the steps of its life.
 *
 *   build.c      plan -> values with pointers, tasks with filled tn_calls        (once per plan)
 *   bindings.c   which outputs may lie in the user's memory                      (once per plan)
 *   bind.c       inputs and the user's output memory -> pointers of values       (each run)
 *   run.c        the loop over tasks, stages and ranges; errors; events          (each run)
 *   beside.c     the loop where islands run beside other steps                   (each run)
 *   device_*.c   what runs on devices (device_frame.h)
 *   services.c   tn_exec_host: what a running kernel may ask for
 *   dynamic_values.c  of that, what grows at run time
 *   subgraph.c   frames of subgraphs
 *   value_pool.c the pool of their results
 *   frame.c      the above put together, behind exec.h */
#ifndef TN_EXEC_FRAME_H
#define TN_EXEC_FRAME_H

#include "exec/cell.h"

enum { TN_FAIL_TEXT = 1024, TN_MAX_SPARE = 16, TN_MAX_SPARE_BYTES = 1 << 20 };

typedef struct tn_task tn_task;

/* A subgraph of a task: its frame, made when it first runs. */
typedef struct tn_child {
  tn_frame *frame;
  const tn_tensor **inputs; /* all that the callable takes, formal and captured */
  const tn_tensor **bound;  /* per output */
  tn_cell **results;        /* per output, while it runs */
} tn_child;

/* One prepared call. It is the ctx of tn_exec_host. */
struct tn_task {
  tn_call call;
  tn_frame *frame;
  const tn_step *step;
  tn_task *followers;
  tn_child *children;
  uint32_t stage; /* being run */
  bool alone;     /* one work item at a time: it may resize, append and run subgraphs */
  bool dynamic;   /* has outputs in cells */
  const char *const *refusals; /* for explain.c; NULL until asked for */
  tn_tensor *seen; /* per output, of kernels of plug-ins: as the host has it; NULL: not watched */
};

/* An output of a plan: may the user's memory take the place of the arena's, and does it now? over:
 * the input whose memory that may be, because the step that writes the output is the only one that
 * reads the input, and does so in place; -1: none. */
typedef struct tn_output_binding {
  bool allowed, bound;
  int32_t over;
} tn_output_binding;

typedef struct tn_extent { /* of memory, [begin, end) as numbers; empty: begin == end */
  uintptr_t begin, end;
} tn_extent;

/* What a frame has made for one plan. */
typedef struct tn_setup {
  tn_plan *plan;   /* counted, if the frame has a callable */
  tn_arena memory; /* of all that follows */
  void *arena;     /* where the frame's was when pointers into it were written */
  uint64_t arena_need;
  tn_tensor *values;                 /* per slot */
  int32_t *root;                     /* per slot: the slot that owns the memory */
  int32_t *first_alias, *next_alias; /* per slot: the others on its memory, -1 ends */
  int32_t *patched;                  /* slots on input memory */
  int32_t n_patched;
  tn_task *tasks;
  tn_output_binding *bindings;     /* per output */
  tn_extent *extents;              /* of a run: inputs, then outputs in the caller's memory */
  struct tn_device_setup *devices; /* NULL: all of the plan runs on the CPU */
  struct tn_under_way {            /* islands that were started; NULL: none ever is */
    int32_t step;
    uint64_t begin_ns;
  } * under_way;
  int32_t n_under_way;
  tn_frame *continuation;
  const tn_tensor **continuation_inputs, **continuation_bound;
} tn_setup;

typedef struct tn_output {
  tn_tensor value; /* what callers see */
  tn_cell copy;    /* used where the value is memory of the input */
} tn_output;

/* Activations and scratch. Grows, and is used by every plan. */
typedef struct tn_block {
  void *data;
  uint64_t bytes;
} tn_block;

struct tn_frame {
  const tn_allocator *a;
  tn_pool *pool;
  const tn_planner *planner;
  tn_callable *callable; /* NULL: one node, see eval.c */
  tn_setup *now;         /* the plan in use; NULL: none yet */
  TN_VEC(tn_setup *)
  setups;                /* of the latest plans, most recently used last: coming back to a
                                shape takes no memory */
  tn_block *arena;       /* own, or inner of the frame around this one */
  tn_block own, inner;   /* inner: for subgraphs and the continuation, which never run at once */
  struct tn_lane *lanes; /* per device of the planner; NULL: no plan has needed one */
  tn_output *outputs;
  int32_t n_outputs;            /* that outputs[] has room for */
  TN_VEC(tn_cell *) cells;      /* of dynamic slots; kept from plan to plan */
  TN_VEC(tn_cell *) mirrors;    /* per input: what is in its buffer on a device, for the host */
  TN_VEC(tn_cell *) value_pool; /* results of subgraphs */
  TN_VEC(int32_t) pool_free;    /* indices of free cells of the pool: a heap, lowest first */
  /* Once there is a plan, and before it is recorded: may move what inputs and bound point to. */
  tn_status (*place)(void *session, tn_frame *f, tn_diag *diag); /* NULL: nobody asks */
  void *session;
  const atomic_int *stop; /* the user wants the run to end; NULL: nobody can say so */
  /* this run */
  bool ran;           /* outputs are valid */
  bool has_placed;    /* some inputs or outputs are in buffers on devices */
  bool is_only_there; /* and one of them is nowhere else */
  tn_profile *profile;
  tn_diag *diag;
  atomic_int status;          /* the first error */
  atomic_int said;            /* 1: text is being or has been written */
  _Atomic(tn_task *) culprit; /* who failed first */
  tn_task *speaker;           /* who wrote text */
  char text[TN_FAIL_TEXT];
  pthread_mutex_t lock;      /* string_set, alloc and free of several workers */
  void *spare[TN_MAX_SPARE]; /* host memory that kernels have given back, for the next request */
  uint64_t spare_bytes;      /* of all of them, at most TN_MAX_SPARE_BYTES */
  int32_t n_spare;
};

/* "node 'conv1' (Conv), kernel 'conv_f32'", "node that makes 'y' (Conv), ...", for messages. */
const char *tn_task_text(const tn_task *t, char *buf, size_t size);
enum { TN_TASK_TEXT = 400 };

/* Has the user asked for the end of the run? */
static inline bool tn_frame_is_stopped(const tn_frame *f) {
  return f->stop && atomic_load_explicit(f->stop, memory_order_relaxed);
}

/* build.c. The plan is in use from now on, or was before; on failure none is. */
tn_status tn_frame_build_take(tn_frame *f, tn_plan *plan, tn_diag *diag);
tn_status tn_frame_reuse(tn_frame *f, tn_setup *s, tn_diag *diag);
void tn_frame_forget(tn_frame *f); /* all plans */

/* "output 'y'", or "output 2" if it has no name, for messages. */
const char *tn_frame_output_text(const tn_frame *f, int32_t k, char *buf, size_t size);

/* bind.c */
tn_status tn_frame_bind(tn_frame *f, const tn_tensor *const *inputs, const tn_tensor *const *bound);
/* Behind the steps, before the continuation and tn_frame_finish, which may write to memory of
 * inputs. */
tn_status tn_frame_copy_borrowed(tn_frame *f, const tn_tensor *const *bound);
tn_status tn_frame_finish(tn_frame *f, const tn_tensor *const *bound);
/* Points slot `root` and all that share its memory to data. */
void tn_frame_point(tn_frame *f, int32_t root, void *data);

/* run.c */
tn_status tn_frame_steps(tn_frame *f);
tn_status tn_frame_step(tn_frame *f, tn_task *t); /* one, and the end of its errors */
/* beside.c: all steps, some of which are islands that run beside others. */
tn_status tn_frame_steps_beside(tn_frame *f);
/* Keeps the first error of the step that runs. */
void tn_frame_fail(tn_frame *f, tn_task *t, tn_status status);
/* Tells diag about it, with what the kernel said, and answers it. */
tn_status tn_frame_report(tn_frame *f);

/* frame.c. around: the frame that runs this one as a subgraph or its continuation; NULL: none does.
 */
tn_status tn_frame_create_in(tn_frame *around, const tn_allocator *a, tn_pool *pool,
                             const tn_planner *planner, tn_callable *callable,
                             tn_frame **out_frame);
/* Runs with the plan that the frame has. */
tn_status tn_frame_go(tn_frame *f, const tn_tensor *const *inputs, const tn_tensor *const *bound,
                      tn_profile *profile, tn_diag *diag);

/* subgraph.c */
void tn_child_clear(tn_child *c);
tn_status tn_subgraph_shape(tn_task *t, int64_t graph, uint32_t *out_n_inputs,
                            uint32_t *out_n_outputs);
tn_status tn_subgraph_infer(tn_task *t, int64_t graph, uint32_t n_in, const tn_tensor *const *in,
                            uint32_t n_out, tn_tensor *const *out);
tn_status tn_subgraph_run(tn_task *t, int64_t graph, uint32_t n_in, const tn_tensor *const *in,
                          uint32_t n_out, const tn_tensor **out);

/* value_pool.c */
tn_cell *tn_value_pool_take(tn_frame *f); /* NULL: no memory */
void tn_value_pool_release(tn_frame *f, const tn_tensor *value);
void tn_value_pool_release_all(tn_frame *f);

/* services.c */
extern const tn_host tn_exec_host; /* ctx is a tn_task */
/* What every change of an output needs; what: the request, for messages. */
tn_status tn_task_check_output(tn_task *t, uint32_t output, const char *what);
tn_status tn_task_check_alone(tn_task *t, const char *what);

/* dynamic_values.c */
tn_status tn_frame_open_cells(tn_frame *f, const tn_plan *plan);
bool tn_task_is_dynamic(const tn_task *t, uint32_t output); /* it has a cell */
/* Of outputs with a cell; all is checked but that there is memory. */
tn_status tn_task_resize(tn_task *t, uint32_t output, const tn_tensor *type);
tn_status tn_task_set(tn_task *t, uint32_t output, const tn_tensor *value);
/* Of tn_host. */
tn_status tn_task_string_set(void *ctx, uint32_t output, int64_t index, const char *data,
                             int64_t size);
tn_status tn_task_list_append(void *ctx, uint32_t output, const tn_tensor *item);
tn_status tn_task_list_append_map(void *ctx, uint32_t output, const tn_tensor *keys,
                                  const tn_tensor *values);
/* Before the run: cells get their planned shape, lists are emptied. After it: all must have a
 * shape. */
tn_status tn_task_open_outputs(tn_task *t);
tn_status tn_task_close_outputs(tn_task *t);

#endif
