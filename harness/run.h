/* Runs of one kernel on one problem: how it is called, what it may not do, and the parts of a test
 * that consist of runs. */
#ifndef TN_HARNESS_RUN_H
#define TN_HARNESS_RUN_H

#include "harness/problem.h"

/* ---- run.c, drive.c: one run of one kernel --------------------------------------------------- */

typedef struct check_form {
  tn_layout in[CHECK_MAX_IO], out[CHECK_MAX_IO];
} check_form;

typedef struct check_subject { /* a kernel in the form in which it takes a problem */
  check_problem *problem;
  const tn_kerneldef *kernel;
  const check_level *level;
  check_form form;
  const tn_epilogue *const *epilogue;
  uint32_t n_epilogue;
  check_value *operands[TN_EPILOGUE_COUNT]; /* inputs from first_operand on, for epilogues */
  uint32_t n_operands, first_operand;
  const check_results *expected; /* with the epilogue applied */
} check_subject;

typedef struct check_variant { /* how to run it */
  const char *name;
  bool at_end; /* buffers end at an unreadable page; else they begin after one */
  bool reverse, twice, null_empty;
  int32_t n_ranges;
  uint32_t n_workers;
  uint8_t pattern;  /* of outputs, scratch */
  bool threads;     /* ranges run on the pool */
  int32_t in_place; /* output that shares memory with its input; -1: none */
} check_variant;

/* Inputs of the call: the problem's, then what epilogues add. NULL: left out. */
const check_value *check_subject_input(const check_subject *s, uint32_t k);
uint32_t check_subject_n_inputs(const check_subject *s);
/* Why the kernel does not take the problem in this form; NULL: it does. out_own (may be NULL): its
 * refuse() says so, and not its rows. */
const char *check_subject_match(const check_subject *s, tn_arena *reasons, bool *out_own);
/* Runs and compares; failures go to env. out_plan (may be NULL): what plan() answered. */
void check_drive(const check_subject *s, const check_variant *variant, tn_kernel_plan *out_plan);

/* What drive.c and bench.c share: a prepared call. */
typedef struct check_run {
  const check_subject *s;
  const check_variant *variant;
  check_context context;
  tn_arena arena;
  tn_call call;
  tn_tensor types_in[CHECK_MAX_IO],
      types_out[CHECK_MAX_IO]; /* what call.inputs, outputs point to */
  const tn_tensor *in[CHECK_MAX_IO];
  tn_tensor *out[CHECK_MAX_IO];
  check_buffer *inputs[CHECK_MAX_IO];
  tn_tensor originals[CHECK_MAX_IO]; /* inputs as they were before the run */
  check_results results;
  check_attrs attrs;
  check_buffer *state, *scratch, *worker_scratch;
  check_context *self; /* what call.ctx points to */
  check_buffer *shown[CHECK_MAX_SHOWN];
  int32_t n_shown;
  tn_kernel_plan plan;
  bool prepared;
  atomic_int status; /* the first error of a range */
  uint32_t stage;    /* that runs on threads */
} check_run;
/* False: the failure has been told; close it nevertheless. */
bool check_run_open(check_run *r, const check_subject *s, const check_variant *variant);
/* Items of [begin, end) of a stage on the calling thread. */
void check_run_range(check_run *r, uint32_t stage, int64_t begin, int64_t end, uint32_t worker);
/* All stages in the ranges that the variant says. False: the failure has been told. */
bool check_run_stages(check_run *r);
/* Outputs prefilled anew. */
void check_run_again(check_run *r);
/* Takes away, or gives back, the elements of inputs that a row says are packed. */
void check_run_hide_packed(check_run *r, bool hide);
void check_run_close(check_run *r);

/* expired_pointers.c: "Pointers handed to a callback are valid until it returns", and to none of the host's
 * memory after that. */
typedef struct check_shown { /* a copy of the call in pages of its own */
  tn_call call;
  check_context *context;
  const tn_tensor *in[CHECK_MAX_IO];
  tn_tensor *out[CHECK_MAX_IO];
  tn_tensor inputs[CHECK_MAX_IO], outputs[CHECK_MAX_IO];
} check_shown;
/* name: of the call, for messages. */
const tn_call *check_show(check_run *r, const char *name);
/* From now on, touching what was shown last is a fault. */
void check_hide(check_run *r);
void check_shown_free(check_run *r);

