/* Passes 01 to 05 on small graphs of the built-in operators: functions, older forms, folding,
 * lowering, fusing, and that all problems of a model are reported at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/exec.h"
#include "tenon/kit/lower.h"

typedef struct bench {
  tn_runtime *runtime;
  tn_diag *diag;
  tn_graph *g;
  tn_model *model;
  tn_session *session;
} bench;

static const tn_graph_api *api(void) { return tn_graph_functions(); }

static int setup(void **state) {
  bench *b = calloc(1, sizeof *b);
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  o.flags = TN_RUNTIME_NO_DISCOVERY;
  o.n_threads = 1;
  b->diag = tn_diag_create();
  assert_int_equal(tn_runtime_create(&o, b->diag, &b->runtime), TN_OK);
  assert_int_equal(tn_graph_create(b->runtime, &b->g), TN_OK);
  assert_int_equal(api()->set_opset(b->g, "", 17), TN_OK);
  *state = b;
  return 0;
}

static int teardown(void **state) {
  bench *b = *state;
  tn_session_destroy(b->session);
  tn_model_destroy(b->model);
  tn_graph_destroy(b->g);
  tn_runtime_destroy(b->runtime);
  tn_diag_destroy(b->diag);
  free(b);
  return 0;
}

/* Nodes from text: "a b -> c"; "_" is left out. */
static int32_t node(tn_graph *g, const char *domain, const char *op, const char *wires,
                    const tn_attr *const *attrs, uint32_t n_attrs) {
  int32_t in[8], out[8];
  uint32_t n_in = 0, n_out = 0;
  bool after = false;
  char word[32];
  for (const char *at = wires; *at;) {
    size_t n = strcspn(at, " ");
    snprintf(word, sizeof word, "%.*s", (int)n, at);
    int32_t id = strcmp(word, "_") ? 0 : -1;
    if (!strcmp(word, "->"))
      after = true;
    else if (after)
      out[n_out++] = id ? id : api()->value(g, word);
    else
      in[n_in++] = id ? id : api()->value(g, word);
    at += n + (at[n] == ' ');
  }
  tn_node made = {.head = TN_HEAD(tn_node),
                  .domain = domain,
                  .op = op,
                  .name = op,
                  .n_inputs = n_in,
                  .n_outputs = n_out,
                  .n_attrs = n_attrs,
                  .inputs = in,
                  .outputs = out,
                  .attrs = attrs,
                  .offset = -1};
  return api()->add_node(g, &made);
}

static void input(tn_graph *g, const char *name, int32_t rank, const int64_t *shape) {
  tn_tensor type = tn_tensor_make(TN_F32, rank, shape, NULL);
  assert_int_equal(api()->value_set_type(g, api()->value(g, name), &type), TN_OK);
  assert_int_equal(api()->add_input(g, api()->value(g, name)), TN_OK);
}

static void output(tn_graph *g, const char *name) {
  assert_int_equal(api()->add_output(g, api()->value(g, name)), TN_OK);
}

static void constant(tn_graph *g, const char *name, uint32_t dtype, int64_t n, void *data) {
  tn_tensor t = tn_tensor_make(dtype, 1, &n, data);
  assert_int_equal(api()->value_set_const(g, api()->value(g, name), &t, 1), TN_OK);
}

static tn_status load(bench *b) {
  tn_graph *g = b->g;
  b->g = NULL;
  return tn_model_from_graph_take(b->runtime, g, NULL, b->diag, &b->model);
}

/* Loads, runs on x, answers output 0. */
static const tn_tensor *run(bench *b, float *x, int32_t rank, const int64_t *shape) {
  tn_tensor t = tn_tensor_make(TN_F32, rank, shape, x);
  tn_status s = load(b);
  if (!s) s = tn_session_create(b->model, b->diag, &b->session);
  if (!s) s = tn_session_set_input(b->session, 0, &t, b->diag);
  if (!s) s = tn_session_run(b->session, b->diag);
  if (s) fail_msg("%s", tn_diag_text(b->diag));
  return tn_session_output(b->session, 0);
}

