/* One harness for every kernel, operator and plug-in: what its files share.
 *
 *   case.c      a case line -> tn_case            drive.c     a run, and what it broke
 *   fill.c      elements of inputs                trial.c     all runs of one kernel
 *   problem.c   case x dtypes, its reference      epilogue.c  fused steps
 *   host.c      services of a call                claims.c    accept rows, coverage
 *   memory.c    buffers at unreadable pages       session.c   through tenon.h
 *   layout.c    to and from other layouts         sweep.c     failing allocation
 *   compare.c   result against reference          regions.c   what no case can express
 *   run.c       a call of a kernel, in ranges     bench.c     timing
 *   suite.c     the loop over it all              levels.c    runtime and ISA levels
 *   units.c     naming and counting               family.c    operators of a family file
 *   isolate.c   child processes, limits           tell.c      from child to parent
 *   orphans.c   what children leave behind
 * and for plug-ins that somebody else wrote:
 *   vet.c       the loop over a plug-in           examine.c   what it says of itself
 *   life.c      loading, init, shutdown           around.c    what is the process's own
 *   infer.c     inference, types                  generic.c   cases for operators without
 *   repeat.c    many calls, two at once           format.c    readers on broken files
 *   sample.c    files to be broken
 *   unload.c    unloading while in use            shown.c     what callbacks may not keep
 *   untouched.c what callbacks may not change
 *
 * The harness ends the process when it runs out of memory itself. */
#ifndef TN_CHECK_CHECK_H
#define TN_CHECK_CHECK_H

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "exec/exec.h"
#include "plan/match.h"
#include "plan/plan.h"

enum {
  CHECK_TEXT = 512,
  CHECK_MAX_ALIASES = 8,
  CHECK_MAX_IO = 64,
  CHECK_MAX_LEVELS = 16,
  CHECK_MAX_SHOWN = 8
};

#define CHECK_MAX_BYTES (INT64_C(1) << 31) /* of one tensor */

/* Under the thread sanitizer, which is slow, kernels and sessions run on two threads at the highest
 * ISA level, and nothing else is tested. */
enum { CHECK_THREADS_ONLY = TN_FLAVOUR_SANITIZER == TN_FLAVOUR_TSAN };

enum {
  CHECK_DOING = 100,
  CHECK_SAID = 120,
  CHECK_PART = 300,
  CHECK_MAX_SEEN = 1024,
  CHECK_MAX_LOST = 256,
  CHECK_MAX_FIELDS = 16,
  CHECK_SANITIZED = TN_FLAVOUR_SANITIZER != 0
};

/* ---- units.c: units of work, counted --------------------------------------------------------- */

typedef struct check_seen { /* how often something was found in a part */
  uint64_t key;
  int32_t n;
} check_seen;

/* Lives in memory that parent and child share, so that it survives a crash. */
typedef struct check_totals {
  int64_t passed, failed, skipped;
  int64_t left_out; /* failures like others of the same part, which are not told */
  int64_t unit;     /* number of the unit that runs or ran last, from 1 */
  int64_t resume;   /* units up to this one are done */
  int32_t inside;   /* a unit is running */
  int32_t unit_failed, said;
  int32_t done, died;      /* the work came to its end; the harness gave up */
  int32_t forked;          /* a copy of the child went on with its work */
  int64_t n_told;          /* records that the child has sent */
  char part[CHECK_PART];   /* what is tested: "kernel 'x'" */
  char text[CHECK_TEXT];   /* the unit that runs */
  char doing[CHECK_DOING]; /* the callback that runs; "" if none is known to */
  char crash[CHECK_TEXT];  /* last words of a child */
  int64_t lost[CHECK_MAX_LOST];
  check_seen seen[CHECK_MAX_SEEN];
  int32_t n_lost, n_seen;
} check_totals;

typedef struct check_options {
  const char *op, *kernel, *isa, *line;
  const char *only;   /* of a plug-in that is vetted: this operator, kernel, rewrite or format */
  const char *plugin; /* file whose parts alone are tested */
  char *family;       /* text of a family file */
  uint64_t family_bytes;
  bool bench, small, verbose, list, in_process; /* small: without the cases marked `bench` */
  double bench_ms;
} check_options;

typedef struct check_limits { /* of a child process */
  double unit_seconds;        /* for one unit */
  uint64_t memory_bytes, file_bytes, cpu_seconds;
} check_limits;

struct check_pool;

