/* tn_op_run and tn_model_from_op: arguments by name, attributes of all types from text, lists, what
 * is left out, and what is said when arguments do not fit. */
#include <stdbool.h>
#include <stdlib.h>

#include "exec_kit.h"

/* ---- test::Echo: its attributes as numbers ---- */

typedef struct echo_attrs {
  int64_t i;
  double f;
  int64_t b;
  tn_str s;
  tn_ints is;
  tn_floats fs;
  tn_strs ss;
  int64_t t;
  int64_t has_o, o;
  int64_t has_v;
  const tn_tensor *v;
  int64_t has_vs;
  tn_tensors vs;
} echo_attrs;

enum { N_ECHO = 16 };

static tn_status infer_echo(const tn_call *c) {
  c->outputs[0]->rank = 1;
  c->outputs[0]->shape[0] = N_ECHO;
  return TN_OK;
}

static tn_status run_echo(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const echo_attrs *a = c->attrs;
  float *y = c->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  *y++ = (float)a->i;
  *y++ = (float)a->f;
  *y++ = (float)a->b;
  *y++ = (float)a->s.size;
  *y++ = a->s.size ? (float)a->s.data[0] : 0;
  *y++ = (float)a->is.size;
  *y++ = a->is.size ? (float)a->is.data[a->is.size - 1] : 0;
  *y++ = (float)a->fs.size;
  *y++ = a->fs.size ? (float)a->fs.data[a->fs.size - 1] : 0;
  *y++ = (float)a->ss.size;
  *y++ = a->ss.size ? (float)a->ss.data[a->ss.size - 1].size : 0;
  *y++ = (float)a->t;
  *y++ = (float)a->has_o;
  *y++ = (float)a->o;
  *y++ = a->v ? *(const float *)a->v->data : 0;
  *y++ = (float)a->vs.size;
  return TN_OK;
}

static const tn_type_rule echo_types = {TN_HEAD(tn_type_rule), "T", "y", TN_MASK(TN_F32)};
static const tn_type_rule *const echo_rules[] = {&echo_types};
static const tn_op echo = {
    .head = TN_HEAD(tn_op),
    .domain = "test",
    .name = "Echo",
    .since = 3,
    .schema =
        "(*, int i=1, float f=2.5, bool b=False, str s='', int[2] is=0, float[] fs=[], "
        "str[] ss=[], ScalarType t=f64, int? o=None, Tensor? v=None, Tensor[]? vs=None) -> "
        "Tensor y",
    .types = echo_rules,
    .n_types = 1,
    .infer = infer_echo,
    .flags = TN_OP_IMPURE};
PART_KERNEL(echo_c, "Echo", NULL, run_echo);

/* ---- test::Ends: floats, then perhaps one integer ---- */

static tn_status infer_ends(const tn_call *c) {
  c->outputs[0]->dtype = TN_F32;
  c->outputs[0]->rank = 0;
  return TN_OK;
}

/* 10 * floats + integers */
static tn_status run_ends(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  float sum = 0;
  for (uint32_t k = 0; k < c->n_inputs; k++)
    if (c->inputs[k]) sum += c->inputs[k]->dtype == TN_F32 ? 10 : 1;
  *(float *)c->outputs[0]->data = sum;
  return TN_OK;
}

static const tn_type_rule floats = {TN_HEAD(tn_type_rule), "F", "l", TN_MASK(TN_F32)};
static const tn_type_rule integers = {TN_HEAD(tn_type_rule), "I", "b", TN_MASK(TN_I32)};
static const tn_type_rule *const ends_rules[] = {&floats, &integers};
PART_OP_WITH(ends, "Ends", "(Tensor[] l, Tensor? b=None) -> Tensor y", .types = ends_rules,
             .n_types = 2, .infer = infer_ends);
