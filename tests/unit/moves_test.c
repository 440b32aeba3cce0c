/* Operators that move elements, through a whole session: what they refuse, and in which words; that
 * reshaping moves nothing; that splits and pads of odd shapes arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/tenon.h"

enum { MAX_VALUES = 64, MAX_INPUTS = 4 };

/* Input `k` of the node: i64 (ints) or f32 (floats) elements, repeated; NULL: f32 ones. */
typedef struct value {
  bool given, constant;
  int32_t rank;
  int64_t dims[9];
  uint32_t dtype;
  int64_t ints[8];
} value;

typedef struct bench {
  tn_diag *diag;
  tn_runtime *runtime;
  tn_graph *graph;
  tn_model *model;
  tn_session *session;
  int64_t memory[MAX_INPUTS][MAX_VALUES];
  tn_tensor tensors[MAX_INPUTS];
} bench;

static void open_bench(bench *b) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  memset(b, 0, sizeof *b);
  options.n_threads = 2;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  b->diag = tn_diag_create();
  assert_int_equal(tn_runtime_create(&options, b->diag, &b->runtime), TN_OK);
  assert_int_equal(tn_graph_create(b->runtime, &b->graph), TN_OK);
  assert_int_equal(tn_graph_functions()->set_opset(b->graph, "", 24), TN_OK);
}

static void close_bench(bench *b) {
  tn_session_destroy(b->session);
  tn_model_destroy(b->model);
  tn_graph_destroy(b->graph);
  tn_runtime_destroy(b->runtime);
  tn_diag_destroy(b->diag);
}

/* The value's elements in b->memory[k]. */
static void make_tensor(bench *b, int k, const value *v) {
  tn_tensor *t = &b->tensors[k];
  *t = tn_tensor_make(v->dtype, v->rank, v->dims, b->memory[k]);
  int64_t n = tn_tensor_elements(t);
  assert_true(n >= 0 && n <= MAX_VALUES);
  for (int64_t i = 0; i < n; i++) {
    if (v->dtype == TN_I64)
      b->memory[k][i] = v->ints[i % 8];
    else
      ((float *)(void *)b->memory[k])[i] = (float)i;
  }
}

static int32_t add_value(bench *b, int k, const value *v) {
  const tn_graph_api *api = tn_graph_functions();
  char name[8];
  snprintf(name, sizeof name, "in%d", k);
  int32_t id = api->value(b->graph, name);
  make_tensor(b, k, v);
  if (v->constant)
    assert_int_equal(api->value_set_const(b->graph, id, &b->tensors[k], 1), TN_OK);
  else
    assert_int_equal(api->value_set_type(b->graph, id, &b->tensors[k]), TN_OK);
  if (!v->constant) assert_int_equal(api->add_input(b->graph, id), TN_OK);
  return id;
}

static void add_node(bench *b, const char *op, const int32_t *inputs, uint32_t n, int32_t output,
                     const tn_attr *attr) {
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = op,
                        .name = "it",
                        .n_inputs = n,
                        .inputs = inputs,
                        .n_outputs = 1,
                        .outputs = &output,
                        .n_attrs = attr ? 1 : 0,
                        .attrs = &attr,
                        .offset = -1};
  assert_true(tn_graph_functions()->add_node(b->graph, &node) >= 0);
}

/* Loads and runs; whatever fails first. */
static tn_status run(bench *b) {
  tn_status s = tn_model_from_graph_take(b->runtime, b->graph, NULL, b->diag, &b->model);
  b->graph = NULL;
  if (!s) s = tn_session_create(b->model, b->diag, &b->session);
  for (int32_t k = 0; !s && k < tn_model_n_inputs(b->model); k++) {
    int at = tn_model_input_name(b->model, k)[2] - '0';
    s = tn_session_set_input(b->session, k, &b->tensors[at], b->diag);
  }
  return s ? s : tn_session_run(b->session, b->diag);
}

typedef struct wrong {
  const char *op;
  tn_status status;
  const char *text; /* part of the message */
  value in[MAX_INPUTS];
  const char *attr;
  int64_t attr_value;
} wrong;

#define F32(...) \
  { .given = true, .dtype = TN_F32, __VA_ARGS__ }
#define I64(...) \
  { .given = true, .dtype = TN_I64, __VA_ARGS__ }
#define CONST(...) \
  { .given = true, .constant = true, .dtype = TN_I64, __VA_ARGS__ }