/* untouched_inputs.c: what a callback was handed to be looked at. */
typedef struct check_copy {
  tn_call call;
  tn_tensor inputs[CHECK_MAX_IO], outputs[CHECK_MAX_IO];
  const tn_tensor *in[CHECK_MAX_IO];
  tn_tensor *out[CHECK_MAX_IO];
  void *attrs, *data[CHECK_MAX_IO]; /* data: of inputs, as far as they are known */
  uint64_t attrs_bytes;
  tn_arena arena;
} check_copy;
void check_copy_take(const tn_call *call, uint64_t attrs_bytes, check_copy *out);
/* Tells what `who` has changed, and makes the call what it was. outputs: their types may not change
 * either. The copy is gone then. */
void check_copy_compare(check_env *env, tn_call *call, const char *who, bool outputs,
                        check_copy *copy);

/* ---- the parts of a test --------------------------------------------------------------------- */

void check_trial(const check_subject *s, bool full); /* run_variants.c */
/* epilogue.c: runs the kernel with fused steps; false: it takes none of them here. all: each kind,
 * and chains; else sums, for where their operands lie depends on the shapes. */
bool check_epilogues(const check_subject *s, bool all);
/* Applies the step to every element of y, in f64. operand: its t, NULL: it has none. */
void check_epilogue_apply(const tn_epilogue *e, const tn_tensor *operand, tn_tensor *y);
const char *check_epilogue_name(uint32_t kind); /* "relu" */
void check_calibrate(check_env *env);           /* bench.c */
void check_bench(const check_subject *s);

typedef struct check_coverage { /* claims.c: what cases have shown of a kernel */
  int64_t n_accepted;
  uint64_t dtypes[CHECK_MAX_IO]; /* per accept row */
  bool claims_done, epilogue_done;
  bool takes_any, pads_seen; /* any layout; was run with pad lanes */
  int32_t epilogues_left;
  const char *reason; /* why the last case was not taken, of its refuse() if that said anything */
  bool reason_is_own;
} check_coverage;
void check_coverage_note(check_coverage *c, const check_subject *s);
void check_coverage_report(check_env *env, const check_coverage *c, const tn_opdef *op,
                           const tn_kerneldef *kernel);
void check_claims(const check_subject *s);

/* session.c: the case as a model of one node, through tenon.h. */
void check_allocator_init(check_allocator *a);
/* pin: "Softmax=softmax_gpu"; NULL: none. */
tn_runtime *check_runtime_new(check_env *env, uint64_t isa, int32_t n_threads,
                              const tn_allocator *a, const char *pin);

typedef struct check_model {
  tn_model *model;
  tn_session *session;
} check_model;
/* Nothing says what is right: the operator has no reference. */
bool check_no_oracle(const check_problem *p);
typedef enum check_model_kind {
  MODEL_AS_WRITTEN,
  MODEL_UNKNOWN_DIMS, /* the dims of its inputs are found when it runs */
  MODEL_NO_OPTIMIZE   /* TN_MODEL_NO_OPTIMIZE */
} check_model_kind;
/* Builds, loads and plans. The model is to be closed in any case. */
tn_status check_model_open(check_problem *p, tn_runtime *runtime, check_model_kind kind,
                           tn_diag *diag, check_model *m);
void check_model_close(check_model *m);
/* Compares what the last run left; failures go to env. */
void check_model_compare(check_problem *p, const check_model *m);
/* True if the model runs: the operator is supported for these types. all: the other kinds, too. */
bool check_session(check_problem *p, check_level *level, bool all);
void check_sweep(check_problem *p); /* sweep.c */

/* regions.c: problems for operators of domain tenon that no case line can express. False: not
 * one of those. */
bool check_regions(check_env *env, const tn_opdef *op, void (*run)(void *arg, check_problem *p),
                   void *arg);

#endif