static const tn_accept ends_l = {.head = TN_HEAD(tn_accept), .arg = "l", .dtypes = TN_MASK(TN_F32)};
static const tn_accept ends_b = {.head = TN_HEAD(tn_accept), .arg = "b", .dtypes = TN_MASK(TN_I32)};
static const tn_accept ends_y = {.head = TN_HEAD(tn_accept), .arg = "y", .dtypes = TN_MASK(TN_F32)};
static const tn_accept *const ends_rows[] = {&ends_l, &ends_b, &ends_y};
PART_KERNEL_WITH(ends_c, "Ends", .accepts = ends_rows, .n_accepts = 3, .run = run_ends);
static const tn_op *const ops[] = {&echo, &ends};
static const tn_kernel *const kernels[] = {&echo_c, &ends_c};
PART_PLUGIN(plugin, ops, kernels);

/* ---- the bench ---- */

static int open_bench(void **state) {
  static bench b;
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  bench_open_with(&b, &options, plugin_query);
  *state = &b;
  return 0;
}

static int close_bench(void **state) {
  bench_close(*state);
  return 0;
}

#define N(list) (uint32_t)(sizeof(list) / sizeof *(list))

/* One output, f32. */
static tn_tensor *run(bench *b, const char *op, const tn_op_arg *args, uint32_t n) {
  tn_tensor *y = NULL;
  tn_diag_clear(b->diag);
  if (tn_op_run(b->runtime, op, 0, args, n, &y, 1, b->diag)) fail_msg("%s", tn_diag_text(b->diag));
  return y;
}

static void expect(tn_tensor *y, const float *want, int64_t n) {
  assert_int_equal(tn_tensor_elements(y), n);
  for (int64_t k = 0; k < n; k++)
    if (((float *)y->data)[k] != want[k])
      fail_msg("element %d is %g, not %g", (int)k, (double)((float *)y->data)[k], (double)want[k]);
  tn_value_destroy(y);
}

/* It fails with this status, a message has `text`, and nothing is answered. */
static void refuse(bench *b, tn_status status, const char *text, const char *op, int32_t version,
                   const tn_op_arg *args, uint32_t n) {
  tn_tensor any, *y = &any;
  bool found = false;
  tn_diag_clear(b->diag);
  tn_status got = tn_op_run(b->runtime, op, version, args, n, &y, 1, b->diag);
  for (int64_t k = 0; k < tn_diag_count(b->diag); k++)
    found = found || strstr(tn_diag_message(b->diag, k, NULL), text);
  if (got != status || !found || y)
    fail_msg("%s: %s, not '%s': %s", op, tn_status_text(got), text, tn_diag_text(b->diag));
}

/* ---- tests ---- */

static void inputs_by_name(void **state) {
  bench *b = *state;
  float x[] = {-3, 0, 3}, top[] = {2}, z[] = {7};
  int64_t none[1] = {0};
  tn_tensor tx = vector(TN_F32, 3, x), tz = vector(TN_F32, 1, z),
            ttop = tn_tensor_make(TN_F32, 0, none, top);
  const tn_op_arg clip[] = {{.name = "max", .tensor = &ttop}, {.name = "input", .tensor = &tx}};
  expect(run(b, "Clip", clip, N(clip)), (float[]){-3, 0, 2}, 3); /* min is left out */
  const tn_op_arg concat[] = {{.name = "inputs", .tensor = &tz},
                              {.name = "axis", .text = "0"},
                              {.name = "inputs", .tensor = &tx}};
  expect(run(b, "ai.onnx::Concat", concat, N(concat)), (float[]){7, -3, 0, 3}, 4);
  const tn_op_arg left_out[] = {{.name = "input", .tensor = &tx}, {.name = "min"}};
  expect(run(b, "Clip", left_out, N(left_out)), x, 3);
}

