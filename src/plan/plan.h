/* From graph to plan: the passes, what they decide, and the prepared form that sessions run.
 *
 * A tn_callable is a graph that can be planned for many input shapes: a model, a subgraph of
 * If/Loop/Scan, or the rest of a plan that had to be cut because shapes depend on data. Its plans
 * sit in a bounded cache, keyed by the types of the inputs (and the data of those inputs that
 * shapes depend on). Plans are immutable and counted. */
#ifndef TN_PLAN_PLAN_H
#define TN_PLAN_PLAN_H

#include <pthread.h>

#include "base/features.h"
#include "base/pool.h"
#include "registry/registry.h"

typedef struct tn_callable tn_callable;
typedef struct tn_plan tn_plan;

enum { TN_MAX_DEVICES = 8 };

/* What planning needs of the runtime. */
typedef struct tn_planner {
  const tn_allocator *a;
  const tn_registry *registry;
  /* Keeps the plug-ins whose parts stand in graphs and plans; NULL: nobody does. */
  tn_holder *holder;
  tn_pool *pool;
  uint64_t isa;
  const char *const *pins;
  uint32_t n_pins;
  uint32_t model_flags; /* TN_MODEL_... */
  int32_t onnx_opset;   /* as tn_call.onnx_opset; 0 but for passes/standard.c */
  uint32_t precision;   /* of weights of f32: TN_F16, TN_BF16; 0: as they are */
  int32_t max_plans;
  /* Runs one node on constant inputs (folding): supplied by exec, so that folding uses the kernels
   * of the runtime. out[k]->data is memory of out_consts[k]. */
  tn_status (*eval)(const struct tn_planner *p, const tn_gnode *node, const tn_tensor *const *in,
                    tn_tensor *const *out, tn_const **out_consts, tn_diag *diag);
  /* Measured costs, of the runtime; NULL: none. */
  struct tn_tuning *tuning;
  /* Times a kernel that takes the node with inputs and outputs of these types, with the plan that
   * it gave; supplied by exec. TN_ERR_UNSUPPORTED: it cannot be timed by itself. Any other
   * error may come from the values, which are made up. On errors *out_ns is 0. */
  tn_status (*measure)(const struct tn_planner *p, const tn_gnode *node, const tn_kerneldef *def,
                       const tn_kernel_plan *plan, const tn_tensor *const *in,
                       tn_tensor *const *out, uint64_t *out_ns);
  struct tn_packed_cache *states; /* packed weights of the model, shared by its plans */
  tn_features *features;          /* of the runtime; NULL: all are there */
  /* What the user wants beside the CPU, first choice first: device k of plans is devices[k - 1]. */
  struct tn_device **devices;
  struct tn_residents *residents; /* constants and states on them; NULL: no devices */
  uint32_t n_devices;
  uint32_t fallback; /* TN_FALLBACK_..., never the default if there are devices */
  atomic_uint
      *full; /* bit k: devices[k] has no memory left for plans of the model; NULL likewise */
  bool auto_devices;                /* all of them are whatever was there */
  bool rewrites_all;                /* those, too, whose node comes home from the device */
  const struct tn_planner *for_cpu; /* the same with rewrites_all, for plans that stay on the CPU
                                       where that is for costs to say; NULL: it is not */
  /* Those whose compilers claim nodes, first choice first. With some of them graphs are left as
   * they were read until they are planned. */
  struct tn_accelerator **accelerators;
  uint32_t n_accelerators;
  const struct tn_container *modules; /* made before, which stand beside the model; NULL: none */
  const struct tn_planner *home;      /* the same without accelerators: for bodies of islands */
  /* Recursive, the runtime's: held while a kernel runs that has TN_KERNEL_SERIAL. */
  pthread_mutex_t *serial;
} tn_planner;

