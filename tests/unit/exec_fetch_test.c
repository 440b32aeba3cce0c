/* Weights that stand in a file: in memory while somebody reads them, and not beside what kernels
 * have packed of them. Every alignment that a file may have; plug-ins, rewrites, users and writers
 * that read elements; several shapes. */
#include "exec_fetch_kit.h"

/* All four alignments of floats occur, and each way of having constants gives the same bits. */
static void packed_weights_leave_memory(void **state) {
  (void)state;
  char path[512];
  results expected, got;
  int n_late = 0, n_in_place = 0;
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, NULL, NULL);
  for (int pad = 0; pad < 4; pad++) {
    static const char *const docs[] = {"", "a", "ab", "abc"};
    tn_model *m = NULL;
    write_file(path, sizeof path, rt, docs[pad], false, diag);
    assert_int_equal(tn_model_load(rt, path, NULL, diag, &m), TN_OK);
    const tn_const *w = const_of(m, "w"), *table = const_of(m, "table"),
                   *filters = const_of(m, "filters");
    assert_non_null(w->source);
    assert_true(const_of(m, "norm")->owned); /* small ones keep no page of the file */
    assert_int_equal(w->n_readers + table->n_readers + filters->n_readers, 0);
    tn_session *s = run(m, 8, diag, &got);
    if (!pad) expected = got;
    assert_memory_equal(got.y, expected.y, 8 * ROWS * sizeof(float));
    assert_memory_equal(got.z, expected.z, sizeof got.z);
    assert_int_equal(w->n_readers, 0);       /* packed for products of 8 rows */
    assert_int_equal(filters->n_readers, 0); /* folded into others */
    assert_int_equal(table->n_readers, 1);   /* read by every run */
    n_late += w->is_lazy;
    n_in_place += !w->is_lazy;
    if (w->is_lazy) assert_false(is_readable(w->data));
    assert_true(is_readable(table->data));
    tn_session_destroy(s);
    tn_model_destroy(m);
    remove(path);
  }
  assert_true(n_late > 0);
  assert_true(n_in_place > 0);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

/* Other shapes plan anew, when the weights have left memory; what was packed is found. */
static void other_shapes_find_them_again(void **state) {
  (void)state;
  char path[512];
  results few, many;
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, NULL, NULL);
  tn_model *m = NULL;
  write_file(path, sizeof path, rt, "a", false, diag);
  assert_int_equal(tn_model_load(rt, path, NULL, diag, &m), TN_OK);
  for (int64_t n = 16; n >= 1; n -= 5) {
    tn_session_destroy(run(m, n, diag, n == 16 ? &many : &few));
    for (int64_t k = 0; k < n * ROWS; k++)
      assert_float_equal(n == 16 ? many.y[k] : few.y[k], many.y[k], 1e-3f);
  }
  tn_model_destroy(m);
  remove(path);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

static void input(tn_graph *g, const char *name, int64_t rows, int64_t columns) {
  const tn_graph_api *api = tn_graph_functions();
  const int64_t shape[] = {1, 1, rows, columns};
  const tn_tensor type = tn_tensor_make(TN_F32, 4, shape, NULL);
  assert_int_equal(api->value_set_type(g, api->value(g, name), &type), TN_OK);
  assert_int_equal(api->add_input(g, api->value(g, name)), TN_OK);
}

/* The rewrite looks at the elements of the mask. */
static void masks_of_attention_are_read(void **state) {
  (void)state;
  enum { TOKENS = 160, SIZE = 8 };
  char path[512];
  const tn_graph_api *api = tn_graph_functions();
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, NULL, NULL);
  tn_graph *g = NULL;
  tn_model *m = NULL;
  assert_int_equal(tn_graph_create(rt, &g), TN_OK);
  assert_int_equal(api->set_opset(g, "", 17), TN_OK);
  input(g, "q", TOKENS, SIZE);
  input(g, "k", SIZE, TOKENS);
  input(g, "v", TOKENS, SIZE);
  constant(g, "mask", 2, (int64_t[]){TOKENS, TOKENS});
  node(g, "", "MatMul", (const char *[]){"q", "k"}, 2, "scores");
  node(g, "", "Add", (const char *[]){"scores", "mask"}, 2, "masked");
  node(g, "", "Softmax", (const char *[]){"masked"}, 1, "p");
  node(g, "", "MatMul", (const char *[]){"p", "v"}, 2, "y");
  add_output(g, "y");
  write_model(path, sizeof path, rt, g, diag);
  assert_int_equal(tn_model_load(rt, path, NULL, diag, &m), TN_OK);
  assert_non_null(const_of(m, "mask")->source);
  tn_model_destroy(m);
  remove(path);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