static void attributes_of_all_types(void **state) {
  bench *b = *state;
  float v[] = {9};
  tn_tensor tv = vector(TN_F32, 1, v);
  expect(run(b, "test::Echo", NULL, 0),
         (float[]){1, 2.5f, 0, 0, 0, 2, 0, 0, 0, 0, 0, TN_F64, 0, 0, 0, 0}, N_ECHO);
  const tn_op_arg args[] = {
      {.name = "i", .text = "-7"},         {.name = "f", .text = "1e2"},
      {.name = "b", .text = "True"},       {.name = "s", .text = "abc"},
      {.name = "is", .text = "3, 4"},      {.name = "fs", .text = "[0.5, 1.5, 2]"},
      {.name = "ss", .text = "one, four"}, {.name = "t", .text = "i64"},
      {.name = "o", .text = "6"},          {.name = "v", .tensor = &tv},
      {.name = "vs", .tensor = &tv},       {.name = "vs", .tensor = &tv}};
  expect(run(b, "test::Echo", args, N(args)),
         (float[]){-7, 100, 1, 3, 'a', 2, 4, 3, 2, 2, 4, TN_I64, 1, 6, 9, 2}, N_ECHO);
  const tn_op_arg quoted[] = {
      {.name = "s", .text = "\"a, b\""}, {.name = "ss", .text = "[\"x\", 'y, z']"},
      {.name = "b", .text = "1"},        {.name = "o", .text = "None"},
      {.name = "is", .text = "5"},       {.name = "fs", .text = "[]"}};
  expect(run(b, "test::Echo", quoted, N(quoted)),
         (float[]){1, 2.5f, 1, 4, 'a', 2, 5, 0, 0, 2, 4, TN_F64, 0, 0, 0, 0}, N_ECHO);
}

/* `to` is a number of TensorProto.DataType in files. */
static void element_types_by_name(void **state) {
  bench *b = *state;
  float x[] = {1.5f, -2};
  tn_tensor tx = vector(TN_F32, 2, x), *y = NULL;
  const tn_op_arg args[] = {{.name = "input", .tensor = &tx}, {.name = "to", .text = "i32"}};
  assert_int_equal(tn_op_run(b->runtime, "Cast", 0, args, 2, &y, 1, b->diag), TN_OK);
  assert_int_equal(y->dtype, TN_I32);
  assert_int_equal(((int32_t *)y->data)[1], -2);
  tn_value_destroy(y);
}

static void several_outputs(void **state) {
  bench *b = *state;
  float x[] = {1, 2, 3, 4};
  tn_tensor tx = vector(TN_F32, 4, x), *y[2];
  const tn_op_arg args[] = {{.name = "input", .tensor = &tx}, {.name = "num_outputs", .text = "2"}};
  assert_int_equal(tn_op_run(b->runtime, "Split", 0, args, 2, y, 2, b->diag), TN_OK);
  expect(y[0], x, 2);
  expect(y[1], x + 2, 2);
}

/* Constants are no inputs of the model; open dims get their size from what is fed. */
static void model(void **state) {
  bench *b = *state;
  float x[] = {1, 2, 3}, w[] = {10};
  tn_tensor open = vector(TN_F32, TN_DIM_UNKNOWN, NULL), tw = vector(TN_F32, 1, w),
            tx = vector(TN_F32, 3, x);
  const tn_op_arg args[] = {{.name = "B", .tensor = &tw, .flags = TN_ARG_CONST},
                            {.name = "A", .tensor = &open}};
  tn_model *m = NULL;
  tn_session *s = NULL;
  assert_int_equal(tn_model_from_op(b->runtime, "Mul", 13, args, 2, 0, NULL, b->diag, &m), TN_OK);
  w[0] = 0; /* it was copied */
  assert_int_equal(tn_model_n_inputs(m), 1);
  assert_string_equal(tn_model_input_name(m, 0), "A");
  assert_string_equal(tn_model_output_name(m, 0), "C");
  assert_int_equal(tn_session_create(m, b->diag, &s), TN_OK);
  assert_int_equal(tn_session_set_input(s, 0, &tx, b->diag), TN_OK);
  assert_int_equal(tn_session_run(s, b->diag), TN_OK);
  assert_true(((float *)tn_session_output(s, 0)->data)[2] == 30);
  tn_session_destroy(s);
  tn_model_destroy(m);
}