static int32_t count_steps(const bench *b) {
  tn_plan_info info = {.head = TN_HEAD(tn_plan_info)};
  assert_int_equal(tn_session_plan(b->session, &info), TN_OK);
  return info.n_steps;
}

static void expect_messages(bench *b, tn_status status, const char *const *texts) {
  assert_int_equal(load(b), status);
  for (; *texts; texts++)
    if (!strstr(tn_diag_text(b->diag), *texts))
      fail_msg("'%s' is not in: %s", *texts, tn_diag_text(b->diag));
}

/* ---- 01 ---- */

static void all_problems_are_reported(void **state) {
  bench *b = *state;
  int64_t four = 4;
  tn_attr bad = tn_attr_int("no_such_thing", 1);
  const tn_attr *attrs[] = {&bad};
  input(b->g, "x", 1, &four);
  node(b->g, "", "NoSuchOperator", "x -> a", NULL, 0);
  node(b->g, "com.acme", "Foo", "a -> b", NULL, 0);
  node(b->g, "", "Relu", "b b -> c", NULL, 0);
  node(b->g, "", "Relu", "c -> d", attrs, 1);
  node(b->g, "", "Add", "d -> e", NULL, 0);
  output(b->g, "e");
  const char *const texts[] = {"operator NoSuchOperator", "operator com.acme::Foo",
                               "takes at most 1",         "'no_such_thing' is unknown",
                               "input 'B' is required",   NULL};
  expect_messages(b, TN_ERR_INVALID, texts);
}

static void an_opset_that_is_too_old_is_named(void **state) {
  bench *b = *state;
  int64_t four = 4;
  assert_int_equal(api()->set_opset(b->g, "", 1), TN_OK);
  input(b->g, "x", 1, &four);
  node(b->g, "", "RMSNormalization", "x x -> y", NULL, 0);
  output(b->g, "y");
  const char *const texts[] = {"not supported: version 1 of operator RMSNormalization", NULL};
  expect_messages(b, TN_ERR_UNSUPPORTED, texts);
}

static void older_forms_become_the_newest(void **state) {
  bench *b = *state;
  int64_t dims[2] = {1, 3}, axes[1] = {0};
  float x[3] = {1, 2, 3};
  tn_attr a = tn_attr_ints("axes", (tn_ints){axes, 1});
  const tn_attr *attrs[] = {&a};
  assert_int_equal(api()->set_opset(b->g, "", 11), TN_OK);
  input(b->g, "x", 2, dims);
  node(b->g, "", "Squeeze", "x -> y", attrs, 1);
  output(b->g, "y");
  const tn_tensor *y = run(b, x, 2, dims);
  assert_int_equal(y->rank, 1);
  assert_true(((float *)y->data)[2] == 3);
}

/* So many that the graph moves in memory while a lowering reads a node of it. */
static void many_older_forms_become_the_newest(void **state) {
  enum { N = 300 };
  bench *b = *state;
  int64_t dims[2] = {1, 3};
  float x[3] = {1, 2, 3};
  tn_attr on = tn_attr_int("broadcast", 1);
  const tn_attr *attrs[] = {&on};
  assert_int_equal(api()->set_opset(b->g, "", 3), TN_OK);
  input(b->g, "x", 2, dims);
  for (int k = 0; k < N; k++) { /* doubles three times */
    char wires[64];
    snprintf(wires, sizeof wires, "v%d v%d -> v%d", k, k, k + 1);
    node(b->g, "", k % 100 ? "Max" : "Add", k ? wires : "x x -> v1", k % 100 ? NULL : attrs,
         k % 100 ? 0 : 1);
  }
  node(b->g, "", "Concat", "v300 x -> y", NULL, 0);
  output(b->g, "y");
  const tn_tensor *y = run(b, x, 2, dims);
  assert_int_equal(y->shape[1], 6);
  assert_true(((float *)y->data)[2] == 24 && ((float *)y->data)[5] == 3);
}

