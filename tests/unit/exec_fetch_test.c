/* Weights that stand in a file: in memory while somebody reads them, and not beside what kernels
 * have packed of them. Every alignment that a file may have; plug-ins, rewrites, users and writers
 * that read elements; several shapes and threads. */
#include "exec/exec.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { WIDTH = 160, ROWS = 200, CHANNELS = 40 }; /* matrices of 100 KB and more */

/* Whether the system lets anybody read there: write() answers EFAULT where it does not. */
static bool is_readable(const void *data) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const bool readable = write(ends[1], data, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

/* ---- a plug-in whose callbacks read all they are shown ---- */

static double sum(const tn_tensor *t) {
  double all = 0;
  for (int64_t k = 0; t->data && k < tn_tensor_elements(t); k++) all += ((const float *)t->data)[k];
  return all;
}

static tn_status infer_peek(const tn_call *c) {
  *c->outputs[0] = *c->inputs[0];
  c->outputs[0]->data = NULL;
  return c->inputs[1]->data && sum(c->inputs[1]) == 0 ? TN_ERR_INVALID : TN_OK;
}

static const char *refuse_peek(const tn_call *c) {
  return sum(c->inputs[1]) == 0 ? "all elements are 0" : NULL;
}

static tn_status plan_peek(const tn_call *c, tn_kernel_plan *out) {
  out->state_bytes = 64; /* a state does not say that it holds all of an input */
  return sum(c->inputs[1]) == 0 ? TN_ERR_INVALID : TN_OK;
}

static atomic_int n_to_fail, n_prepared; /* calls of prepare */

static tn_status prepare_peek(const tn_call *c) {
  const struct timespec nap = {0, 20 * 1000 * 1000};
  atomic_fetch_add(&n_prepared, 1);
  if (atomic_fetch_sub(&n_to_fail, 1) > 0) {
    nanosleep(&nap, NULL); /* so that others wait */
    return TN_ERR_CANCELLED;
  }
  *(double *)c->state = sum(c->inputs[1]);
  return TN_OK;
}

static tn_status run_peek(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const int64_t n = tn_tensor_elements(c->outputs[0]);
  (void)stage, (void)begin, (void)end, (void)worker;
  if (*(const double *)c->state != sum(c->inputs[1])) return TN_ERR_INVALID;
  for (int64_t k = 0; k < n; k++)
    ((float *)c->outputs[0]->data)[k] = ((const float *)c->inputs[0]->data)[k];
  return TN_OK;
}

/* Of a plug-in that fetches what it reads, and reads nothing while planning. */
static int n_absent;

static tn_status infer_blind(const tn_call *c) {
  *c->outputs[0] = *c->inputs[0];
  c->outputs[0]->data = NULL;
  n_absent += c->inputs[1]->data && !is_readable(c->inputs[1]->data);
  return TN_OK;
}

static tn_status plan_blind(const tn_call *c, tn_kernel_plan *out) {
  out->state_bytes = 64;
  n_absent += !is_readable(c->inputs[1]->data);
  return TN_OK;
}

/* The graph is read through the host of the call, or through the one that init() kept. */
static tn_status rewrite_peek(const tn_call *c, tn_graph *g, int32_t node) {
  const tn_host *kept = c->self;
  const tn_graph_api *api = kept ? kept->graph : c->host->graph;
  for (int32_t v = 0; v < api->n_values(g); v++)
    if (api->value_type(g, v)->data && api->value_type(g, v)->dtype == TN_F32)
      if (sum(api->value_type(g, v)) == 0) return TN_ERR_INVALID;
  (void)node;
  return TN_OK;
}

static tn_status init_peek(const tn_host *host, void *ctx, const tn_option *const *options,
                           uint32_t n_options, void **out_self) {
  union {
    const tn_host *in;
    void *out;
  } cast = {host};
  (void)ctx, (void)options, (void)n_options;
  *out_self = cast.out;
  return TN_OK;
}

static const tn_op peek_op = {.head = TN_HEAD(tn_op),
                              .domain = "test",
                              .name = "Peek",
                              .since = 1,
                              .schema = "(Tensor x, Tensor w) -> Tensor y",
                              .infer = infer_peek,
                              .doc = "For tests."};
TN_ACCEPT(any_type, .arg = "*", .dtypes = TN_ANY_DTYPE);
TN_LIST(const tn_accept *, any_rows, &any_type);
static const tn_kernel peek_c = {.head = TN_HEAD(tn_kernel),
                                 .name = "peek_c",
                                 .op = "test::Peek",
                                 .device = "cpu",
                                 .rank = TN_RANK_PORTABLE,
                                 TN_SET(accepts, any_rows),
                                 .refuse = refuse_peek,
                                 .plan = plan_peek,
                                 .prepare = prepare_peek,
                                 .run = run_peek};
static const tn_op blind_op = {.head = TN_HEAD(tn_op),
                               .domain = "test",
                               .name = "Peek",
                               .since = 1,
                               .schema = "(Tensor x, Tensor w) -> Tensor y",
                               .infer = infer_blind,
                               .doc = "For tests."};
static const tn_kernel blind_c = {.head = TN_HEAD(tn_kernel),
                                  .name = "blind_c",
                                  .op = "test::Peek",
                                  .device = "cpu",
                                  .rank = TN_RANK_PORTABLE,
                                  TN_SET(accepts, any_rows),
                                  .plan = plan_blind,
                                  .prepare = prepare_peek,
                                  .run = run_peek};
static const tn_rewrite peek_rewrite = {
    .head = TN_HEAD(tn_rewrite), .name = "peek", .root = "test::Peek", .apply = rewrite_peek};
static const tn_op *const ops[] = {&peek_op}, *const blind_ops[] = {&blind_op};
static const tn_kernel *const kernels[] = {&peek_c}, *const blind_kernels[] = {&blind_c};
static const tn_rewrite *const rewrites[] = {&peek_rewrite};
#define PLUGIN(n, made_by)                                                                \
  {                                                                                       \
    .head = TN_HEAD(tn_plugin), .name = "peeks", .version = "1", .license = "Apache-2.0", \
    .build_id = "test", .flavour = TN_FLAVOUR, .n_ops = 1, .ops = ops, .n_kernels = 1,    \
    .kernels = kernels, .n_rewrites = (n), .rewrites = rewrites, .init = (made_by)        \
  }

static const tn_plugin *query(uint32_t major, uint32_t minor) {
  static const tn_plugin plugin = PLUGIN(0, NULL);
  (void)major, (void)minor;
  return &plugin;
}

static const tn_plugin *query_rewriting(uint32_t major, uint32_t minor) {
  static const tn_plugin plugin = PLUGIN(1, NULL);
  (void)major, (void)minor;
  return &plugin;
}

static const tn_plugin *query_keeping(uint32_t major, uint32_t minor) {
  static const tn_plugin plugin = PLUGIN(1, init_peek);
  (void)major, (void)minor;
  return &plugin;
}

/* ---- models ---- */

static void constant(tn_graph *g, const char *name, int32_t rank, const int64_t *shape) {
  const tn_graph_api *api = tn_graph_functions();
  tn_tensor t = tn_tensor_make(TN_F32, rank, shape, NULL);
  const int64_t n = tn_tensor_elements(&t);
  float *data = malloc((size_t)n * sizeof *data);
  assert_non_null(data);
  for (int64_t k = 0; k < n; k++) data[k] = (float)(k * 7 % 31 + 1) / 64;
  t.data = data;
  assert_int_equal(api->value_set_const(g, api->value(g, name), &t, 1), TN_OK);
  free(data);
}

static void add_output(tn_graph *g, const char *name) {
  const tn_graph_api *api = tn_graph_functions();
  assert_int_equal(api->add_output(g, api->value(g, name)), TN_OK);
}

static void node(tn_graph *g, const char *domain, const char *op, const char *const *in,
                 uint32_t n_in, const char *out) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t inputs[5], output = api->value(g, out);
  for (uint32_t k = 0; k < n_in; k++) inputs[k] = api->value(g, in[k]);
  const tn_node n = {.head = TN_HEAD(tn_node),
                     .domain = domain,
                     .op = op,
                     .name = out,
                     .n_inputs = n_in,
                     .n_outputs = 1,
                     .inputs = inputs,
                     .outputs = &output,
                     .offset = -1};
  assert_true(api->add_node(g, &n) >= 0);
}