#define DIMS(r, ...) .rank = (r), .dims = {__VA_ARGS__}

static const wrong wrongs[] = {
    {"Gather",
     TN_ERR_INVALID,
     "input 1, element 2: index 4 is outside -4 .. 3 of axis 1",
     {F32(DIMS(2, 3, 4)), I64(DIMS(1, 3), .ints = {0, -4, 4})},
     "axis",
     1},
    {"Gather",
     TN_ERR_INVALID,
     "index -6 is outside -5 .. 4 of axis 0",
     {F32(DIMS(1, 5)), CONST(DIMS(0, 0), .ints = {-6})},
     NULL,
     0},
    {"Gather",
     TN_ERR_INVALID,
     "index 0 is outside 0 .. -1 of axis 0",
     {F32(DIMS(1, 0)), I64(DIMS(1, 1))},
     NULL,
     0},
    {"GatherElements",
     TN_ERR_INVALID,
     "element 1: index 9 is outside -2 .. 1 of axis 0",
     {F32(DIMS(2, 2, 2)), I64(DIMS(2, 1, 2), .ints = {1, 9})},
     NULL,
     0},
    {"GatherND",
     TN_ERR_INVALID,
     "index 3 is outside -3 .. 2 of axis 1",
     {F32(DIMS(2, 2, 3)), I64(DIMS(2, 1, 2), .ints = {1, 3})},
     NULL,
     0},
    {"ScatterElements",
     TN_ERR_INVALID,
     "index -3 is outside -2 .. 1 of axis 0",
     {F32(DIMS(1, 2)), I64(DIMS(1, 1), .ints = {-3}), F32(DIMS(1, 1))},
     NULL,
     0},
    {"ScatterND",
     TN_ERR_INVALID,
     "index 2 is outside -2 .. 1 of axis 0",
     {F32(DIMS(1, 2)), I64(DIMS(2, 1, 1), .ints = {2}), F32(DIMS(1, 1))},
     NULL,
     0},
    {"TensorScatter",
     TN_ERR_INVALID,
     "write_indices[0] is 3; the update fits at 0 .. 2",
     {F32(DIMS(3, 1, 4, 2)), F32(DIMS(3, 1, 2, 2)), I64(DIMS(1, 1), .ints = {3})},
     NULL,
     0},
    {"ReverseSequence",
     TN_ERR_INVALID,
     "sequence_lens[1] is 4; there are 3 steps",
     {F32(DIMS(2, 3, 2)), I64(DIMS(1, 2), .ints = {3, 4})},
     NULL,
     0},
    {"CumSum",
     TN_ERR_INVALID,
     "axis 2 is outside -2 .. 1, for rank 2",
     {F32(DIMS(2, 3, 2)), I64(DIMS(0, 0), .ints = {2})},
     NULL,
     0},
    {"TopK",
     TN_ERR_INVALID,
     "K is 3; axis 0 has 2 elements",
     {F32(DIMS(1, 2)), I64(DIMS(1, 1), .ints = {3})},
     NULL,
     0},
    {"Reshape",
     TN_ERR_SHAPE,
     "f32[2,3] cannot become f32[4]",
     {F32(DIMS(2, 2, 3)), CONST(DIMS(1, 1), .ints = {4})},
     NULL,
     0},
    {"Reshape",
     TN_ERR_SHAPE,
     "shape[1] is -1, but 6 elements do not divide into groups of 4",
     {F32(DIMS(2, 2, 3)), I64(DIMS(1, 2), .ints = {4, -1})},
     NULL,
     0},
    {"Reshape",
     TN_ERR_INVALID,
     "more than one -1",
     {F32(DIMS(2, 2, 3)), CONST(DIMS(1, 2), .ints = {-1, -1})},
     NULL,
     0},
    {"Reshape",
     TN_ERR_OVERFLOW,
     "rank 9; at most 8",
     {F32(DIMS(1, 1)), CONST(DIMS(1, 9), .ints = {1, 1, 1, 1, 1, 1, 1, 1})},
     NULL,
     0},
    {"Unsqueeze",
     TN_ERR_OVERFLOW,
     "rank 9; at most 8",
     {F32(DIMS(7, 1, 1, 1, 1, 1, 1, 1)), CONST(DIMS(1, 2), .ints = {0, 1})},
     NULL,
     0},
    {"Squeeze",
     TN_ERR_SHAPE,
     "dim 1 cannot be squeezed: its size is 3",
     {F32(DIMS(2, 1, 3)), CONST(DIMS(1, 1), .ints = {-1})},
     NULL,
     0},
    {"Expand",
     TN_ERR_SHAPE,
     "does not broadcast",
     {F32(DIMS(1, 3)), CONST(DIMS(1, 1), .ints = {2})},
     NULL,
     0},
    {"Tile",
     TN_ERR_SHAPE,
     "repeats has 1 elements; the input has rank 2",
     {F32(DIMS(2, 1, 3)), CONST(DIMS(1, 1), .ints = {2})},
     NULL,
     0},
    {"Concat",
     TN_ERR_SHAPE,
     "differ outside of axis 1",
     {F32(DIMS(2, 1, 3)), F32(DIMS(2, 2, 3))},
     "axis",
     1},
    {"Slice",
     TN_ERR_INVALID,
     "steps[0] is 0",
     {F32(DIMS(1, 3)), CONST(DIMS(1, 1)), CONST(DIMS(1, 1), .ints = {3}), {0}},
     NULL,
     0},
    {"Pad",
     TN_ERR_SHAPE,
     "pads of -2 and -2 do not fit dim 0",
     {F32(DIMS(1, 3)), CONST(DIMS(1, 2), .ints = {-2, -2})},
     NULL,
     0},
    {"DepthToSpace",
     TN_ERR_SHAPE,
     "does not divide into blocks of 2 by 2",
     {F32(DIMS(4, 1, 3, 1, 1))},
     "blocksize",
     2},
    {"Range",
     TN_ERR_INVALID,
     "delta is 0",
     {I64(DIMS(0, 0)), I64(DIMS(0, 0), .ints = {5}), I64(DIMS(0, 0))},
     NULL,
     0},
    {"ConstantOfShape",
     TN_ERR_INVALID,
     "dim 0 of the shape is -1",
     {I64(DIMS(1, 1), .ints = {-1})},
     NULL,
     0},
    {"Resize",
     TN_ERR_INVALID,
     "none of scales and sizes",
     {F32(DIMS(1, 3)), {0}, {0}, {0}},
     NULL,
     0},
};

