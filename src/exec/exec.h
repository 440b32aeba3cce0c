/* Running plans: the runtime, the model, the session behind tenon.h, and the frame that holds
 * one plan's run state. */
#ifndef TN_EXEC_EXEC_H
#define TN_EXEC_EXEC_H

#include "accelerator/accelerator.h"
#include "plan/plan.h"

/* A folder for files of prepared weights; the last one that was named is used. */
typedef struct tn_weight_cache_folder {
  struct tn_weight_cache_folder *before;
  char path[]; /* "": none */
} tn_weight_cache_folder;

struct tn_runtime {
  atomic_int refs; /* the user's, until tn_runtime_destroy, and one of every model and graph */
  tn_allocator allocator;
  tn_registry *registry;
  tn_pool *pool;
  uint64_t isa;
  struct tn_tuning *tuning; /* measured costs, for all models */
  tn_features features;
  struct tn_devices *devices;
  atomic_ullong n_buffers; /* tn_device_buffer, that were ever made */
  char **pins;
  uint32_t n_pins;
  _Atomic(tn_weight_cache_folder *) weights; /* NULL: none */
  pthread_mutex_t serial; /* recursive; held while a kernel runs that has TN_KERNEL_SERIAL */
};

/* Looks for plug-ins where they are installed, and where the environment says. */
tn_status tn_runtime_discover(tn_runtime *rt, tn_diag *diag);
/* Another reference; tn_runtime_destroy gives one back. */
tn_runtime *tn_runtime_retain(tn_runtime *rt);

struct tn_model {
  atomic_int refs; /* the user's, until tn_model_destroy, and one of every session */
  tn_runtime *runtime;
  tn_holder holder;             /* keeps the plug-ins that graphs, plans and states use */
  char *name;                   /* "model 'x.onnx'" */
  tn_planner planner;           /* what the callables point to */
  tn_callable *main;            /* NULL: TN_MODEL_GRAPH_ONLY */
  tn_graph *loaded;             /* as read, for tn_model_save "load"; shares constants with main */
  const tn_format *format;      /* it was read from; NULL: made by hand */
  const tn_format *part_format; /* parts of its file are in; NULL: there are none */
  TN_VEC(struct tn_model_file) files; /* mapped model and weight files */
  tn_planner home;                    /* planner.home, if there are accelerators */
  tn_planner for_cpu;                 /* planner.for_cpu, with devices that are taken if it pays */
  tn_mapping modules_file;            /* of modules; empty: none */
  tn_container modules;               /* read from it */
};

struct tn_profile;

/* A callable being run by one thread: memory, and for its latest plans the calls and the frames of
 * subgraphs and of the continuation. */
typedef struct tn_frame tn_frame;
/* stop: not 0: a run ends with TN_ERR_CANCELLED as soon as may be; it outlives the frame. */
tn_status tn_frame_create(const tn_allocator *a, tn_pool *pool, tn_callable *callable,
                          const atomic_int *stop, tn_frame **out_frame);
void tn_frame_destroy(tn_frame *f);
/* Plans if there is no plan for the inputs, runs, leaves outputs readable. With a plan that it has
 * run before it allocates nothing and takes no lock of others but the pool's try-lock. inputs:
 * plain tensors of any kind, borrowed for the call. bound: memory for outputs (entries may be
 * NULL); NULL: none. */
tn_status tn_frame_run(tn_frame *f, const tn_tensor *const *inputs, const tn_tensor *const *bound,
                       struct tn_profile *profile, tn_diag *diag);
/* Plans and allocates only. */
tn_status tn_frame_prepare(tn_frame *f, const tn_tensor *const *inputs,
                           const tn_tensor *const *bound, tn_diag *diag);
const tn_tensor *tn_frame_output(const tn_frame *f, int32_t index);

/* Implementation of tn_planner.eval. */
tn_status tn_eval_node(const tn_planner *p, const tn_gnode *node, const tn_tensor *const *in,
                       tn_tensor *const *out, tn_const **out_consts, tn_diag *diag);

/* Implementation of tn_planner.measure. */
tn_status tn_measure_node(const tn_planner *p, const tn_gnode *node, const tn_kerneldef *def,
                          const tn_kernel_plan *plan, const tn_tensor *const *in,
                          tn_tensor *const *out, uint64_t *out_ns);

/* list.c: sequences, optionals and maps. A tn_list is what tn_tensor.object points to. */
typedef struct tn_list {
  const tn_allocator *a;
  uint32_t kind, dtype;
  TN_VEC(tn_tensor *) items; /* owned copies (of cells); a list item may be a list */
  int64_t n_made;            /* items.data[items.n .. n_made-1]: spares for the next use */
} tn_list;
/* A deep copy of a value of any kind. */
tn_status tn_value_copy(const tn_allocator *a, const tn_tensor *from, tn_tensor **out);
void tn_value_free(tn_tensor *value); /* NULL is legal */

/* Events of a profiled session; see profile.h. */
typedef struct tn_event {
  const tn_step *step;
  uint64_t begin_ns, end_ns;
  uint32_t run;
} tn_event;

/* What one thread did: parts of the work of steps. What a device did: segments, from submission
 * until the host has waited. */
typedef TN_VEC(tn_event) tn_lane_events;

typedef struct tn_profile {
  const tn_allocator *a;
  TN_VEC(tn_event) events;
  tn_lane_events *lanes; /* of each thread of the pool, then of each device; NULL: not wanted */
  uint32_t n_lanes, n_threads;
  TN_VEC(tn_plan *) plans; /* that the events' steps belong to; counted */
  uint32_t run;            /* number of the current run */
} tn_profile;

#endif