/* Function t::Scaled(x) = LeakyRelu(x, alpha = @slope) + x, called by t::Twice, which passes its
 * own attribute on. */
static void add_functions(tn_graph *g) {
  tn_graph *inner = api()->subgraph_new(g), *outer = api()->subgraph_new(g);
  const char *names[] = {"slope"};
  tn_attr ref = {.head = TN_HEAD(tn_attr), .name = "alpha", .kind = TN_ATTR_REF, .s = {"slope", 5}};
  tn_attr pass = {
      .head = TN_HEAD(tn_attr), .name = "slope", .kind = TN_ATTR_REF, .s = {"slope", 5}};
  tn_attr half = tn_attr_float("slope", 0.5);
  const tn_attr *refs[] = {&ref}, *passes[] = {&pass}, *defaults[] = {&half};
  api()->set_opset(inner, "", 17);
  api()->add_input(inner, api()->value(inner, "x"));
  node(inner, "", "LeakyRelu", "x -> l", refs, 1);
  node(inner, "", "Add", "l x -> r", NULL, 0);
  api()->add_output(inner, api()->value(inner, "r"));
  api()->set_opset(outer, "t", 1);
  api()->add_input(outer, api()->value(outer, "x"));
  node(outer, "t", "Scaled", "x -> y", passes, 1);
  node(outer, "t", "Scaled", "y -> z", NULL, 0);
  api()->add_output(outer, api()->value(outer, "z"));
  assert_int_equal(api()->add_function(g, "t", "Scaled", "", inner, names, 1, defaults, 1), TN_OK);
  assert_int_equal(api()->add_function(g, "t", "Twice", "", outer, names, 1, NULL, 0), TN_OK);
}

static void functions_are_expanded_with_their_attributes(void **state) {
  bench *b = *state;
  int64_t two = 2;
  float x[2] = {-4, 4};
  tn_attr quarter = tn_attr_float("slope", 0.25);
  const tn_attr *attrs[] = {&quarter};
  api()->set_opset(b->g, "t", 1);
  add_functions(b->g);
  input(b->g, "x", 1, &two);
  node(b->g, "t", "Twice", "x -> y", attrs, 1);
  output(b->g, "y");
  const tn_tensor *y = run(b, x, 1, &two);
  assert_true(((float *)y->data)[0] == -7.5f); /* -4*0.25 - 4 = -5; default 0.5: -5*0.5 - 5 */
  assert_true(((float *)y->data)[1] == 16);
}

/* A graph inside g that gives what `op` makes of the outer value x. */
static tn_graph *branch_of(tn_graph *g, const char *domain, const char *op) {
  tn_graph *sub = api()->subgraph_new(g);
  node(sub, domain, op, "x -> r", NULL, 0);
  api()->add_output(sub, api()->value(sub, "r"));
  return sub;
}

static tn_graph *branch(tn_graph *g, const char *op) { return branch_of(g, "", op); }

static int32_t if_node(tn_graph *g, const char *wires, tn_graph *then_graph, tn_graph *else_graph) {
  tn_attr yes = {.head = TN_HEAD(tn_attr),
                 .name = "then_branch",
                 .kind = TN_ATTR_GRAPH,
                 .graphs = &then_graph,
                 .n_graphs = 1},
          no = {.head = TN_HEAD(tn_attr),
                .name = "else_branch",
                .kind = TN_ATTR_GRAPH,
                .graphs = &else_graph,
                .n_graphs = 1};
  const tn_attr *attrs[] = {&yes, &no};
  return node(g, "", "If", wires, attrs, 2);
}