/* y = (table[x] @ w) * s, z = batch norm of a convolution of image by filters, as its channels; p:
 * of the plug-in, or what w1 w2 give. doc: moves what stands behind it in the file. */
static tn_graph *make_graph(tn_runtime *rt, const char *doc, bool peeks) {
  const tn_graph_api *api = tn_graph_functions();
  tn_graph *g = NULL;
  assert_int_equal(tn_graph_create(rt, &g), TN_OK);
  assert_int_equal(api->set_opset(g, "", 17), TN_OK);
  assert_int_equal(api->set_opset(g, "test", 1), TN_OK);
  assert_int_equal(api->set_meta(g, "doc", doc), TN_OK);
  const int64_t any = TN_DIM_UNKNOWN, image[] = {1, CHANNELS, 9, 9};
  tn_tensor type = tn_tensor_make(TN_I64, 1, &any, NULL);
  assert_int_equal(api->value_set_type(g, api->value(g, "x"), &type), TN_OK);
  assert_int_equal(api->add_input(g, api->value(g, "x")), TN_OK);
  type = tn_tensor_make(TN_F32, 4, image, NULL);
  assert_int_equal(api->value_set_type(g, api->value(g, "image"), &type), TN_OK);
  assert_int_equal(api->add_input(g, api->value(g, "image")), TN_OK);
  constant(g, "table", 2, (int64_t[]){ROWS, WIDTH});
  constant(g, "w", 2, (int64_t[]){WIDTH, ROWS});
  constant(g, "filters", 4, (int64_t[]){CHANNELS, CHANNELS, 5, 5});
  constant(g, "norm", 1, (int64_t[]){CHANNELS});
  node(g, "", "Gather", (const char *[]){"table", "x"}, 2, "rows");
  node(g, "", "MatMul", (const char *[]){"rows", "w"}, 2, "y");
  node(g, "", "Conv", (const char *[]){"image", "filters"}, 2, "conv");
  node(g, "", "BatchNormalization", (const char *[]){"conv", "norm", "norm", "norm", "norm"}, 5,
       "z");
  if (peeks) node(g, "test", "Peek", (const char *[]){"y", "w"}, 2, "p");
  add_output(g, "y");
  add_output(g, "z");
  if (peeks) add_output(g, "p");
  return g;
}