static void what_does_not_fit(void **state) {
  bench *b = *state;
  float x[] = {1, 2, 3};
  tn_tensor tx = vector(TN_F32, 3, x), ints = tn_tensor_make(TN_I32, 1, (int64_t[]){3}, x);
  const tn_op_arg in = {.name = "input", .tensor = &tx};
  const char *schema = "Softmax, version 13: (Tensor input, *, int axis=-1) -> Tensor output";
#define REFUSE(code, text, op, version, ...)                           \
  refuse(b, code, text, op, version, (const tn_op_arg[]){__VA_ARGS__}, \
         N(((const tn_op_arg[]){__VA_ARGS__})))
  REFUSE(TN_ERR_UNSUPPORTED, "there is no operator 'Sofmax'", "Sofmax", 0, in);
  REFUSE(TN_ERR_UNSUPPORTED, "there is no operator 'com.acme::Softmax'", "com.acme::Softmax", 0,
         in);
  REFUSE(TN_ERR_UNSUPPORTED, "not there in version 2", "test::Echo", 2, in);
  REFUSE(TN_ERR_INVALID, "argument 'x' is not one of the schema", "Softmax", 0, in,
         {.name = "x", .text = "1"});
  REFUSE(TN_ERR_INVALID, schema, "Softmax", 0, in, {.name = "x", .text = "1"});
  REFUSE(TN_ERR_INVALID, "argument '' is not one of the schema", "Softmax", 0, in, {.text = "1"});
  REFUSE(TN_ERR_INVALID, "'input' is a tensor; it cannot be", "Softmax", 0,
         {.name = "input", .text = "1"});
  REFUSE(TN_ERR_INVALID, "'axis' is no tensor", "Softmax", 0, in, {.name = "axis", .tensor = &tx});
  REFUSE(TN_ERR_INVALID, "'axis' has no value", "Softmax", 0, in, {.name = "axis"});
  REFUSE(TN_ERR_INVALID, "'input' is given more than once", "Softmax", 0, in, in);
  REFUSE(TN_ERR_INVALID, "'axis' cannot be '1.5'", "Softmax", 0, in,
         {.name = "axis", .text = "1.5"});
  REFUSE(TN_ERR_INVALID, "'axis' cannot be '1 2'", "Softmax", 0, in,
         {.name = "axis", .text = "1 2"});
  REFUSE(TN_ERR_INVALID, "'axis' cannot be 'None'", "Softmax", 0, in,
         {.name = "axis", .text = "None"});
  REFUSE(TN_ERR_INVALID, "'axis' cannot be ''", "Softmax", 0, in, {.name = "axis", .text = ""});
  REFUSE(TN_ERR_INVALID, "'is' cannot be '1, 2, 3'", "test::Echo", 0,
         {.name = "is", .text = "1, 2, 3"});
  REFUSE(TN_ERR_INVALID, "'b' cannot be 'maybe'", "test::Echo", 0, {.name = "b", .text = "maybe"});
  REFUSE(TN_ERR_INVALID, "'input' is required but missing", "Softmax", 0,
         {.name = "axis", .text = "0"});
  REFUSE(TN_ERR_INVALID, "attribute 'axis' is 3 for rank 1", "Softmax", 0, in,
         {.name = "axis", .text = "3"});
  REFUSE(TN_ERR_UNSUPPORTED, "input 'input' of type i32", "Softmax", 0,
         {.name = "input", .tensor = &ints});
  refuse(b, TN_ERR_INVALID, "no runtime, operator or arguments", "Softmax", 0, NULL, 1);
  refuse(b, TN_ERR_INVALID, "version -1", "Softmax", -1, &in, 1);
  tn_tensor *y[2];
  assert_int_equal(tn_op_run(b->runtime, "Softmax", 0, &in, 1, y, 2, NULL), TN_ERR_INVALID);
  assert_int_equal(tn_op_run(b->runtime, "Softmax", 0, &in, 1, y, 0, NULL), TN_ERR_INVALID);
  assert_int_equal(tn_op_run(NULL, "Softmax", 0, &in, 1, y, 1, NULL), TN_ERR_INVALID);
  tn_model *m = NULL;
  assert_int_equal(tn_model_from_op(b->runtime, "Split", 0, &in, 1, UINT32_MAX, NULL, NULL, &m),
                   TN_ERR_INVALID);
  assert_null(m);
}