/* t::F(c, d, x) = If c then (If d then -x else max(x, 0)) else x, with c true and d false. */
static void branches_inside_functions_keep_their_places(void **state) {
  bench *b = *state;
  int64_t one = 1;
  uint8_t yes = 1, no = 0;
  float x[1] = {-3};
  tn_graph *body = api()->subgraph_new(b->g), *outer = api()->subgraph_new(body);
  if_node(outer, "d -> r", branch(outer, "Neg"), branch(outer, "Relu"));
  api()->add_output(outer, api()->value(outer, "r"));
  api()->set_opset(body, "", 17);
  for (const char *const *name = (const char *const[]){"c", "d", "x", NULL}; *name; name++)
    api()->add_input(body, api()->value(body, *name));
  if_node(body, "c -> y", outer, branch(body, "Identity"));
  api()->add_output(body, api()->value(body, "y"));
  assert_int_equal(api()->add_function(b->g, "t", "F", "", body, NULL, 0, NULL, 0), TN_OK);
  api()->set_opset(b->g, "t", 1);
  input(b->g, "x", 1, &one);
  constant(b->g, "c", TN_BOOL, 1, &yes);
  constant(b->g, "d", TN_BOOL, 1, &no);
  node(b->g, "t", "F", "c d x -> z", NULL, 0);
  output(b->g, "z");
  const tn_tensor *z = run(b, x, 1, &one);
  assert_true(((float *)z->data)[0] == 0);
}

/* Loop's trip count, condition and If's condition must be one value each. */
static void control_inputs_of_no_elements_are_refused(void **state) {
  bench *b = *state;
  int64_t one = 1, m = 2;
  uint8_t yes = 1;
  tn_graph *body = api()->subgraph_new(b->g);
  for (const char *const *name = (const char *const[]){"i", "go", "v", NULL}; *name; name++)
    api()->add_input(body, api()->value(body, *name));
  node(body, "", "Identity", "go -> go_on", NULL, 0);
  node(body, "", "Relu", "v -> w", NULL, 0);
  api()->add_output(body, api()->value(body, "go_on"));
  api()->add_output(body, api()->value(body, "w"));
  tn_attr loop = {.head = TN_HEAD(tn_attr),
                  .name = "body",
                  .kind = TN_ATTR_GRAPH,
                  .graphs = &body,
                  .n_graphs = 1};
  const tn_attr *attrs[] = {&loop};
  input(b->g, "x", 1, &one);
  constant(b->g, "m", TN_I64, 0, &m);
  constant(b->g, "c", TN_BOOL, 1, &yes);
  node(b->g, "", "Loop", "m c x -> y", attrs, 1);
  output(b->g, "y");
  float x[1] = {1};
  tn_tensor t = tn_tensor_make(TN_F32, 1, &one, x);
  tn_status s = load(b);
  if (!s) s = tn_session_create(b->model, b->diag, &b->session);
  if (!s) s = tn_session_set_input(b->session, 0, &t, b->diag);
  if (!s) s = tn_session_run(b->session, b->diag);
  assert_int_equal(s, TN_ERR_SHAPE);
  assert_non_null(strstr(tn_diag_text(b->diag), "input 'M' has 0 elements, not one"));
}

static void endless_functions_are_refused(void **state) {
  bench *b = *state;
  int64_t two = 2;
  tn_graph *body = api()->subgraph_new(b->g);
  api()->set_opset(b->g, "t", 1);
  api()->set_opset(body, "t", 1);
  api()->add_input(body, api()->value(body, "x"));
  node(body, "t", "Loop", "x -> y", NULL, 0);
  api()->add_output(body, api()->value(body, "y"));
  assert_int_equal(api()->add_function(b->g, "t", "Loop", "", body, NULL, 0, NULL, 0), TN_OK);
  input(b->g, "x", 1, &two);
  node(b->g, "t", "Loop", "x -> y", NULL, 0);
  output(b->g, "y");
  const char *const texts[] = {"functions call each other", NULL};
  expect_messages(b, TN_ERR_OVERFLOW, texts);
}