/* How many plans of one callable are kept. */
static inline int64_t tn_planner_max_plans(const tn_planner *p) {
  enum { DEFAULT = 8 };
  return p->max_plans > 0 ? p->max_plans : DEFAULT;
}

/* ---- what selection decides for a node ------------------------------------------------------- */

typedef struct tn_refusal {
  const char *kernel, *reason; /* no memory of the plug-in: it may go, the kernel was not taken */
  const tn_kerneldef *def;     /* to be compared only; NULL: a pin that names none */
} tn_refusal;

/* Nodes that are alike share one. */
typedef struct tn_choice {
  const tn_kerneldef *def;
  uint32_t device; /* where it runs: 0, the CPU, or k of the planner's devices[k - 1]; transfers
                      belong to the side that is not the CPU */
  tn_kernel_plan plan;
  double flops, cost_ns;
  const tn_refusal *refusals; /* candidates that were not taken */
  uint32_t n_refusals;
  int64_t chunk[TN_MAX_STAGES]; /* items that are handed over at once; see tn_pool_run */
} tn_choice;

/* The kernel that the user has pinned for the node, by its name or its operator; NULL: none. */
const char *tn_pin_of(const tn_planner *p, const tn_gnode *node);
/* Does a pin "Conv!=kernel" or "Conv!=kernel_*" of the user say that this kernel shall not run? */
bool tn_pin_excludes(const tn_planner *p, const tn_gnode *node, const char *kernel);
/* No pin of the user is against this kernel: neither one that names another, nor one that excludes
 * it. */
bool tn_pin_allows(const tn_planner *p, const tn_gnode *node, const char *kernel);

/* ---- the call of a kernel at plan time: src/plan/nodes/call_frame.c
 * -------------------------------------- */

/* A tn_call with memory for its tensors, filled from a graph node. */
typedef struct tn_call_frame {
  tn_call call;
  tn_diag *diag;
  const tn_planner *planner;
  tn_graph *graph;
  int32_t node;
  uint32_t needed_input;       /* set by host->needs_data; UINT32_MAX: none */
  const char *subgraph_reason; /* why host->subgraph_infer failed last; NULL */
  tn_graph **bodies;           /* by subgraph: what takes its place (subgraph_infer); NULL: none */
  tn_tensor *in, *out;         /* copies that call.inputs/outputs point to */
  TN_VEC(tn_const *) fetched;  /* until it is closed */
  tn_arena arena;
  _Alignas(16) uint8_t room[2048]; /* of the arena, for most nodes all it needs */
} tn_call_frame;

/* inputs carry data where constant; outputs carry the graph's types. layouts as the graph says. */
tn_status tn_call_open(tn_call_frame *f, const tn_planner *p, tn_graph *g, int32_t node,
                       tn_diag *diag);
void tn_call_close(tn_call_frame *f);
/* What subgraph_infer has kept becomes the bodies of the node. */
tn_status tn_call_take_bodies(tn_call_frame *f);
/* Elements of all inputs that are constants are in memory from now on until it is closed. Without
 * it, those of large weights may not be: callbacks of plug-ins, and whatever computes, need it. */
tn_status tn_call_fetch(tn_call_frame *f);
/* The same unless the part fetches what it reads. */
tn_status tn_call_fetch_for(tn_call_frame *f, const tn_part_owner *owner);
/* call_subgraph.c: see tn_host. */
tn_status tn_call_subgraph_shape(void *ctx, int64_t graph, uint32_t *out_n_inputs,
                                 uint32_t *out_n_outputs);
tn_status tn_call_subgraph_infer(void *ctx, int64_t graph, uint32_t n_in,
                                 const tn_tensor *const *in, uint32_t n_out, tn_tensor *const *out);
/* All that is known of a value without a shape: its dtype, and whether it is a list. */
void tn_unknown_type(tn_tensor *t, const tn_tensor *type);
extern const tn_host tn_plan_host; /* the services while planning; ctx is a tn_call_frame */

