/* Test cases: the text lines of operators, parsed, and the elements that they stand for. */
#ifndef TN_HARNESS_CASE_H
#define TN_HARNESS_CASE_H

#include "harness/env.h"

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
  bool list;     /* of an argument that takes any number of inputs */
  bool sequence; /* a list for an argument that takes one value; */
  bool map;      /* of this kind */
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

#endif