/* t::`name`(x) = If true then t::other(x) else t::other(x) */
static void add_caller(tn_graph *g, const char *name, const char *other) {
  uint8_t yes = 1;
  tn_graph *body = api()->subgraph_new(g);
  api()->set_opset(body, "t", 1);
  api()->set_opset(body, "", 17);
  api()->add_input(body, api()->value(body, "x"));
  constant(body, "c", TN_BOOL, 1, &yes);
  if_node(body, "c -> y", branch_of(body, "t", other), branch_of(body, "t", other));
  api()->add_output(body, api()->value(body, "y"));
  assert_int_equal(api()->add_function(g, "t", name, "", body, NULL, 0, NULL, 0), TN_OK);
}

/* Each level is a graph in a graph: the depth counts through them. */
static void functions_that_call_themselves_in_branches_are_refused(void **state) {
  bench *b = *state;
  int64_t two = 2;
  const char *const texts[] = {"functions call each other more than 64 deep", NULL};
  api()->set_opset(b->g, "t", 1);
  add_caller(b->g, "F", "G");
  add_caller(b->g, "G", "F");
  input(b->g, "x", 1, &two);
  node(b->g, "t", "F", "x -> y", NULL, 0);
  output(b->g, "y");
  expect_messages(b, TN_ERR_OVERFLOW, texts);
}

/* t::F0 to t::F29, each of which calls the one before twice. */
static void functions_that_double_are_refused(void **state) {
  bench *b = *state;
  int64_t two = 2;
  char name[8], before[8];
  api()->set_opset(b->g, "t", 1);
  for (int k = 0; k < 30; k++) {
    tn_graph *body = api()->subgraph_new(b->g);
    snprintf(name, sizeof name, "F%d", k);
    snprintf(before, sizeof before, "F%d", k - 1);
    api()->set_opset(body, "t", 1);
    api()->set_opset(body, "", 17);
    api()->add_input(body, api()->value(body, "x"));
    node(body, k ? "t" : "", k ? before : "Neg", "x -> y", NULL, 0);
    node(body, k ? "t" : "", k ? before : "Neg", "y -> z", NULL, 0);
    api()->add_output(body, api()->value(body, "z"));
    assert_int_equal(api()->add_function(b->g, "t", name, "", body, NULL, 0, NULL, 0), TN_OK);
  }
  input(b->g, "x", 1, &two);
  node(b->g, "t", "F29", "x -> y", NULL, 0);
  output(b->g, "y");
  const char *const texts[] = {"would bring the nodes of functions to more than 262144", NULL};
  expect_messages(b, TN_ERR_OVERFLOW, texts);
  assert_int_equal(tn_diag_count(b->diag), 1);
}

/* Without its list of copies it means nothing. */
static void regions_of_a_file_are_refused(void **state) {
  bench *b = *state;
  int64_t two = 2;
  api()->set_opset(b->g, "tenon", 1);
  input(b->g, "x", 1, &two);
  node(b->g, "tenon", "Region", "x -> y", NULL, 0);
  output(b->g, "y");
  const char *const texts[] = {"a model cannot hold one", NULL};
  expect_messages(b, TN_ERR_STATE, texts);
}

/* ---- 02 to 05 ---- */

static void shape_arithmetic_folds_away(void **state) {
  bench *b = *state;
  int64_t dims[2] = {2, 6}, minus_one = -1, zero = 0;
  float x[12];
  for (int k = 0; k < 12; k++) x[k] = (float)k;
  input(b->g, "x", 2, (int64_t[]){TN_DIM_UNKNOWN, 6});
  constant(b->g, "minus_one", TN_I64, 1, &minus_one);
  constant(b->g, "zero", TN_I64, 1, &zero);
  node(b->g, "", "Shape", "x -> s", NULL, 0);
  node(b->g, "", "Gather", "s zero -> rows", NULL, 0);
  tn_attr axis = tn_attr_int("axis", 0);
  const tn_attr *attrs[] = {&axis};
  node(b->g, "", "Concat", "rows minus_one -> to", attrs, 1);
  node(b->g, "", "Reshape", "x to -> r", NULL, 0);
  node(b->g, "", "Relu", "r -> y", NULL, 0);
  output(b->g, "y");
  const tn_tensor *y = run(b, x, 2, dims);
  assert_int_equal(y->shape[0], 2);
  assert_int_equal(count_steps(b), 1); /* Relu alone: all else was known, and Reshape is an alias */
}