static tn_runtime *runtime_with(tn_diag *diag, const tn_allocator *allocator,
                                tn_plugin_query_fn peeks) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *rt = NULL;
  options.n_threads = 2;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  options.allocator = allocator;
  if (tn_runtime_create(&options, diag, &rt) ||
      (peeks && tn_runtime_add_plugin(rt, peeks, NULL, 0, diag)))
    fail_msg("%s", tn_diag_text(diag));
  return rt;
}

/* The file's path, for the caller to remove. */
static const char *write_model(char *path, size_t size, tn_runtime *rt, tn_graph *g,
                               tn_diag *diag) {
  tn_model *m = NULL;
  const char *base = getenv("TMPDIR");
  snprintf(path, size, "%s/exec_fetch_%ld.onnx", base && *base ? base : "/tmp", (long)getpid());
  if (tn_model_from_graph_take(rt, g, NULL, diag, &m) ||
      tn_model_save(m, path, "onnx", "load", NULL, diag))
    fail_msg("%s", tn_diag_text(diag));
  tn_model_destroy(m);
  return path;
}

static const char *write_file(char *path, size_t size, tn_runtime *rt, const char *doc, bool peeks,
                              tn_diag *diag) {
  return write_model(path, size, rt, make_graph(rt, doc, peeks), diag);
}

/* ---- running ---- */

typedef struct results {
  float y[16 * ROWS], z[CHANNELS * 25];
} results;