/* ---- every allocation failing once ---- */

typedef struct counting {
  int64_t n, fail_at, n_left;
} counting;

static void *count_alloc(void *self, uint64_t bytes) {
  counting *c = self;
  void *memory;
  if (++c->n == c->fail_at || posix_memalign(&memory, 64, bytes ? bytes : 1)) return NULL;
  c->n_left++;
  return memory;
}

static void count_free(void *self, void *memory, uint64_t bytes) {
  (void)bytes;
  ((counting *)self)->n_left--;
  free(memory);
}

/* The n-th allocation fails, for every n. The first sweep settles the operator, which stays. */
static void sweep(tn_runtime *runtime, counting *c, bool is_settled) {
  float x[] = {1, 2, 3};
  tn_tensor tx = vector(TN_F32, 3, x);
  const tn_op_arg args[] = {{.name = "inputs", .tensor = &tx},
                            {.name = "inputs", .tensor = &tx, .flags = TN_ARG_CONST},
                            {.name = "axis", .text = "0"}};
  const int64_t before = c->n_left;
  tn_status status = TN_ERR_MEMORY;
  for (int64_t k = 1; status; k++) {
    tn_tensor *y = NULL;
    c->fail_at = c->n + k;
    status = tn_op_run(runtime, "Concat", 0, args, 3, &y, 1, NULL);
    assert_true(status == TN_OK || status == TN_ERR_MEMORY);
    if (!status) expect(y, (float[]){1, 2, 3, 1, 2, 3}, 6);
    if (is_settled) assert_int_equal(c->n_left, before);
  }
  c->fail_at = 0;
}

static void failing_allocations(void **state) {
  (void)state;
  counting c = {0, 0, 0};
  tn_allocator a = {TN_HEAD(tn_allocator), &c, count_alloc, count_free};
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  options.n_threads = 1;
  options.allocator = &a;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  assert_int_equal(tn_runtime_create(&options, NULL, &runtime), TN_OK);
  sweep(runtime, &c, false);
  sweep(runtime, &c, true);
  tn_runtime_destroy(runtime);
  assert_int_equal(c.n_left, 0);
}

/* What is left out behind a list does not become an item of it, nor an item what is left out. */
static void left_out_behind_a_list(void **state) {
  bench *b = *state;
  float x[] = {1, 2};
  int32_t number = 3;
  const tn_tensor f = vector(TN_F32, 2, x), i = tn_tensor_make(TN_I32, 0, NULL, &number);
  const tn_op_arg args[] = {
      {.name = "l", .tensor = &f}, {.name = "l", .tensor = &f}, {.name = "b", .tensor = &i}};
  expect(run(b, "test::Ends", args, 3), (float[]){21}, 1);
  expect(run(b, "test::Ends", args, 2), (float[]){20}, 1);
  expect(run(b, "test::Ends", args, 1), (float[]){10}, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inputs_by_name),          cmocka_unit_test(left_out_behind_a_list),
      cmocka_unit_test(attributes_of_all_types), cmocka_unit_test(element_types_by_name),
      cmocka_unit_test(several_outputs),         cmocka_unit_test(model),
      cmocka_unit_test(what_does_not_fit),       cmocka_unit_test(failing_allocations)};
  return cmocka_run_group_tests(tests, open_bench, close_bench);
}