static void moves_of_moves_become_one(void **state) {
  bench *b = *state;
  int64_t dims[3] = {2, 3, 4};
  float x[24];
  for (int k = 0; k < 24; k++) x[k] = (float)k;
  int64_t perm[3] = {2, 0, 1}, back[3] = {1, 2, 0};
  tn_attr p = tn_attr_ints("perm", (tn_ints){perm, 3}),
          q = tn_attr_ints("perm", (tn_ints){back, 3});
  const tn_attr *first[] = {&p}, *second[] = {&q};
  input(b->g, "x", 3, dims);
  node(b->g, "", "Transpose", "x -> t", first, 1);
  node(b->g, "", "Transpose", "t -> u", second, 1);
  node(b->g, "", "Neg", "u -> y", NULL, 0);
  output(b->g, "y");
  const tn_tensor *y = run(b, x, 3, dims);
  for (int k = 0; k < 24; k++) assert_true(((float *)y->data)[k] == -x[k]);
  assert_int_equal(count_steps(b), 1);
}

/* Conv, then BatchNormalization and Relu, or the other way round: x by 1 and 2, then less 1 and
 * plus 1. */
static const float *run_conv(bench *b, bool norm_first) {
  int64_t dims[4] = {1, 1, 2, 2}, w_dims[4] = {2, 1, 1, 1};
  static float x[4] = {1, -2, 3, -4}, w[2] = {1, 2}, scale[2] = {2, 1}, shift[2] = {0, 1},
               mean[2] = {1, 0}, var[2] = {4, 1};
  tn_tensor wt = tn_tensor_make(TN_F32, 4, w_dims, w);
  assert_int_equal(api()->value_set_const(b->g, api()->value(b->g, "w"), &wt, 1), TN_OK);
  constant(b->g, "scale", TN_F32, 2, scale);
  constant(b->g, "shift", TN_F32, 2, shift);
  constant(b->g, "mean", TN_F32, 2, mean);
  constant(b->g, "var", TN_F32, 2, var);
  tn_attr e = tn_attr_float("epsilon", 0);
  const tn_attr *attrs[] = {&e};
  input(b->g, "x", 4, dims);
  node(b->g, "", "Conv", "x w -> c", NULL, 0);
  if (!norm_first) node(b->g, "", "Relu", "c -> n", NULL, 0);
  node(b->g, "", "BatchNormalization",
       norm_first ? "c scale shift mean var -> n" : "n scale shift mean var -> y", attrs, 1);
  if (norm_first) node(b->g, "", "Relu", "n -> y", NULL, 0);
  output(b->g, "y");
  return run(b, x, 4, dims)->data;
}

static void batch_norm_and_activation_join_the_convolution(void **state) {
  const float *y = run_conv(*state, true), want[8] = {0, 0, 2, 0, 3, 0, 7, 0};
  for (int k = 0; k < 8; k++) assert_true(y[k] == want[k]);
  assert_int_equal(count_steps(*state), 1);
}

static void an_activation_in_between_stays(void **state) {
  const float *y = run_conv(*state, false), want[8] = {0, -1, 2, -1, 3, 1, 7, 1};
  for (int k = 0; k < 8; k++) assert_true(y[k] == want[k]);
}