static tn_session *run(tn_model *m, int64_t n, tn_diag *diag, results *out) {
  static const float image[CHANNELS * 81] = {1, 2, 3, [500] = 4, [3000] = -5};
  const int64_t shape[] = {1, CHANNELS, 9, 9};
  int64_t rows[16];
  union {
    const float *in;
    void *out;
  } cast = {image};
  for (int64_t k = 0; k < n; k++) rows[k] = k * 37 % ROWS;
  tn_tensor x = tn_tensor_make(TN_I64, 1, &n, rows),
            picture = tn_tensor_make(TN_F32, 4, shape, cast.out);
  tn_session *s = NULL;
  if (tn_session_create(m, diag, &s) || tn_session_set_input(s, 0, &x, diag) ||
      tn_session_set_input(s, 1, &picture, diag) || tn_session_run(s, diag))
    fail_msg("%s", tn_diag_text(diag));
  memcpy(out->y, tn_session_output(s, 0)->data, (size_t)n * ROWS * sizeof(float));
  memcpy(out->z, tn_session_output(s, 1)->data, sizeof out->z);
  return s;
}

static const tn_const *const_of(const tn_model *m, const char *name) {
  tn_graph *g = m->loaded;
  return tn_graph_val(g, tn_graph_value(g, name))->constant;
}

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

static uint64_t file_bytes(const char *path, uint8_t *out, size_t room) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  const size_t n = fread(out, 1, room, f);
  assert_true(n < room);
  fclose(f);
  return n;
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

/* ---- threads ---- */

typedef struct racer {
  tn_model *model;
  int64_t n;
  results got;
} racer;

static void *race(void *arg) {
  racer *r = arg;
  tn_diag *diag = tn_diag_create();
  tn_session_destroy(run(r->model, r->n, diag, &r->got));
  tn_diag_destroy(diag);
  return NULL;
}