/* infer.c: runs the node's inference and checks the answer (ranks, dims, dtypes against type
 * rules). Writes the types of the outputs into the graph. TN_NEEDS_DATA: *out_input says which
 * input. Never crashes on what a plug-in answers. */
tn_status tn_infer_node(const tn_planner *p, tn_graph *g, int32_t node, int32_t *out_input,
                        tn_diag *diag);
/* FLOPs of a node with known types; 0 if the op does not say. */
double tn_node_flops(const tn_planner *p, tn_graph *g, int32_t node);

/* ---- the passes: their order stands in passes/passes.c -----------------------------------------
 */

/* What tn_model_save can write the graph after. */
typedef enum tn_stage {
  TN_STAGE_CHECK =
      1,          /* operators found, attributes bound; functions and early lowerings expanded */
  TN_STAGE_INFER, /* types and shapes; constants folded on the way */
  TN_STAGE_FOLD,
  TN_STAGE_LOWER,     /* composites and data movement in simpler operators and regions */
  TN_STAGE_FUSE,      /* rewrites and epilogues */
  TN_STAGE_PARTITION, /* islands for compilers */
  TN_STAGE_SELECT,    /* a kernel for every node; conversions between them */
  TN_STAGE_ARRANGE    /* order, memory, steps */
} tn_stage;

/* Each leaves the graph valid, or reports and fails. */

tn_status tn_pass_check(const tn_planner *p, tn_graph *g,
                        tn_diag *diag); /* every problem is reported */
/* standard.c: leaves operators of ai.onnx and ai.onnx.ml only, of versions up to p->onnx_opset,
 * which is not 0. After the pass check; inputs have their types. All that has no such form is
 * reported. TN_NEEDS_DATA: the data of *out_input, an input's value. */
tn_status tn_pass_standard(const tn_planner *p, tn_graph *g, int32_t *out_input, tn_diag *diag);
/* Types, shapes and constants flow through in one sweep. Stops where data is needed; see tn_cut.
 * partial: unknown shapes are fine (load time); else nodes that are not inferred are the
 * continuation. */
typedef struct tn_cut {
  TN_VEC(int32_t) continuation; /* nodes that could not be inferred, and all that depend on them */
  TN_VEC(int32_t) needed;       /* values whose data they ask for */
} tn_cut;
tn_status tn_pass_infer(const tn_planner *p, tn_graph *g, bool partial, tn_cut *cut, tn_diag *diag);
tn_status tn_fold_node(const tn_planner *p, tn_graph *g, int32_t node, bool *out_folded,
                       tn_diag *diag);
/* Islands for accelerators: nodes that compilers take become tenon::Island. */
tn_status tn_pass_claim(const tn_planner *p, tn_graph *g, tn_diag *diag);
tn_status tn_pass_lower(const tn_planner *p, tn_graph *g, tn_diag *diag);
tn_status tn_pass_rewrite(const tn_planner *p, tn_graph *g, tn_diag *diag);
tn_status tn_pass_epilogues(const tn_planner *p, tn_graph *g, tn_diag *diag);
/* Sets the choice of every node; inserts tenon::Cast and tenon::Reorder. */
tn_status tn_pass_select(const tn_planner *p, tn_graph *g, tn_diag *diag);
tn_status tn_pass_arrange(const tn_planner *p, tn_graph *g, tn_plan *plan, tn_diag *diag);

/* ---- the plan -------------------------------------------------------------------------------- */

typedef enum tn_place {
  TN_PLACE_NONE,   /* nobody reads it and nothing writes it */
  TN_PLACE_ARENA,  /* at `offset` of the session's arena */
  TN_PLACE_CONST,  /* type.data */
  TN_PLACE_INPUT,  /* memory of plan input `index` */
  TN_PLACE_DYNAMIC /* memory of its own that grows at run time (data-dependent shapes, strings,
                      lists): `index` */
} tn_place;