/* In a model of sequences the bias of a product runs along its last dim. */
static void bias_and_activation_join_the_product(void **state) {
  bench *b = *state;
  int64_t dims[3] = {2, 2, 2}, w_dims[2] = {2, 2};
  float x[8] = {1, 2, 3, 4, -1, -2, -3, -4}, w[4] = {1, 0, 0, 1}, bias[2] = {10, -1};
  tn_tensor wt = tn_tensor_make(TN_F32, 2, w_dims, w);
  assert_int_equal(api()->value_set_const(b->g, api()->value(b->g, "w"), &wt, 1), TN_OK);
  constant(b->g, "bias", TN_F32, 2, bias);
  input(b->g, "x", 3, dims);
  node(b->g, "", "MatMul", "x w -> m", NULL, 0);
  node(b->g, "", "Add", "bias m -> a", NULL, 0);
  node(b->g, "", "Relu", "a -> y", NULL, 0);
  output(b->g, "y");
  const float *y = run(b, x, 3, dims)->data;
  const float want[8] = {11, 1, 13, 3, 9, 0, 7, 0};
  for (int k = 0; k < 8; k++) assert_true(y[k] == want[k]);
  assert_int_equal(count_steps(b), 1);
}

/* x + Reshape(x, shape given at run time) cannot be planned before the data is there. */
static void shapes_from_data_are_found_at_run_time(void **state) {
  bench *b = *state;
  int64_t four = 4;
  float x[4] = {1, 0, 2, 0};
  input(b->g, "x", 1, &four);
  node(b->g, "", "NonZero", "x -> where", NULL, 0);
  node(b->g, "", "Shape", "where -> y", NULL, 0);
  output(b->g, "y");
  const tn_tensor *y = run(b, x, 1, &four);
  assert_int_equal(((int64_t *)y->data)[0], 1);
  assert_int_equal(((int64_t *)y->data)[1], 2);
  x[1] = 5;
  assert_int_equal(tn_session_run(b->session, b->diag), TN_OK);
  assert_int_equal(((int64_t *)tn_session_output(b->session, 0)->data)[1], 3);
}

static void shapes_that_do_not_fit_name_node_and_values(void **state) {
  bench *b = *state;
  int64_t dims[2] = {2, 3};
  input(b->g, "x", 2, dims);
  node(b->g, "", "MatMul", "x x -> y", NULL, 0);
  output(b->g, "y");
  const char *const texts[] = {"node 'MatMul' (MatMul)", "f32[2,3]", NULL};
  expect_messages(b, TN_ERR_SHAPE, texts);
}

/* ---- pins ---- */

static void pin(bench *b, const char *text) {
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  tn_graph_destroy(b->g);
  tn_runtime_destroy(b->runtime);
  o.flags = TN_RUNTIME_NO_DISCOVERY;
  o.n_threads = 1;
  o.pins = &text;
  o.n_pins = 1;
  assert_int_equal(tn_runtime_create(&o, b->diag, &b->runtime), TN_OK);
  assert_int_equal(tn_graph_create(b->runtime, &b->g), TN_OK);
  assert_int_equal(api()->set_opset(b->g, "", 9), TN_OK);
}

/* Loads and prepares; the message names what is wrong with the pin. */
static void expect_refused(bench *b, const char *text) {
  int64_t dims[4] = {1, 1, 2, 3};
  float x[6] = {0};
  tn_tensor t = tn_tensor_make(TN_F32, 4, dims, x);
  tn_status s = load(b);
  if (!s) s = tn_session_create(b->model, b->diag, &b->session);
  if (!s) s = tn_session_set_input(b->session, 0, &t, b->diag);
  if (!s) s = tn_session_prepare(b->session, b->diag);
  assert_int_equal(s, TN_ERR_UNSUPPORTED);
  if (!strstr(tn_diag_text(b->diag), text))
    fail_msg("'%s' is not in: %s", text, tn_diag_text(b->diag));
}

static void pins_of_lowered_operators_are_refused(void **state) {
  bench *b = *state;
  pin(b, "Transpose=no_such_kernel");
  input(b->g, "x", 4, (int64_t[]){1, 1, 2, 3});
  node(b->g, "", "Transpose", "x -> y", NULL, 0);
  output(b->g, "y");
  expect_refused(b, "pin 'Transpose=no_such_kernel': no kernel of this operator has the name");
}