static void add_wrong(bench *b, const wrong *w) {
  const tn_attr attr = {
      .head = TN_HEAD(tn_attr), .name = w->attr, .kind = TN_ATTR_INT, .i = w->attr_value};
  int32_t ids[MAX_INPUTS + 1];
  uint32_t n = 0;
  for (; n < MAX_INPUTS && w->in[n].given; n++) ids[n] = add_value(b, (int)n, &w->in[n]);
  if (!strcmp(w->op, "Slice")) { /* axes left out, steps 0 */
    const value zero = CONST(DIMS(1, 1));
    ids[3] = -1;
    ids[4] = add_value(b, 3, &zero);
    n = 5;
  }
  int32_t out = tn_graph_functions()->value(b->graph, "out");
  add_node(b, w->op, ids, n, out, w->attr ? &attr : NULL);
  assert_int_equal(tn_graph_functions()->add_output(b->graph, out), TN_OK);
}

static void mistakes_are_named(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof wrongs / sizeof *wrongs; k++) {
    bench b;
    open_bench(&b);
    add_wrong(&b, &wrongs[k]);
    tn_status s = run(&b);
    if (s != wrongs[k].status || !strstr(tn_diag_text(b.diag), wrongs[k].text))
      fail_msg("%s: status %d, text: %s, expected: %s", wrongs[k].op, (int)s, tn_diag_text(b.diag),
               wrongs[k].text);
    close_bench(&b);
  }
}