/* y = (x @ b) * scales + bias, z = (x @ c + more) * scales: rewrites look at bias, more and scales
 * of more columns than are small. */
static void biases_of_quantised_products_are_read(void **state) {
  (void)state;
  enum { DEPTH = 4, COLUMNS = 20000 };
  static uint8_t ones[DEPTH * COLUMNS];
  static int32_t threes[COLUMNS];
  const int64_t rows[] = {2, DEPTH}, weights[] = {DEPTH, COLUMNS}, columns = COLUMNS;
  char path[512];
  const tn_graph_api *api = tn_graph_functions();
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, NULL, NULL);
  tn_graph *g = NULL;
  tn_model *m = NULL;
  tn_session *s = NULL;
  memset(ones, 1, sizeof ones);
  for (int k = 0; k < COLUMNS; k++) threes[k] = 3;
  tn_tensor x = tn_tensor_make(TN_U8, 2, rows, NULL), w = tn_tensor_make(TN_U8, 2, weights, ones),
            more = tn_tensor_make(TN_I32, 1, &columns, threes);
  assert_int_equal(tn_graph_create(rt, &g), TN_OK);
  assert_int_equal(api->set_opset(g, "", 17), TN_OK);
  assert_int_equal(api->value_set_type(g, api->value(g, "x"), &x), TN_OK);
  assert_int_equal(api->add_input(g, api->value(g, "x")), TN_OK);
  assert_int_equal(api->value_set_const(g, api->value(g, "b"), &w, 1), TN_OK);
  assert_int_equal(api->value_set_const(g, api->value(g, "c"), &w, 1), TN_OK);
  assert_int_equal(api->value_set_const(g, api->value(g, "more"), &more, 1), TN_OK);
  constant(g, "scales", 1, &columns);
  constant(g, "bias", 1, &columns);
  node(g, "", "MatMulInteger", (const char *[]){"x", "b"}, 2, "sums");
  node(g, "", "CastLike", (const char *[]){"sums", "bias"}, 2, "reals");
  node(g, "", "Mul", (const char *[]){"reals", "scales"}, 2, "scaled");
  node(g, "", "Add", (const char *[]){"scaled", "bias"}, 2, "y");
  node(g, "", "MatMulInteger", (const char *[]){"x", "c"}, 2, "sums2");
  node(g, "", "Add", (const char *[]){"sums2", "more"}, 2, "sums3");
  node(g, "", "CastLike", (const char *[]){"sums3", "bias"}, 2, "reals2");
  node(g, "", "Mul", (const char *[]){"reals2", "scales"}, 2, "z");
  add_output(g, "y");
  add_output(g, "z");
  write_model(path, sizeof path, rt, g, diag);
  x.data = ones;
  if (tn_model_load(rt, path, NULL, diag, &m) || tn_session_create(m, diag, &s) ||
      tn_session_set_input(s, 0, &x, diag) || tn_session_run(s, diag))
    fail_msg("%s", tn_diag_text(diag));
  for (int k = 0; k < COLUMNS; k++) {
    const double c = (double)(k * 7 % 31 + 1) / 64;
    assert_true(tn_load_f64(TN_F32, tn_session_output(s, 0)->data, k) == DEPTH * c + c);
    assert_true(tn_load_f64(TN_F32, tn_session_output(s, 1)->data, k) == (DEPTH + 3) * c);
  }
  tn_session_destroy(s);
  tn_model_destroy(m);
  remove(path);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

static const tn_plugin *query_asking(uint32_t major, uint32_t minor) {
  static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                   .name = "blind",
                                   .version = "1",
                                   .license = "Apache-2.0",
                                   .build_id = "test",
                                   .flavour = TN_FLAVOUR,
                                   .n_ops = 1,
                                   .ops = blind_ops,
                                   .n_kernels = 1,
                                   .kernels = blind_kernels,
                                   .flags = TN_PLUGIN_LAZY_CONSTANTS};
  (void)major, (void)minor;
  return &plugin;
}

