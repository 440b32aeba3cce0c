/* A problem: a case with its types settled, its inputs, what the reference makes of them, and how
 * results are compared with that. */
#ifndef TN_HARNESS_PROBLEM_H
#define TN_HARNESS_PROBLEM_H

#include "harness/case.h"
#include "harness/memory.h"

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
  char label[160];     /* "T=f32" */
  char pin[CHECK_PIN]; /* what runs it in models; "": what is selected */
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
  /* Without a reference: of the first kernel or session that ran it; all others agree with it. */
  const struct check_results *agreed;
  struct check_results *sums; /* the same of the inputs' magnitudes, for cases with cond=abs */
  char why[CHECK_TEXT];       /* why there is no graph or no reference result */
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
/* case_body.c: the case's attributes for a node of g; those that are graphs are made in g. from: as the
 * node of p->graph has them. The array lives as long as the problem. */
tn_status check_body_attrs(check_problem *p, tn_graph *g, const tn_attr *const *from,
                           const tn_attr *const **out);
/* The operator sets that nodes of graphs import. */
tn_status check_body_opsets(const check_problem *p, tn_graph *g);
/* case_body.c: the outputs that the case names. */
bool check_body_expected(check_problem *p, struct check_results *r);
/* The dtype that a type word of the case stands for. */
uint32_t check_problem_dtype(const check_problem *p, const char *word);
double check_problem_bytes(const check_problem *p);

/* untouched_inputs.c: a copy of the attributes of a call, read-only, that takes their place in it:
 * the struct and its lists end at unreadable pages, each of them. */
enum { CHECK_MAX_LISTS = 32 };
typedef struct check_attrs {
  check_buffer *buffers[CHECK_MAX_LISTS + 1];
  int32_t n;
} check_attrs;
void check_attrs_open(const check_problem *p, tn_call *call, check_attrs *out);
void check_attrs_close(check_env *env, check_attrs *attrs);

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

#endif