/* Reshape, Squeeze, Unsqueeze, Flatten between two nodes that work: no step moves anything. */
static void reshaping_takes_no_step(void **state) {
  static const char *const ops[] = {"Reshape", "Unsqueeze", "Squeeze", "Flatten", "Identity"};
  const value x = F32(DIMS(3, 2, 1, 3)), shape = CONST(DIMS(1, 2), .ints = {3, 2}),
              axes = CONST(DIMS(1, 1));
  bench b;
  (void)state;
  open_bench(&b);
  int32_t at = add_value(&b, 0, &x), last = tn_graph_functions()->value(b.graph, "middle");
  int32_t shape_id = add_value(&b, 1, &shape), axes_id = add_value(&b, 2, &axes);
  add_node(&b, "Neg", &at, 1, last, NULL);
  for (int k = 0; k < 5; k++) {
    int32_t inputs[2] = {last, k == 0 ? shape_id : axes_id},
            out = tn_graph_functions()->value(b.graph, NULL);
    add_node(&b, ops[k], inputs, k < 3 ? 2 : 1, out, NULL);
    last = out;
  }
  int32_t out = tn_graph_functions()->value(b.graph, "out");
  add_node(&b, "Exp", &last, 1, out, NULL);
  assert_int_equal(tn_graph_functions()->add_output(b.graph, out), TN_OK);
  assert_int_equal(run(&b), TN_OK);
  const tn_tensor *y = tn_session_output(b.session, 0);
  assert_true(y && y->rank == 2 && y->shape[0] == 3 && y->shape[1] == 2);
  int32_t n_steps = 0;
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  for (; !tn_session_step(b.session, n_steps, &step); n_steps++)
    assert_null(strstr(step.op, "Region"));
  assert_int_equal(n_steps, 2);
  close_bench(&b);
}

/* ---- a plug-in whose only kernel works in blocks of 8 channels: y = x + 1, pad lanes too ---- */

static tn_status blocked_run(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  const float *x = c->inputs[0]->data;
  float *y = c->outputs[0]->data;
  int64_t channels = c->inputs[0]->shape[1], pixels = 1;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int32_t k = 2; k < c->inputs[0]->rank; k++) pixels *= c->inputs[0]->shape[k];
  for (int64_t k = 0; k < (channels + 7) / 8 * pixels * 8; k++)
    y[k] = k / (8 * pixels) * 8 + k % 8 < channels ? x[k] + 1 : 0;
  return TN_OK;
}

static const tn_accept blocked_x = {
    .head = TN_HEAD(tn_accept), .arg = "x", .dtypes = TN_ANY_DTYPE, .layout = TN_BLOCKED(8)};
static const tn_accept blocked_y = {
    .head = TN_HEAD(tn_accept), .arg = "y", .dtypes = TN_ANY_DTYPE, .layout = TN_BLOCKED(8)};
static const tn_accept *const blocked_accepts[] = {&blocked_x, &blocked_y};
static const tn_op blocked_op = {.head = TN_HEAD(tn_op),
                                 .domain = "test",
                                 .name = "Blocked",
                                 .since = 1,
                                 .schema = "(Tensor x) -> Tensor y",
                                 .flags = TN_OP_SAME_AS_INPUT,
                                 .doc = "x + 1"};
static const tn_kernel blocked_kernel = {.head = TN_HEAD(tn_kernel),
                                         .name = "blocked",
                                         .op = "test::Blocked",
                                         .device = "cpu",
                                         .rank = TN_RANK_PLUGIN,
                                         .accepts = blocked_accepts,
                                         .n_accepts = 2,
                                         .run = blocked_run};
static const tn_op *const blocked_ops[] = {&blocked_op};
static const tn_kernel *const blocked_kernels[] = {&blocked_kernel};

static const tn_plugin *blocked_query(uint32_t major, uint32_t minor) {
  static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                   .name = "blocked",
                                   .version = "1",
                                   .license = "",
                                   .build_id = "",
                                   .flavour = TN_FLAVOUR,
                                   .n_ops = 1,
                                   .n_kernels = 1,
                                   .ops = blocked_ops,
                                   .kernels = blocked_kernels};
  (void)major, (void)minor;
  return &plugin;
}

static int32_t add_unary(bench *b, const char *op, const char *domain, int32_t input) {
  int32_t out = tn_graph_functions()->value(b->graph, NULL);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = op,
                        .name = "",
                        .n_inputs = 1,
                        .inputs = &input,
                        .n_outputs = 1,
                        .outputs = &out,
                        .offset = -1};
  assert_true(tn_graph_functions()->add_node(b->graph, &node) >= 0);
  return out;
}

/* Concat of `a` and `b` channels between blocked kernels: x + 1 twice, side by side, + 1. Answers
 * how many steps move. */