/* For those that ask nothing is brought into memory while planning; prepare and run find all. */
static void plug_ins_may_ask(void **state) {
  (void)state;
  char path[512];
  results got;
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, NULL, query_asking);
  n_absent = 0;
  for (int k = 0; k < 4; k++) {
    static const char *const docs[] = {"", "a", "ab", "abc"};
    tn_model *m = NULL;
    write_file(path, sizeof path, rt, docs[k], true, diag);
    const int before = n_absent;
    if (tn_model_load(rt, path, NULL, diag, &m)) fail_msg("%s", tn_diag_text(diag));
    const bool is_lazy = const_of(m, "w")->is_lazy;
    tn_session_destroy(run(m, 8, diag, &got));
    assert_true(is_lazy == (n_absent > before));
    tn_model_destroy(m);
    remove(path);
  }
  assert_true(n_absent > 0);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

/* Without a rewrite nobody else has them brought into memory before infer, refuse and plan. */
static void plug_ins_see_elements(void **state) {
  static const tn_plugin_query_fn queries[] = {query, query_rewriting, query_keeping};
  (void)state;
  char path[512];
  results got;
  tn_diag *diag = tn_diag_create();
  int n_late = 0;
  for (int k = 0; k < 12; k++) {
    static const char *const docs[] = {"", "a", "ab", "abc"};
    tn_runtime *rt = runtime_with(diag, NULL, queries[k % 3]);
    tn_model *m = NULL;
    write_file(path, sizeof path, rt, docs[k / 3], true, diag);
    if (tn_model_load(rt, path, NULL, diag, &m)) fail_msg("%s", tn_diag_text(diag));
    n_late += k % 3 == 0 && const_of(m, "w")->is_lazy;
    tn_session_destroy(run(m, 8, diag, &got));
    assert_true(is_readable(const_of(m, "w")->data));
    tn_model_destroy(m);
    remove(path);
    tn_runtime_destroy(rt);
  }
  assert_true(n_late > 0);
  tn_diag_destroy(diag);
}

/* Who asks for the graph may read it as long as the model lives; a saved model is the same. */
static void users_and_writers_see_elements(void **state) {
  (void)state;
  enum { ROOM = 1 << 20 };
  static uint8_t first[ROOM], second[ROOM];
  char path[512], copy[520];
  results got;
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, NULL, NULL);
  tn_model *m = NULL;
  write_file(path, sizeof path, rt, "abc", false, diag);
  snprintf(copy, sizeof copy, "%s.copy", path);
  for (int round = 0; round < 2; round++) {
    assert_int_equal(tn_model_load(rt, path, NULL, diag, &m), TN_OK);
    tn_session_destroy(run(m, 8, diag, &got));
    if (tn_model_save(m, copy, "onnx", "load", NULL, diag)) fail_msg("%s", tn_diag_text(diag));
    const uint64_t n = file_bytes(path, first, ROOM);
    assert_int_equal(file_bytes(copy, second, ROOM), n);
    assert_memory_equal(first, second, n);
    assert_int_equal(const_of(m, "w")->n_readers, 0);
    const tn_graph *g = tn_model_graph(m);
    const tn_graph_api *api = tn_graph_functions();
    for (int32_t v = 0; v < api->n_values(g); v++)
      if (!strcmp(api->value_name(g, v), "w"))
        assert_float_equal(((const float *)api->value_type(g, v)->data)[1], 8.0f / 64, 0);
    assert_true(is_readable(const_of(m, "w")->data));
    tn_model_destroy(m);
  }
  remove(path);
  remove(copy);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packed_weights_leave_memory),
      cmocka_unit_test(other_shapes_find_them_again),
      cmocka_unit_test(masks_of_attention_are_read),
      cmocka_unit_test(biases_of_quantised_products_are_read),
      cmocka_unit_test(plug_ins_see_elements),
      cmocka_unit_test(plug_ins_may_ask),
      cmocka_unit_test(users_and_writers_see_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