static void threads_plan_at_once(void **state) {
  (void)state;
  enum { THREADS = 4 };
  static racer racers[THREADS];
  pthread_t threads[THREADS];
  char path[512];
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, NULL, NULL);
  tn_model *m = NULL;
  write_file(path, sizeof path, rt, "a", false, diag);
  assert_int_equal(tn_model_load(rt, path, NULL, diag, &m), TN_OK);
  for (int k = 0; k < THREADS; k++) {
    racers[k] = (racer){.model = m, .n = 8 + k / 2};
    assert_int_equal(pthread_create(&threads[k], NULL, race, &racers[k]), 0);
  }
  for (int k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
  for (int k = 1; k < THREADS; k++)
    assert_memory_equal(racers[k].got.z, racers[0].got.z, sizeof racers[0].got.z);
  assert_memory_equal(racers[1].got.y, racers[0].got.y, 8 * ROWS * sizeof(float));
  assert_int_equal(const_of(m, "w")->n_readers, 0);
  tn_model_destroy(m);
  remove(path);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

/* One of two prepares, the other one waits; when that fails, both are told. */
static void *fail_to_run(void *arg) {
  racer *r = arg;
  const int64_t n = 8, shape[] = {1, CHANNELS, 9, 9};
  static int64_t rows[8];
  static float image[CHANNELS * 81];
  tn_tensor x = tn_tensor_make(TN_I64, 1, &n, rows),
            picture = tn_tensor_make(TN_F32, 4, shape, image);
  tn_diag *diag = tn_diag_create();
  tn_session *s = NULL;
  tn_status status = tn_session_create(r->model, diag, &s);
  if (!status) status = tn_session_set_input(s, 0, &x, diag);
  if (!status) status = tn_session_set_input(s, 1, &picture, diag);
  if (!status) status = tn_session_run(s, diag);
  r->n = status == TN_ERR_CANCELLED && strstr(tn_diag_text(diag), "kernel 'peek_c': prepare()");
  tn_session_destroy(s);
  tn_diag_destroy(diag);
  return NULL;
}

static void failing_to_prepare_is_told_to_all(void **state) {
  (void)state;
  char path[512];
  results got;
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, NULL, query);
  tn_model *m = NULL;
  write_file(path, sizeof path, rt, "a", true, diag);
  assert_int_equal(tn_model_load(rt, path, NULL, diag, &m), TN_OK);
  racer racers[2] = {{.model = m}, {.model = m}};
  pthread_t threads[2];
  atomic_store(&n_to_fail, 2); /* a thread that comes late prepares itself */
  for (int k = 0; k < 2; k++)
    assert_int_equal(pthread_create(&threads[k], NULL, fail_to_run, &racers[k]), 0);
  for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
  assert_true(racers[0].n && racers[1].n);
  atomic_store(&n_to_fail, 0);
  atomic_store(&n_prepared, 0);
  tn_session_destroy(run(m, 8, diag, &got));
  tn_session_destroy(run(m, 8, diag, &got));
  tn_session_destroy(run(m, 9, diag, &got));
  assert_int_equal(atomic_load(&n_prepared), 1); /* once for all sessions and shapes */
  tn_model_destroy(m);
  remove(path);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

/* A chain of products with states that are worth several threads. */
static void states_are_prepared_on_all_threads(void **state) {
  (void)state;
  enum { SIDE = 320, LINKS = 6, N = 8 };
  static float x[N * SIDE], y[2][N * SIDE];
  const int64_t shape[] = {N, SIDE};
  tn_diag *diag = tn_diag_create();
  for (int k = 0; k < N * SIDE; k++) x[k] = (float)(k % 7) / 1024;
  for (int round = 0; round < 2; round++) {
    tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
    tn_runtime *rt = NULL;
    tn_graph *g = NULL;
    tn_model *m = NULL;
    tn_session *s = NULL;
    char name[LINKS + 1][8];
    tn_tensor in = tn_tensor_make(TN_F32, 2, shape, x);
    options.n_threads = 1 + 3 * round;
    options.flags = TN_RUNTIME_NO_DISCOVERY;
    assert_int_equal(tn_runtime_create(&options, diag, &rt), TN_OK);
    assert_int_equal(tn_graph_create(rt, &g), TN_OK);
    const tn_graph_api *api = tn_graph_functions();
    assert_int_equal(api->set_opset(g, "", 17), TN_OK);
    for (int k = 0; k <= LINKS; k++) snprintf(name[k], sizeof name[k], "v%d", k);
    assert_int_equal(api->value_set_type(g, api->value(g, "v0"), &in), TN_OK);
    assert_int_equal(api->add_input(g, api->value(g, "v0")), TN_OK);
    for (int k = 0; k < LINKS; k++) {
      char w[8];
      snprintf(w, sizeof w, "w%d", k);
      constant(g, w, 2, (int64_t[]){SIDE, SIDE});
      node(g, "", "MatMul", (const char *[]){name[k], w}, 2, name[k + 1]);
    }
    add_output(g, name[LINKS]);
    if (tn_model_from_graph_take(rt, g, NULL, diag, &m) || tn_session_create(m, diag, &s) ||
        tn_session_set_input(s, 0, &in, diag) || tn_session_run(s, diag))
      fail_msg("%s", tn_diag_text(diag));
    tn_plan_info info = {.head = TN_HEAD(tn_plan_info)};
    assert_int_equal(tn_session_plan(s, &info), TN_OK);
    assert_true(info.state_bytes >= 2 << 20);
    memcpy(y[round], tn_session_output(s, 0)->data, sizeof y[round]);
    tn_session_destroy(s);
    tn_model_destroy(m);
    tn_runtime_destroy(rt);
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  tn_diag_destroy(diag);
}

/* ---- memory of the user ---- */

static atomic_llong user_bytes;

static void *user_alloc(void *self, uint64_t bytes) {
  (void)self;
  atomic_fetch_add(&user_bytes, (long long)bytes);
  return aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
}

static void user_free(void *self, void *memory, uint64_t bytes) {
  (void)self;
  atomic_fetch_sub(&user_bytes, (long long)bytes);
  free(memory);
}

/* With an allocator of the user all memory comes from it; from memory of the user no page goes. */
static void memory_of_the_user_stays(void **state) {
  (void)state;
  enum { ROOM = 1 << 20 };
  const tn_allocator mine = {TN_HEAD(tn_allocator), NULL, user_alloc, user_free};
  char path[512];
  results expected, got;
  tn_diag *diag = tn_diag_create();
  for (int k = 0; k < 2; k++) {
    tn_runtime *rt = runtime_with(diag, k ? &mine : NULL, NULL);
    tn_model *m = NULL;
    uint8_t *file = aligned_alloc(4096, ROOM), *before = malloc(ROOM);
    write_file(path, sizeof path, rt, "a", false, diag);
    const uint64_t n = file_bytes(path, file, ROOM);
    memcpy(before, file, n);
    assert_int_equal(tn_model_load_memory(rt, file, n, NULL, NULL, diag, &m), TN_OK);
    assert_int_equal(const_of(m, "w")->is_lazy && k, 0);
    tn_session_destroy(run(m, 8, diag, k ? &got : &expected));
    tn_model_destroy(m);
    assert_memory_equal(file, before, n);
    free(file);
    free(before);
    tn_runtime_destroy(rt);
  }
  assert_memory_equal(got.y, expected.y, 8 * ROWS * sizeof(float));
  remove(path);
  tn_diag_destroy(diag);
}

/* What is folded for one plan is packed for that one: nobody asks for either again. */
static void made_for_one_plan_goes_with_it(void **state) {
  (void)state;
  enum { RUNS = 40, BYTES = WIDTH * ROWS * 4 };
  static float x[RUNS * WIDTH];
  const int64_t any[] = {TN_DIM_UNKNOWN, WIDTH};
  const tn_graph_api *api = tn_graph_functions();
  const tn_allocator mine = {TN_HEAD(tn_allocator), NULL, user_alloc, user_free};
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, &mine, NULL);
  tn_graph *g = NULL;
  tn_model *m = NULL;
  tn_session *s = NULL;
  tn_tensor t = tn_tensor_make(TN_F32, 2, any, NULL);
  assert_int_equal(tn_graph_create(rt, &g), TN_OK);
  assert_int_equal(api->set_opset(g, "", 17), TN_OK);
  assert_int_equal(api->value_set_type(g, api->value(g, "x"), &t), TN_OK);
  assert_int_equal(api->add_input(g, api->value(g, "x")), TN_OK);
  constant(g, "w", 2, (int64_t[]){WIDTH, ROWS});
  node(g, "", "Shape", (const char *[]){"x"}, 1, "shape");
  constant(g, "like", 0, NULL);
  node(g, "", "CastLike", (const char *[]){"shape", "like"}, 2, "lengths");
  node(g, "", "ReduceSum", (const char *[]){"lengths"}, 1, "length");
  node(g, "", "Pow", (const char *[]){"w", "length"}, 2, "power");
  node(g, "", "MatMul", (const char *[]){"x", "power"}, 2, "y");
  add_output(g, "y");
  if (tn_model_from_graph_take(rt, g, NULL, diag, &m) || tn_session_create(m, diag, &s))
    fail_msg("%s", tn_diag_text(diag));
  long long before = 0;
  for (int64_t n = 1; n <= RUNS; n++) {
    t = tn_tensor_make(TN_F32, 2, (int64_t[]){n, WIDTH}, x);
    if (tn_session_set_input(s, 0, &t, diag) || tn_session_run(s, diag))
      fail_msg("%s", tn_diag_text(diag));
    if (n == RUNS / 2) before = atomic_load(&user_bytes);
  }
  assert_true(atomic_load(&user_bytes) <= before + BYTES);
  tn_session_destroy(s);
  tn_model_destroy(m);
  tn_runtime_destroy(rt);
  assert_int_equal(atomic_load(&user_bytes), 0);
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
      cmocka_unit_test(threads_plan_at_once),
      cmocka_unit_test(failing_to_prepare_is_told_to_all),
      cmocka_unit_test(states_are_prepared_on_all_threads),
      cmocka_unit_test(memory_of_the_user_stays),
      cmocka_unit_test(made_for_one_plan_goes_with_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