static int32_t run_concat(int64_t channels) {
  const tn_attr axis = {.head = TN_HEAD(tn_attr), .name = "axis", .kind = TN_ATTR_INT, .i = 1};
  const value x = F32(DIMS(3, 1, channels, 2));
  int32_t moving = 0;
  bench b;
  open_bench(&b);
  assert_int_equal(tn_runtime_add_plugin(b.runtime, blocked_query, NULL, 0, b.diag), TN_OK);
  assert_int_equal(tn_graph_functions()->set_opset(b.graph, "test", 1), TN_OK);
  int32_t in = add_value(&b, 0, &x), once = add_unary(&b, "Blocked", "test", in);
  int32_t parts[2] = {add_unary(&b, "Blocked", "test", once), add_unary(&b, "Blocked", "test", in)};
  int32_t both = tn_graph_functions()->value(b.graph, NULL);
  add_node(&b, "Concat", parts, 2, both, &axis);
  int32_t out = add_unary(&b, "Blocked", "test", both);
  assert_int_equal(tn_graph_functions()->add_output(b.graph, out), TN_OK);
  assert_int_equal(run(&b), TN_OK);
  const float *y = tn_session_output(b.session, 0)->data;
  for (int64_t k = 0; k < channels * 4; k++)
    assert_float_equal(y[k], (float)(k % (channels * 2)) + (k < channels * 2 ? 3 : 2), 0);
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  for (int32_t k = 0; !tn_session_step(b.session, k, &step); k++)
    moving += strstr(step.op, "Region") != NULL;
  close_bench(&b);
  return moving;
}

/* Whole blocks are written where they belong; others are moved, in the blocked layout. */
static void blocked_channels_are_joined(void **state) {
  (void)state;
  assert_int_equal(run_concat(8), 0);
  assert_int_equal(run_concat(16), 0);
  assert_int_equal(run_concat(12), 1);
  assert_int_equal(run_concat(5), 1);
}

/* Each part is made from all parts before it, put together anew: p1 = p0 + 1,
 * p2 = Concat(p0, p1) + 1, ... Answers how many steps move. `swapped`: the longest puts p1
 * first. */
static int32_t run_growing(bool swapped) {
  enum { CHANNELS = 8, N_PARTS = 4 };
  const tn_attr axis = {.head = TN_HEAD(tn_attr), .name = "axis", .kind = TN_ATTR_INT, .i = 1};
  const value x = F32(DIMS(3, 1, CHANNELS, 2));
  int32_t parts[N_PARTS], moving = 0;
  bench b;
  open_bench(&b);
  assert_int_equal(tn_runtime_add_plugin(b.runtime, blocked_query, NULL, 0, b.diag), TN_OK);
  assert_int_equal(tn_graph_functions()->set_opset(b.graph, "test", 1), TN_OK);
  int32_t all = parts[0] = add_unary(&b, "Blocked", "test", add_value(&b, 0, &x));
  for (int n = 1; n < N_PARTS; n++) {
    parts[n] = add_unary(&b, "Blocked", "test", all);
    if (swapped && n == N_PARTS - 1) {
      const int32_t first = parts[0];
      parts[0] = parts[1];
      parts[1] = first;
    }
    all = tn_graph_functions()->value(b.graph, NULL);
    add_node(&b, "Concat", parts, (uint32_t)n + 1, all, &axis);
  }
  const int32_t out = add_unary(&b, "Blocked", "test", all);
  assert_int_equal(tn_graph_functions()->add_output(b.graph, out), TN_OK);
  assert_int_equal(run(&b), TN_OK);
  /* What the parts are made of: p0 of x, p1 of p0, p2 of p0 and p1, p3 of p0, p1 and p2. */
  static const int steps[] = {1, 2, 2, 3, 2, 3, 3, 4};
  const float *y = tn_session_output(b.session, 0)->data;
  for (int64_t k = 0; k < 8 * CHANNELS * 2; k++) {
    int64_t part = k / (CHANNELS * 2);
    if (swapped && part < 2) part = 1 - part;
    assert_float_equal(y[k], (float)(k % (CHANNELS * 2) + steps[part] + 1), 0);
  }
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  for (int32_t k = 0; !tn_session_step(b.session, k, &step); k++)
    moving += strstr(step.op, "Region") != NULL;
  close_bench(&b);
  return moving;
}

/* A concatenation that begins with another is made in its place. */
static void growing_concatenations_move_nothing(void **state) {
  (void)state;
  assert_int_equal(run_growing(false), 0);
  assert_true(run_growing(true) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(mistakes_are_named),
                                     cmocka_unit_test(reshaping_takes_no_step),
                                     cmocka_unit_test(blocked_channels_are_joined),
                                     cmocka_unit_test(growing_concatenations_move_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