typedef struct check_allocator { /* counts; fails once, at call number fail_at, from 1; 0: never */
  tn_allocator base;
  atomic_llong n_calls, n_live, fail_at;
} check_allocator;

typedef struct check_level {
  char name[64];
  uint64_t isa;
  struct tn_runtime *runtime;      /* of sessions at this level; made when first needed */
  check_allocator allocator;       /* what that takes its memory from */
  double peak_gflops, memory_gbps; /* what one core was seen to do */
} check_level;

typedef struct check_env check_env;
struct check_env {
  check_options options;
  check_totals *totals;
  tn_runtime *runtime;       /* whose parts are tested */
  tn_plugin_query_fn plugin; /* to be added to each runtime; NULL: none */
  check_level levels[CHECK_MAX_LEVELS];
  int32_t n_levels;
  struct check_pool *pool; /* guarded memory */
  tn_pool *threads;        /* two; made when first needed */
  int32_t newest;          /* newest operator-set version of ai.onnx that an operator names */

  /* A plug-in is vetted; all of this is empty otherwise. */
  const check_limits *limits;
  int64_t fail_alloc; /* the host's allocation of this number in a call fails; 0: none */
  struct check_around *around;
  int pipe_out;          /* in a child: where records go; -1: they go to receive */
  int64_t pid;           /* in a child: its own */
  uint64_t n_said;       /* bytes that children have written to standard output and error */
  char said[CHECK_SAID]; /* the first of them */
  bool lost_records;     /* of the last child: not all that it sent has come, or more */
  void (*receive)(check_env *env, const char *const *fields, int n);
  void (*progress)(check_env *env);
  void *job;
};

