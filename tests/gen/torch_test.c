/* YAML in the form of ExecuTorch, from the file to a node that runs: which kernel is taken for
 * which types, ranks and dim orders, and what is said of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tenon/tenon.h"

typedef struct fixture {
  tn_runtime *runtime;
  tn_model *model;
  tn_session *session;
  tn_diag *diag;
  tn_step_info step;
} fixture;

static void open_plugin(fixture *f, const char *name, uint64_t isa_mask) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  char path[1000];
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  options.isa_mask = isa_mask;
  snprintf(path, sizeof path, "%s/%s.so", TEST_PLUGINS, name);
  *f = (fixture){.diag = tn_diag_create()};
  assert_int_equal(tn_runtime_create(&options, f->diag, &f->runtime), TN_OK);
  if (tn_runtime_load_plugin(f->runtime, path, NULL, 0, f->diag))
    fail_msg("%s", tn_diag_text(f->diag));
}

static void close_model(fixture *f) {
  tn_session_destroy(f->session);
  tn_model_destroy(f->model);
  f->session = NULL;
  f->model = NULL;
}

static void close_plugin(fixture *f) {
  close_model(f);
  tn_runtime_destroy(f->runtime);
  tn_diag_destroy(f->diag);
}

static tn_status build(fixture *f, const char *domain, const char *op, const tn_tensor *in,
                       uint32_t n, const tn_attr *const *attrs, uint32_t n_attrs) {
  const tn_graph_api *api = tn_graph_functions();
  tn_graph *graph = NULL;
  int32_t ids[2];
  char name[8];
  assert_int_equal(tn_graph_create(f->runtime, &graph), TN_OK);
  assert_int_equal(api->set_opset(graph, domain, 1), TN_OK);
  for (uint32_t k = 0; k < n; k++) {
    snprintf(name, sizeof name, "x%u", k);
    ids[k] = api->value(graph, name);
    assert_int_equal(api->value_set_type(graph, ids[k], &in[k]), TN_OK);
    assert_int_equal(api->add_input(graph, ids[k]), TN_OK);
  }
  const int32_t out = api->value(graph, "y");
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = op,
                        .name = "node",
                        .n_inputs = n,
                        .n_outputs = 1,
                        .n_attrs = n_attrs,
                        .inputs = ids,
                        .outputs = &out,
                        .attrs = attrs,
                        .offset = -1};
  assert_true(api->add_node(graph, &node) >= 0);
  assert_int_equal(api->add_output(graph, out), TN_OK);
  return tn_model_from_graph_take(f->runtime, graph, NULL, f->diag, &f->model);
}

/* Runs one node, and leaves its step in f->step. */
static void run(fixture *f, const char *domain, const char *op, const tn_tensor *in, uint32_t n,
                const tn_attr *const *attrs, uint32_t n_attrs) {
  close_model(f);
  tn_diag_clear(f->diag);
  tn_status status = build(f, domain, op, in, n, attrs, n_attrs);
  if (!status) status = tn_session_create(f->model, f->diag, &f->session);
  for (uint32_t k = 0; k < n && !status; k++)
    status = tn_session_set_input(f->session, (int32_t)k, &in[k], f->diag);
  if (!status) status = tn_session_run(f->session, f->diag);
  if (status) fail_msg("%s::%s: %s", domain, op, tn_diag_text(f->diag));
  for (int32_t k = 0;; k++) { /* conversions may stand before it */
    f->step = (tn_step_info){.head = TN_HEAD(tn_step_info)};
    assert_int_equal(tn_session_step(f->session, k, &f->step), TN_OK);
    if (strcasestr(f->step.op, op)) return;
  }
}

/* Why the kernel was not taken. */
static const char *refusal(const fixture *f, const char *kernel) {
  for (uint32_t k = 0; k < f->step.n_refusals; k++)
    if (!strcmp(f->step.refused_kernels[k], kernel)) return f->step.refusals[k];
  fail_msg("nothing is said of %s", kernel);
  return NULL;
}
#define assert_refused(f, kernel, why)                                  \
  do {                                                                  \
    if (!strstr(refusal(f, kernel), why))                               \
      fail_msg("%s: '%s' lacks '%s'", kernel, refusal(f, kernel), why); \
  } while (0)

static tn_tensor tensor(uint32_t dtype, int32_t rank, void *data) {
  const int64_t shape[4] = {1, 3, 2, 2};
  return tn_tensor_make(dtype, rank, shape + (4 - rank), data);
}

static const void *output(const fixture *f) { return tn_session_output(f->session, 0)->data; }

/* ---- the documents' examples ---- */

static void test_documents(void **state) {
  (void)state;
  fixture f;
  float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40};
  const tn_tensor in[2] = {tensor(TN_F32, 2, x), tensor(TN_F32, 2, y)};
  const tn_attr two = {.head = TN_HEAD(tn_attr), .name = "alpha", .kind = TN_ATTR_FLOAT, .f = 2};
  const tn_attr *const attrs[] = {&two};
  open_plugin(&f, "torch_docs", 0);

  run(&f, "aten", "add", in, 2, attrs, 1); /* the library in front */
  assert_string_equal(f.step.kernel, "torch_executor_opt_add_out");
  assert_true(((const float *)output(&f))[3] == 184);
  run(&f, "my_ops", "mul3", in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "custom_mul3_out_impl");
  assert_true(((const float *)output(&f))[3] == 12);
  run(&f, "aten", "allclose", in, 2, NULL, 0);
  assert_int_equal(*(const uint8_t *)output(&f), 0);
  assert_non_null(
      tn_runtime_find_op(f.runtime, "quantized_decomposed", "choose_qparams.Tensor", 0));
  assert_non_null(tn_runtime_find_op(f.runtime, "torchvision", "nms", 0));
  assert_non_null(tn_runtime_find_op(f.runtime, "aten", "linear.scratch_example", 0));
  close_plugin(&f);
}

