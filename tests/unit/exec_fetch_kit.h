/* For tests of weights that stand in a file: a plug-in whose callbacks read all they are shown,
 * models with large weights, files of them, and runs. */
#ifndef TENON_TESTS_EXEC_FETCH_KIT_H
#define TENON_TESTS_EXEC_FETCH_KIT_H

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
static inline bool is_readable(const void *data) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const bool readable = write(ends[1], data, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

/* ---- a plug-in whose callbacks read all they are shown ---- */

static inline double sum(const tn_tensor *t) {
  double all = 0;
  for (int64_t k = 0; t->data && k < tn_tensor_elements(t); k++) all += ((const float *)t->data)[k];
  return all;
}

static inline tn_status infer_peek(const tn_call *c) {
  *c->outputs[0] = *c->inputs[0];
  c->outputs[0]->data = NULL;
  return c->inputs[1]->data && sum(c->inputs[1]) == 0 ? TN_ERR_INVALID : TN_OK;
}

static inline const char *refuse_peek(const tn_call *c) {
  return sum(c->inputs[1]) == 0 ? "all elements are 0" : NULL;
}

static inline tn_status plan_peek(const tn_call *c, tn_kernel_plan *out) {
  out->state_bytes = 64; /* a state does not say that it holds all of an input */
  return sum(c->inputs[1]) == 0 ? TN_ERR_INVALID : TN_OK;
}

static atomic_int n_to_fail, n_prepared; /* calls of prepare */

static inline tn_status prepare_peek(const tn_call *c) {
  const struct timespec nap = {0, 20 * 1000 * 1000};
  atomic_fetch_add(&n_prepared, 1);
  if (atomic_fetch_sub(&n_to_fail, 1) > 0) {
    nanosleep(&nap, NULL); /* so that others wait */
    return TN_ERR_CANCELLED;
  }
  *(double *)c->state = sum(c->inputs[1]);
  return TN_OK;
}

static inline tn_status run_peek(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
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

static inline tn_status infer_blind(const tn_call *c) {
  *c->outputs[0] = *c->inputs[0];
  c->outputs[0]->data = NULL;
  n_absent += c->inputs[1]->data && !is_readable(c->inputs[1]->data);
  return TN_OK;
}

static inline tn_status plan_blind(const tn_call *c, tn_kernel_plan *out) {
  out->state_bytes = 64;
  n_absent += !is_readable(c->inputs[1]->data);
  return TN_OK;
}

/* The graph is read through the host of the call, or through the one that init() kept. */
static inline tn_status rewrite_peek(const tn_call *c, tn_graph *g, int32_t node) {
  const tn_host *kept = c->self;
  const tn_graph_api *api = kept ? kept->graph : c->host->graph;
  for (int32_t v = 0; v < api->n_values(g); v++)
    if (api->value_type(g, v)->data && api->value_type(g, v)->dtype == TN_F32)
      if (sum(api->value_type(g, v)) == 0) return TN_ERR_INVALID;
  (void)node;
  return TN_OK;
}

static inline tn_status init_peek(const tn_host *host, void *ctx, const tn_option *const *options,
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

static inline const tn_plugin *query(uint32_t major, uint32_t minor) {
  static const tn_plugin plugin = PLUGIN(0, NULL);
  (void)major, (void)minor;
  return &plugin;
}

static inline const tn_plugin *query_rewriting(uint32_t major, uint32_t minor) {
  static const tn_plugin plugin = PLUGIN(1, NULL);
  (void)major, (void)minor;
  return &plugin;
}

static inline const tn_plugin *query_keeping(uint32_t major, uint32_t minor) {
  static const tn_plugin plugin = PLUGIN(1, init_peek);
  (void)major, (void)minor;
  return &plugin;
}

/* ---- models ---- */

static inline void constant(tn_graph *g, const char *name, int32_t rank, const int64_t *shape) {
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

static inline void add_output(tn_graph *g, const char *name) {
  const tn_graph_api *api = tn_graph_functions();
  assert_int_equal(api->add_output(g, api->value(g, name)), TN_OK);
}

static inline void node(tn_graph *g, const char *domain, const char *op, const char *const *in,
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
static inline tn_graph *make_graph(tn_runtime *rt, const char *doc, bool peeks) {
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

static inline tn_runtime *runtime_with(tn_diag *diag, const tn_allocator *allocator,
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
static inline const char *write_model(char *path, size_t size, tn_runtime *rt, tn_graph *g,
                                      tn_diag *diag) {
  tn_model *m = NULL;
  const char *base = getenv("TMPDIR");
  snprintf(path, size, "%s/exec_fetch_XXXXXX", base && *base ? base : "/tmp");
  const int file = mkstemp(path);
  if (file < 0 || close(file)) fail_msg("%s cannot be made", path);
  if (tn_model_from_graph_take(rt, g, NULL, diag, &m) ||
      tn_model_save(m, path, "onnx", "load", NULL, diag))
    fail_msg("%s", tn_diag_text(diag));
  tn_model_destroy(m);
  return path;
}

static inline const char *write_file(char *path, size_t size, tn_runtime *rt, const char *doc,
                                     bool peeks, tn_diag *diag) {
  return write_model(path, size, rt, make_graph(rt, doc, peeks), diag);
}

static inline uint64_t file_bytes(const char *path, uint8_t *out, size_t room) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  const size_t n = fread(out, 1, room, f);
  assert_true(n < room);
  fclose(f);
  return n;
}

/* ---- running ---- */

typedef struct results {
  float y[16 * ROWS], z[CHANNELS * 25];
} results;

static inline tn_session *run(tn_model *m, int64_t n, tn_diag *diag, results *out) {
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

static inline const tn_const *const_of(const tn_model *m, const char *name) {
  tn_graph *g = m->loaded;
  return tn_graph_val(g, tn_graph_value(g, name))->constant;
}

#endif