typedef struct tn_slot { /* one value of the plan */
  const char *name;
  const tn_tensor *type; /* dtype, shape, layout; dims may be unknown for TN_PLACE_DYNAMIC */
  tn_place place;
  uint64_t offset; /* ARENA: from its start; INPUT: byte offset into the input (an alias of part of
                      it) */
  int32_t index;
  uint32_t device;  /* in whose arena; 0: the CPU */
  int32_t alias_of; /* slot whose memory this one shares (regions that move nothing); -1 */
  tn_const *constant;
} tn_slot;

/* Which way a step of a device copies, as it is a tenon::Transfer. */
typedef enum tn_direction { TN_NO_COPY, TN_UPLOAD, TN_DOWNLOAD } tn_direction;

/* What a step of a device needs besides. */
typedef struct tn_device_step {
  uint32_t device; /* as in tn_choice, never 0 */
  int32_t segment;
  tn_direction direction;
  uint64_t staging_offset;     /* of a transfer, in the buffer of its direction */
  struct tn_resident **inputs; /* per input: the constant there, NULL */
  struct tn_resident *state;   /* NULL: none */
} tn_device_step;

/* Consecutive steps on one device: one recording, submitted as one. */
typedef struct tn_segment {
  uint32_t device;
  int32_t first_step, n_steps;
  double cost_ns;
} tn_segment;

/* What a run does, where there are segments: in place of all steps in order. */
typedef enum tn_deed { TN_DEED_RUN, TN_DEED_SUBMIT, TN_DEED_WAIT } tn_deed;
typedef struct tn_action {
  tn_deed deed;
  int32_t index; /* of the step or the segment */
} tn_action;

/* The part of a plan that is on devices; per device k - 1. */
typedef struct tn_device_plan {
  tn_segment *segments;
  tn_action *actions;
  int32_t n_segments, n_actions, n_waits;
  uint32_t n_devices;
  uint64_t arena_bytes[TN_MAX_DEVICES], up_bytes[TN_MAX_DEVICES], down_bytes[TN_MAX_DEVICES];
  uint64_t const_bytes;
} tn_device_plan;

/* A body of If, Loop or Scan. */
typedef struct tn_step_body {
  tn_callable *callable;
  const tn_capture *captures; /* inner = index of the callable's input, input = index of the step's
                                 input */
  uint32_t n_captures;
} tn_step_body;

/* One kernel call of a plan: a node of the plan's graph, whose values are the plan's slots. */
typedef struct tn_step {
  const tn_gnode *node;
  const tn_choice *choice;
  tn_device_step *device; /* NULL: it runs on the CPU */
  uint64_t packed;        /* bit k: all of input k is in the state, and nobody reads it any more */
  void *state;            /* prepared constants, belongs to the state cache; NULL: none */
  uint64_t scratch_offset, worker_scratch_offset; /* in the arena */
  /* An island beside which other steps run: it is waited for before the first step with
   * time >= until. until 0: no such island. */
  int32_t time, until;
  tn_step_body *bodies; /* in the order of the attribute struct */
  /* Element-wise steps the host runs on each range right after this one has written it. */
  const struct tn_step *followers;
  const char *const *follower_ops; /* for people */
  uint32_t n_bodies, n_followers;
} tn_step;