static void test_documents_special(void **state) {
  (void)state;
  fixture f;
  double x[12] = {1, 2}, y[12] = {5, 6};
  const tn_tensor in[2] = {tensor(TN_F64, 4, x), tensor(TN_F64, 4, y)};
  const tn_tensor flat[2] = {tensor(TN_F64, 3, x), tensor(TN_F64, 3, y)};
  open_plugin(&f, "torch_doc_special", 0);
  run(&f, "aten", "add", in, 2, NULL, 0);
  assert_string_equal(f.step.kernel, "torch_executor_add_out_f64_0123");
  assert_true(((const double *)output(&f))[1] == 1008);

  /* A rank that it does not take: Tenon's own lowering of the operator does it. */
  run(&f, "aten", "add", flat, 2, NULL, 0);
  assert_true(((const double *)output(&f))[1] == 8);
  close_plugin(&f);
}

/* ---- rows ---- */

static void test_rows(void **state) {
  (void)state;
  fixture f;
  float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  uint16_t half[12] = {0x3c00}, brain[12] = {0x3f80};
  double d[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  int32_t i[12] = {1, -2};
  uint8_t u[12] = {1, 2, 3};
  open_plugin(&f, "torch_special", 0);

  tn_tensor in = tensor(TN_F32, 4, x); /* the library in front has this row */
  run(&f, "my_ops", "twice", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice_float_f32_0123");
  assert_true(((const float *)output(&f))[11] == 24);
  assert_refused(&f, "my_twice_half_f16_0123", "f32");
  in = tensor(TN_F16, 4, half);
  run(&f, "my_ops", "twice", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice_half_f16_0123");
  assert_int_equal(*(const uint16_t *)output(&f), 0x4000);
  in = tensor(TN_BF16, 4, brain);
  run(&f, "my_ops", "twice", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice_half_bf16_0123");
  assert_int_equal(*(const uint16_t *)output(&f), 0x4000);

  in = tensor(TN_F64, 4, d); /* plain tensors, as ever: the row for channels last is not theirs */
  run(&f, "my_ops", "twice", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice");
  for (int k = 0; k < 12; k++) assert_true(((const double *)output(&f))[k] == 2 * d[k]);
  assert_refused(&f, "my_twice_double_nhwc_f64_0231", "conversions");

  in = tensor(TN_I32, 2, i); /* an alias of two orders is two rows */
  run(&f, "my_ops", "twice", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice_int_01");
  in = tensor(TN_I32, 3, i);
  run(&f, "my_ops", "twice", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice_int_012");
  assert_int_equal(((const int32_t *)output(&f))[1], -4);

  in = tensor(TN_U8, 3, u); /* only the library behind has this row: it goes before the fallback */
  run(&f, "my_ops", "twice", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "other_twice_byte_u8");
  assert_int_equal(((const uint8_t *)output(&f))[2], 6);

  in = tensor(TN_F32, 3, x); /* no row has this rank: the fallback, and why not the others */
  run(&f, "my_ops", "twice", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice");
  assert_true(((const float *)output(&f))[11] == 24);
  assert_refused(&f, "my_twice_float_f32_0123", "rank 3");
  assert_refused(&f, "other_twice_byte_u8", "f32");
  close_plugin(&f);
}

/* Without a kernel for plain tensors, the host converts to the dim order that there is. */
static void test_dim_order(void **state) {
  (void)state;
  fixture f;
  double d[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  float x[12] = {1, 2, 3};
  open_plugin(&f, "torch_special", 0);
  tn_tensor in = tensor(TN_F64, 4, d);
  run(&f, "my_ops", "twice_nhwc", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice_nhwc");
  assert_true(f.step.inputs[0]->layout == TN_CHANNELS_LAST);
  for (int k = 0; k < 12; k++) assert_true(((const double *)output(&f))[k] == 2 * d[k]);
  in = tensor(TN_F32, 4, x);
  run(&f, "my_ops", "twice_nhwc", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice_nchw");
  assert_true(f.step.inputs[0]->layout == TN_PLAIN);
  assert_refused(&f, "my_twice_nhwc", "f32");
  close_plugin(&f);
}

/* The row with an instruction set goes before the same one without. */
static void test_isa(void **state) {
  (void)state;
  int8_t c[4] = {1, 2, 3, 4};
  const tn_tensor in = tensor(TN_I8, 2, c);
  fixture f;
  open_plugin(&f, "torch_special", TN_ISA_SSE41);
  run(&f, "my_ops", "twice", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice_char");
#ifdef __x86_64__
  assert_refused(&f, "my_twice_char_avx2", "avx2");
  close_plugin(&f);
  if (!__builtin_cpu_supports("avx2")) return;
  open_plugin(&f, "torch_special", 0);
  run(&f, "my_ops", "twice", &in, 1, NULL, 0);
  assert_string_equal(f.step.kernel, "my_twice_char_avx2");
#endif
  close_plugin(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_documents), cmocka_unit_test(test_documents_special),
      cmocka_unit_test(test_rows),      cmocka_unit_test(test_dim_order),
      cmocka_unit_test(test_isa),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