static void pins_of_older_forms_are_refused(void **state) {
  bench *b = *state;
  int64_t index = 0;
  float update = 0;
  pin(b, "Scatter=no_such_kernel");
  input(b->g, "x", 4, (int64_t[]){1, 1, 2, 3});
  constant(b->g, "i", TN_I64, 1, &index);
  constant(b->g, "u", TN_F32, 1, &update);
  node(b->g, "", "Scatter", "x i u -> y", NULL, 0);
  output(b->g, "y");
  expect_refused(b, "kernel 'no_such_kernel' is pinned, but no kernel runs this operator");
}

/* A constant subgraph is not run by another kernel than the pinned one either. */
static void folding_obeys_pins(void **state) {
  bench *b = *state;
  float k[3] = {1, 2, 3};
  pin(b, "Neg=neg_int_c");
  input(b->g, "x", 4, (int64_t[]){1, 1, 2, 3});
  constant(b->g, "k", TN_F32, 3, k);
  node(b->g, "", "Neg", "k -> n", NULL, 0);
  node(b->g, "", "Add", "x n -> y", NULL, 0);
  output(b->g, "y");
  expect_refused(b, "neg_int_c: "); /* which takes no floats */
}

static void negate(bench *b, const char *text) {
  pin(b, text);
  input(b->g, "x", 4, (int64_t[]){1, 1, 2, 3});
  node(b->g, "", "Neg", "x -> y", NULL, 0);
  output(b->g, "y");
}

static void pins_leave_kernels_out(void **state) {
  bench *b = *state;
  negate(b, "Neg!=neg_*");
  expect_refused(b, "a pin leaves it out");
}

static void pins_leave_no_others_out(void **state) {
  bench *b = *state;
  negate(b, "Neg!=neg_f64_c");
  assert_int_equal(load(b), TN_OK);
  float x[6] = {0};
  tn_tensor t = tn_tensor_make(TN_F32, 4, (int64_t[]){1, 1, 2, 3}, x);
  assert_int_equal(tn_session_create(b->model, b->diag, &b->session), TN_OK);
  assert_int_equal(tn_session_set_input(b->session, 0, &t, b->diag), TN_OK);
  assert_int_equal(tn_session_prepare(b->session, b->diag), TN_OK);
}

/* A name without * is no beginning of others. */
static void pins_leave_out_what_is_there(void **state) {
  bench *b = *state;
  negate(b, "Neg!=neg_");
  expect_refused(b, "no kernel of this operator has the name");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(all_problems_are_reported),
      TEST(an_opset_that_is_too_old_is_named),
      TEST(older_forms_become_the_newest),
      TEST(many_older_forms_become_the_newest),
      TEST(functions_are_expanded_with_their_attributes),
      TEST(branches_inside_functions_keep_their_places),
      TEST(control_inputs_of_no_elements_are_refused),
      TEST(endless_functions_are_refused),
      TEST(functions_that_call_themselves_in_branches_are_refused),
      TEST(functions_that_double_are_refused),
      TEST(regions_of_a_file_are_refused),
      TEST(shape_arithmetic_folds_away),
      TEST(moves_of_moves_become_one),
      TEST(batch_norm_and_activation_join_the_convolution),
      TEST(an_activation_in_between_stays),
      TEST(bias_and_activation_join_the_product),
      TEST(shapes_from_data_are_found_at_run_time),
      TEST(shapes_that_do_not_fit_name_node_and_values),
      TEST(pins_of_lowered_operators_are_refused),
      TEST(pins_of_older_forms_are_refused),
      TEST(folding_obeys_pins),
      TEST(pins_leave_kernels_out),
      TEST(pins_leave_no_others_out),
      TEST(pins_leave_out_what_is_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