struct tn_plan {
  atomic_int refs;
  const tn_allocator *a;
  tn_arena arena;     /* everything below */
  tn_callable *owner; /* not counted: a callable outlives its plans */
  tn_graph *graph;    /* final form, kept for explain and save */
  tn_slot *slots;
  tn_step *steps;
  int32_t n_slots, n_steps, n_inputs, n_outputs, n_dynamic;
  int32_t n_beside; /* steps with until */
  /* Slots. An output may be a slot of place INPUT (the model hands an input on) or CONST, and two
   * outputs may be the same slot: sessions that were given memory for it copy, others answer a
   * tensor over that memory. */
  int32_t *inputs, *outputs;
  uint64_t arena_bytes, arena_bound_bytes, scratch_bytes, state_bytes, const_bytes;
  double cost_ns, flops;
  tn_device_plan *devices; /* NULL: all of it runs on the CPU */
  /* The rest of the graph, if its shapes depend on data of this part: run after the steps.
   * continuation_inputs: slots that feed it; the plan's output k is output continuation_outputs[k]
   * of the continuation, or -1: a slot of this part. */
  tn_callable *continuation;
  int32_t *continuation_inputs, *continuation_outputs;
  int32_t n_continuation_inputs;
  tn_const **pinned; /* constants that steps read as they are, fetched for the life of the plan */
  int64_t n_pinned;
  /* The key: what this plan was made for. */
  tn_tensor *key; /* n_inputs types; data: copies of the bytes that matter, or NULL */
};

/* The slot whose memory a slot lies in: itself, if it has its own. */
static inline int32_t tn_root_slot(const tn_plan *plan, int32_t slot) {
  while (plan->slots[slot].alias_of >= 0) slot = plan->slots[slot].alias_of;
  return slot;
}

/* The name of the first value that has memory of its own, or is a list; NULL: there is none. */
const char *tn_plan_dynamic_value(const tn_plan *plan);

tn_plan *tn_plan_retain(tn_plan *p);
void tn_plan_release(tn_plan *p);
/* Fetches the constants that its steps read as they are, until let go of. */
tn_status tn_plan_pin_constants(const tn_planner *p, tn_plan *plan);
void tn_plan_let_go(tn_plan *plan);
/* True if the plan was made for these inputs. Allocates nothing, takes no lock. */
bool tn_plan_matches(const tn_plan *p, const tn_tensor *const *inputs);

/* ---- callables ------------------------------------------------------------------------------- */

struct tn_callable {
  const tn_planner *planner; /* outlives it */
  tn_graph *graph;           /* taken; after the passes of loading */
  pthread_mutex_t lock;      /* plans and needs_data */
  TN_VEC(tn_plan *) plans;   /* most recently used last */
  uint8_t *needs_data;       /* per input: its bytes are part of the key */
  char *name;                /* "model", "then_branch of node 'if1'" */
};

/* The graph is taken in any case: it is freed if this fails. */
tn_status tn_callable_create_take(const tn_planner *p, tn_graph *graph, const char *name,
                                  tn_diag *diag, tn_callable **out_callable);
void tn_callable_destroy(tn_callable *c);
/* The plan for these inputs, if there is one, is not handed out again. */
void tn_callable_forget(tn_callable *c, const tn_tensor *const *inputs);
/* The plan for inputs of these types (data must be there for inputs that shapes depend on; NULL
 * data answers TN_NEEDS_DATA). The caller gets a reference. stop_after: the last stage of
 * tn_model_save; 0: all; the plan then holds the graph only. */
tn_status tn_callable_plan(tn_callable *c, const tn_tensor *const *inputs, tn_stage stop_after,
                           tn_diag *diag, tn_plan **out_plan);

/* ---- packed weights -------------------------------------------------------------------------- */

typedef struct tn_packed_cache tn_packed_cache;
tn_status tn_packed_cache_create(const tn_allocator *a, tn_packed_cache **out_cache);
void tn_packed_cache_destroy(tn_packed_cache *c); /* calls finish of every state */
/* State of a kernel of operator `op`: the old one for the same kernel, attributes, dtypes,
 * constants and plan.state_key, or a new one after prepare() ran. consts: per input of the call,
 * NULL where it is no constant. Any thread. */
tn_status tn_packed_get(tn_packed_cache *c, const tn_kerneldef *def, const tn_opdef *op,
                        const tn_call *call, tn_const *const *consts, const tn_kernel_plan *plan,
                        tn_diag *diag, void **out_state);

#endif