/* Names the part that the units to come belong to. */
void check_part(check_env *env, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Names what runs from now on. False: it ran already, before a crash, and shall be left out. */
bool check_unit_begin(check_env *env, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void check_unit_end(check_env *env);
/* Ends a unit that tests nothing by itself: it counts only if it failed. */
void check_step_end(check_env *env);
/* The unit that was just left out crashed, or its part is given up: what it makes is not there. */
bool check_unit_lost(check_env *env);
void check_unit_lose(check_env *env, bool hangs);
/* Ends the process if it is a copy of the child that a plug-in has made with fork(). */
void check_no_copy(check_env *env);
/* The callback of the plug-in that runs from now on. */
void check_doing(check_env *env, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says what is wrong with the running unit; the first few messages are told. */
void check_fail(check_env *env, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool check_unit_ok(const check_env *env);
/* Says what is not tested, and why. */
void check_skip(check_env *env, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* kind: "breach", "note" */
void check_found(check_env *env, const char *kind, const char *rule);
check_totals *check_totals_new(void);
/* For a parent whose child has ended, and may have written anything: texts end. False: what is
 * counted cannot be right, all is zero now. */
bool check_totals_mend(check_totals *totals);
void check_totals_free(check_totals *totals);
/* Ends the process with code 2. */
void check_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* In a child of vetting: its parent tells what check_die says. */
void check_die_quietly(void);
static inline void *check_need(void *memory) {
  if (!memory) check_die("out of memory");
  return memory;
}

/* ---- isolate.c ------------------------------------------------------------------------------- */

/* Runs work(arg) in child processes until it has come to its end, past all crashes. */
void check_isolate(check_env *env, void (*work)(check_env *env, const void *arg), const void *arg);
const char *check_signal_name(int number);

/* ---- orphans.c ------------------------------------------------------------------------------- */

/* Before a child is started: orphans of it become children of the caller. */
void check_orphans_adopt(void);
/* From now on, whatever ends this process ends the group of this child first. */
void check_orphans_watch(int64_t pid);
void check_orphans_in_child(void); /* signals do there what they usually do */
/* Ends what the child, which is gone, has started and left. False: there was nothing. */
bool check_orphans_end(void);

/* ---- tell.c ---------------------------------------------------------------------------------- */

/* Hands a record to env->receive, in the parent if this is a child. */
void check_tell(check_env *env, const char *const *fields, int n);

typedef struct check_lines { /* what a child has said of its next line */
  char *line;
  size_t n;
  int64_t told; /* bytes */
  int64_t n_lines;
} check_lines;
void check_lines_add(check_env *env, check_lines *lines, const char *data, size_t n);
void check_lines_free(check_lines *lines);

/* ---- around.c: what belongs to the process, and no plug-in may change -------------------------
 * */

struct check_around *check_around_new(void); /* as it is now */
void check_around_free(struct check_around *around);
/* Fails the running unit for each change. */
void check_around_end(check_env *env);
void check_around_threads(check_env *env); /* threads alone */
/* Threads may run from now on, or may not any more. */
void check_around_allow(check_env *env, bool threads);
/* The plug-in that was loaded last says that it makes threads. */
bool check_makes_threads(const tn_runtime *runtime);

/* ---- case.c ---------------------------------------------------------------------------------- */

typedef enum check_fill_kind {
  FILL_DESIGNED,
  FILL_ELEMENTS,
  FILL_UNIFORM,
  FILL_INTS,
  FILL_RANGE,
  FILL_EDGE,
  FILL_UNIQUE,
  FILL_STRINGS
} check_fill_kind;

typedef struct check_spec { /* one tensor of a case: T[2,3]!{...} */
  char *type;               /* a dtype's name or a type alias */
  int32_t rank;
  int64_t shape[TN_MAX_RANK];
  bool constant;
  check_fill_kind fill;
  double low, high; /* UNIFORM, INTS */
  double *numbers;  /* ELEMENTS */
  int64_t *ints;    /* the same as integers, for those that f64 cannot hold */
  tn_str *strings;
  int64_t n_elements;
} check_spec;

typedef struct check_input { /* what a case gives for one input of the schema */
  const tn_arg *arg;
  bool list, sequence; /* sequence: a list for an argument that takes one value */
  check_spec *items;
  int32_t n;
} check_input;

typedef struct check_attr {
  const tn_arg *arg; /* NULL: of a node of a graph */
  tn_attr value;     /* tensors: made from specs once dtypes are known */
  check_spec *specs;
  int32_t n_specs;
  struct check_graph *graph;
} check_attr;

typedef struct check_node {       /* of a graph: "a, b = Split(x, axis=1)" */
  const char **inputs, **outputs; /* an input "_" is left out */
  int32_t n_inputs, n_outputs, n_attrs;
  const char *domain, *op;
  check_attr *attrs;
  check_spec *constant; /* "a = f32[2]{1,2}" instead of an operator */
} check_node;

typedef struct check_graph { /* {x, y -> z: z = Add(x, y)} */
  const char **inputs, **outputs;
  check_node *nodes;
  int32_t n_inputs, n_outputs, n_nodes;
} check_graph;

typedef struct check_outer { /* "@name=T[2]": a value around the node, which its graphs may read */
  const char *name;
  check_spec spec;
} check_outer;

typedef struct tn_case {
  const char *text;
  const char *drawn_by; /* text without what only says how results are compared: random data of the
                           case are drawn by it */
  check_input *inputs;  /* in schema order; n 0 and items NULL: left out */
  int32_t n_inputs;
  check_attr *attrs;
  int32_t n_attrs, n_outputs; /* -1: not said */
  check_outer *outer;
  int32_t n_outer;
  check_input *expect; /* the outputs, in order; n_expect 0: what the reference says */
  int32_t n_expect;
  bool has_graphs;
  int32_t version;  /* 0: not said */
  double tolerance; /* < 0: not said */
  double int_tolerance;
  bool magnitudes; /* cond=abs */
  bool bench;
} tn_case;

/* False: *out_why says what is wrong. */
bool check_case_parse(const tn_opdef *op, const char *text, tn_arena *arena, tn_case *out,
                      const char **out_why);

/* What case.c and case_graph.c share: a recursive-descent parser over one cursor. */
typedef struct check_parser {
  const tn_opdef *op;
  const char *p;
  tn_arena *arena;
  tn_case *out;
  const char *why;
  bool compares; /* the assignment just read says only how results are compared */
} check_parser;
bool check_parse_bad(check_parser *s, const char *what); /* false; the first problem stays */
void *check_parse_room(check_parser *s, uint64_t bytes);
bool check_parse_take(check_parser *s, char c);
bool check_parse_expect(check_parser *s, char c);
void check_parse_spaces(check_parser *s);
char *check_parse_word(check_parser *s);
bool check_parse_tensor(check_parser *s, check_spec *t);
/* A number, string or list, of the kind it looks like. */
bool check_parse_value(check_parser *s, tn_attr *a);
/* case_graph.c */
bool check_parse_graph(check_parser *s, check_graph **out);

/* ---- fill.c ---------------------------------------------------------------------------------- */

/* t->data has room for the elements. Strings point into the spec or to literals. The same seed
 * gives the same elements. */
void check_fill(const check_spec *spec, tn_tensor *t, uint64_t seed);
uint64_t check_random(uint64_t *state);

/* ---- memory.c: buffers between unreadable pages ---------------------------------------------- */

typedef struct check_buffer {
  uint8_t *data;
  uint64_t bytes;
  uint8_t *map; /* readable pages */
  uint64_t map_bytes;
  const char *name; /* for messages */
  bool at_end;
} check_buffer;

uint64_t check_malloc_bytes(void); /* that malloc has handed out */
/* By how much they grow from one of n rounds to the next, if they do in most; else 0. */
uint64_t check_growth(const uint64_t *used, int32_t n);
struct check_pool *check_pool_new(void);
void check_pool_free(struct check_pool *pool); /* no buffer may be in use */
/* bytes at the end of their pages, aligned to `align` bytes, or at the beginning of them. The
 * bytes around the buffer hold a pattern. */
check_buffer *check_buffer_new(check_env *env, uint64_t bytes, uint64_t align, bool at_end,
                               const char *name);
void check_buffer_free(check_env *env, check_buffer *b);
void check_buffer_protect(check_buffer *b, bool read_only);
void check_buffer_take(check_buffer *b); /* it cannot be touched any more, until it is freed */
/* True if the bytes around it still hold the pattern. */
bool check_buffer_intact(const check_buffer *b);
/* Which buffer an address belongs to, in words into buf. */
const char *check_buffer_describe(const check_env *env, const void *address, char *buf,
                                  size_t size);

/* ---- problem.c ------------------------------------------------------------------------------- */

typedef struct check_value {
  tn_tensor tensor; /* plain, with data; or a list */
  const char *name;
  const char *label;     /* of the value in a graph: graphs of the case may read it; NULL: none */
  bool constant;         /* its data is known when planning */
  bool written_constant; /* the case says so */
  double scale;          /* largest magnitude among its elements that counts for tolerances */
} check_value;

typedef struct check_binding {
  char *alias;
  uint32_t dtype;
} check_binding;

typedef struct check_problem {
  check_env *env;
  const tn_opdef *op;
  const tn_case *line;
  check_binding bindings[CHECK_MAX_ALIASES];
  int32_t n_bindings;
  char label[160]; /* "T=f32" */
  tn_arena arena;
  tn_planner planner;
  tn_graph *graph; /* one node, bound to the operator */
  int32_t node, version;
  uint32_t n_inputs, n_outputs, n_formal;
  check_value *inputs[CHECK_MAX_IO]; /* NULL: left out */
  check_value *outer[CHECK_MAX_IO];  /* values around the node */
  uint32_t n_outer;
  tn_tensor outputs[CHECK_MAX_IO]; /* as inferred */
  const char *output_names[CHECK_MAX_IO];
  tn_tensor **lists; /* sequences to be destroyed */
  int32_t n_lists;
  check_buffer *buffers[2 * CHECK_MAX_IO]; /* of elements */
  int32_t n_buffers;
  const tn_region *const *regions;
  uint32_t n_regions;
  int32_t region_fill;
  double flops;
  tn_status status; /* of binding or inference */
  bool filled, expected_done, expected_ok;
  bool no_model;                  /* a model cannot hold this node */
  bool made_up;                   /* the case may be nonsense: it may be refused */
  bool no_data;                   /* only types are looked at: elements may be too many */
  struct check_results *expected; /* of the reference */
  struct check_results *sums;     /* the same of the inputs' magnitudes, for cases with cond=abs */
  char why[CHECK_TEXT];           /* why there is no graph or no reference result */
} check_problem;

/* Binds and infers. False: it has been told what is wrong, unless this is an attempt. Elements are
 * filled in later. */
bool check_problem_open(check_env *env, const tn_opdef *op, const tn_case *line,
                        const check_binding *bindings, int32_t n_bindings, bool attempt,
                        check_problem *p);
/* The same as part of another unit; nothing is told. */
bool check_problem_open_quietly(check_env *env, const tn_opdef *op, const tn_case *line,
                                const check_binding *bindings, int32_t n_bindings, bool no_data,
                                check_problem *p);
/* The same for an operator without inference: the caller sets outputs. */
void check_problem_open_raw(check_env *env, const tn_opdef *op, const tn_case *line,
                            const check_binding *bindings, int32_t n_bindings, check_problem *p);
void check_problem_close(check_problem *p);
void check_problem_fill(check_problem *p);
/* Runs the reference once; NULL: why. */
const struct check_results *check_problem_expected(check_problem *p);
/* A tensor of the case with its elements, which live as long as the problem. False: why. */
bool check_problem_make(check_problem *p, const check_spec *s, uint64_t seed, tn_tensor *out);
/* body.c: the case's attributes for a node of g; those that are graphs are made in g. from: as the
 * node of p->graph has them. The array lives as long as the problem. */
tn_status check_body_attrs(check_problem *p, tn_graph *g, const tn_attr *const *from,
                           const tn_attr *const **out);
/* The operator sets that nodes of graphs import. */
tn_status check_body_opsets(const check_problem *p, tn_graph *g);
/* body.c: the outputs that the case names. */
bool check_body_expected(check_problem *p, struct check_results *r);
/* The dtype that a type word of the case stands for. */
uint32_t check_problem_dtype(const check_problem *p, const char *word);
double check_problem_bytes(const check_problem *p);

/* ---- host.c: the services of a running call -------------------------------------------------- */

typedef struct check_results {
  tn_tensor values[CHECK_MAX_IO];
  uint32_t n;
  check_buffer *buffers[CHECK_MAX_IO];
  tn_tensor *lists[CHECK_MAX_IO];
  tn_arena strings;
  bool owns[CHECK_MAX_IO]; /* buffers[k] is to be freed */
} check_results;

typedef struct check_context { /* ctx of check_host points to a pointer to it */
  check_env *env;
  const check_problem *problem;
  check_results *results;
  const struct check_form *form; /* layouts of outputs; NULL: plain */
  struct check_shown *shown;     /* what the callback that runs sees; NULL: the run itself */
  bool running, at_end;
  uint8_t pattern;
  int64_t n_allocated; /* blocks of host->alloc that live */
  int64_t n_asked;     /* for */
  pthread_mutex_t lock;
  char said[CHECK_TEXT];
} check_context;

extern const tn_host check_host;
void check_context_open(check_context *c, check_env *env, const check_problem *p);
void check_context_close(check_context *c);
/* Memory for all outputs whose size is known, prefilled with the pattern. */
void check_results_open(check_context *c, check_results *r);
void check_results_close(check_env *env, check_results *r);

/* ---- layout.c -------------------------------------------------------------------------------- */

bool check_layout_fits(const tn_tensor *t, tn_layout layout);
/* to: type and layout with room for the elements; pad lanes become zero. */
void check_layout_pack(const tn_tensor *plain, tn_tensor *to);
/* The other way. */
void check_layout_unpack(const tn_tensor *from, tn_tensor *plain);
/* The place in the storage of a pad lane that is not zero; -1: none. */
int64_t check_layout_bad_pad(const tn_tensor *t);

/* ---- compare.c ------------------------------------------------------------------------------- */

typedef struct check_tolerance {
  double k, scale, ints;
  const tn_tensor *sums; /* scales of their own for the elements; NULL: scale serves all */
  double more;           /* added to k for scale alone: what fused steps may add */
} check_tolerance;
/* For this output; after check_problem_expected(). */
check_tolerance check_tolerance_of(const check_problem *p, uint32_t output);
/* got may be in any layout. False: why says where and by how much. */
bool check_compare(const tn_tensor *expected, const tn_tensor *got, check_tolerance tolerance,
                   const char *name, char *why, size_t size);
/* Same type and same bits (pad lanes included). */
bool check_same_bits(const tn_tensor *a, const tn_tensor *b);

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

typedef struct check_way { /* how to run it */
  const char *name;
  bool at_end; /* buffers end at an unreadable page; else they begin after one */
  bool reverse, twice, null_empty;
  int32_t n_ranges;
  uint32_t n_workers;
  uint8_t pattern;  /* of outputs, scratch */
  bool threads;     /* ranges run on the pool */
  int32_t in_place; /* output that shares memory with its input; -1: none */
} check_way;

/* Inputs of the call: the problem's, then what epilogues add. NULL: left out. */
const check_value *check_subject_input(const check_subject *s, uint32_t k);
uint32_t check_subject_n_inputs(const check_subject *s);
/* Why the kernel does not take the problem in this form; NULL: it does. out_own (may be NULL): its
 * refuse() says so, and not its rows. */
const char *check_subject_match(const check_subject *s, tn_arena *reasons, bool *out_own);
/* Runs and compares; failures go to env. out_plan (may be NULL): what plan() answered. */
void check_drive(const check_subject *s, const check_way *way, tn_kernel_plan *out_plan);

/* What drive.c and bench.c share: a prepared call. */
typedef struct check_run {
  const check_subject *s;
  const check_way *way;
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
bool check_run_open(check_run *r, const check_subject *s, const check_way *way);
/* Items of [begin, end) of a stage on the calling thread. */
void check_run_range(check_run *r, uint32_t stage, int64_t begin, int64_t end, uint32_t worker);
/* All stages in the ranges that the way says. False: the failure has been told. */
bool check_run_stages(check_run *r);
/* Outputs prefilled anew. */
void check_run_again(check_run *r);
/* Takes away, or gives back, the elements of inputs that a row says are packed. */
void check_run_hide_packed(check_run *r, bool hide);
void check_run_close(check_run *r);

/* shown.c: "Pointers handed to a callback are valid until it returns", and to none of the host's
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

/* untouched.c: what a callback was handed to be looked at. */
typedef struct check_copy {
  tn_call call;
  tn_tensor inputs[CHECK_MAX_IO], outputs[CHECK_MAX_IO];
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

void check_trial(const check_subject *s, bool full); /* trial.c */
/* Runs the kernel with fused steps; false: it takes none of them here. */
bool check_epilogues(const check_subject *s); /* epilogue.c */
void check_calibrate(check_env *env);         /* bench.c */
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
tn_runtime *check_runtime_new(check_env *env, uint64_t isa, int32_t n_threads,
                              const tn_allocator *a);

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

/* ---- plug-ins that somebody else wrote --------------------------------------------------------
 * */

/* Outputs of one run become what others are compared with. NULL: they cannot. */
const check_results *check_self_expected(const check_subject *s); /* repeat.c */
/* Many calls, two at once, memory that cannot be had. */
void check_repeat(const check_subject *s);
void check_infer(check_problem *p); /* infer.c */
/* The plug-in is unloaded in one of two runtimes that run the problem. is_needed: the operator is
 * the plug-in's own. unload.c */
void check_unload(check_problem *p, bool is_needed);
/* Case lines from the schema and the type rules, until run answers false. What stands in the way,
 * or NULL. generic.c */
const char *check_generic(const tn_opdef *op, const tn_kerneldef *const *kernels, int32_t n_kernels,
                          bool (*run)(void *arg, const char *text), void *arg);
void check_format(check_env *env, const tn_format *format); /* format.c */

typedef struct check_sample { /* a file of a format */
  uint8_t *data;
  uint64_t bytes;
  char why[CHECK_TEXT]; /* bytes 0: what its writer said, "" if nothing */
} check_sample;
void check_sample_write(check_env *env, const tn_format *format, check_sample *out); /* sample.c */
void check_sample_free(check_sample *s);

/* What the caller wants of a file. Records are lists of texts, the first of which says what it is:
 *   "breach" or "note", part, test, rule
 *   "plugin", name, version, licence, build id, ABI, flavour, path
 *   "op", name, since, until, schema, callbacks, cases, doc
 *   "kernel", name, op, since, until, isa, rank, device, callbacks
 *   "accept", argument, dtypes, layout, lowest rank, highest rank, flags: of the kernel before it
 *   "rewrite", name, root;  "format", name, endings, domains, callbacks */
typedef struct check_job {
  const char *path, *only;
  double seconds; /* for one test; 0: 20 */
  void *self;
  void (*receive)(void *self, const char *const *fields, int n);
  void (*progress)(void *self, const char *part, const char *test); /* NULL is fine */
} check_job;

typedef struct check_verdict {
  int64_t passed, breaches, notes, left_out;
  bool loadable; /* the descriptor breaks no rule */
} check_verdict;

/* Both run the plug-in in child processes alone. */
check_verdict check_plugin_info(const check_job *job); /* examine.c, vet.c */
check_verdict check_plugin_vet(const check_job *job);
void check_examine(check_env *env, const char *path, bool deep);
void check_life(check_env *env, const char *path); /* life.c */
/* One operator with the kernels of the plug-in: suite.c. */
void check_op(check_env *env, const tn_opdef *op);

/* suite.c. plugin: parts to be tested besides those that ship; NULL: none. */
void check_open(check_env *env, tn_plugin_query_fn plugin);
void check_suite(check_env *env);
void check_close(check_env *env);
bool check_op_wanted(const check_env *env, const tn_opdef *op);
/* family.c: the text of a family file, in memory of the default allocator; *out_bytes is its
 * size. */
char *check_family_read(const char *path, uint64_t *out_bytes);
bool check_family_has(const char *text, const char *op);
const char *check_op_name(const tn_opdef *op, char *buf,
                          size_t size); /* "Softmax", "tenon::Cast" */

#endif
