/* The delegate in a host that is made up: one that has read a file, makes tensors of it, shows its
 * graph, and runs the node that takes its place. Outputs are those of a session of Tenon's. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "litert.h"
#include "tenon/kit/tensor.h"

enum { TENSORS = 256 };

typedef struct world {
  lrt_context ctx; /* first: callbacks get its address */
  uint8_t *file;
  litert_graph graph;
  lrt_tensor tensors[TENSORS];
  lrt_ints *nodes;
  lrt_registration r;
  lrt_node node;
  int n_replaced;
  char said[2000];
} world;

static lrt_delegate *(*create)(const char *const *, const char *const *, size_t,
                               void (*)(const char *));
static void (*destroy)(lrt_delegate *);
static char refused[2000];
static void note(const char *text) { snprintf(refused, sizeof refused, "%s", text); }

static lrt_ints *ints(int32_t n) {
  lrt_ints *made = calloc(1, sizeof *made + (size_t)n * sizeof *made->data);
  made->size = n;
  return made;
}

static int32_t get_execution_plan(lrt_context *ctx, lrt_ints **out) {
  return *out = ((world *)(void *)ctx)->nodes, LRT_OK;
}

static int32_t resize_tensor(lrt_context *ctx, lrt_tensor *t, lrt_ints *dims) {
  static const uint32_t bytes[] = {0, 4, 4, 1, 8, 0, 1, 2, 8, 1, 2, 8};
  (void)ctx;
  free(t->dims);
  free(t->data);
  t->dims = dims;
  t->bytes = bytes[t->type];
  for (int32_t k = 0; k < dims->size; k++) t->bytes *= (size_t)dims->data[k];
  t->data = calloc(1, t->bytes + 1);
  return LRT_OK;
}

static void report_error(lrt_context *ctx, const char *format, ...) {
  world *w = (world *)(void *)ctx;
  va_list args;
  va_start(args, format);
  vsnprintf(w->said, sizeof w->said, format, args);
  va_end(args);
}

static int32_t replace_nodes(lrt_context *ctx, lrt_registration r, const lrt_ints *nodes,
                             lrt_delegate *delegate) {
  world *w = (world *)(void *)ctx;
  assert_ptr_equal(nodes, w->nodes);
  assert_non_null(delegate);
  w->r = r;
  w->n_replaced++;
  w->node.user_data = r.init(ctx, NULL, 0);
  return LRT_OK;
}

static int32_t get_node(lrt_context *ctx, int index, lrt_node **out_node,
                        lrt_registration **out_r) {
  (void)ctx, (void)index, (void)out_node, (void)out_r;
  return LRT_ERROR;
}

static int32_t type_of(uint32_t dtype) {
  static const uint32_t of[] = {TN_NONE, TN_F32, TN_I32, TN_U8, TN_I64, TN_STRING,
                                TN_BOOL, TN_I16, TN_C64, TN_I8, TN_F16};
  for (int32_t k = 1; k < (int32_t)(sizeof of / sizeof *of); k++)
    if (of[k] == dtype) return k;
  fail_msg("no type for dtype %u", dtype);
  return 0;
}

static lrt_tensor *value(world *w, const uint8_t *indices, int32_t k) {
  int32_t index;
  memcpy(&index, indices + 4 * k, sizeof index);
  return &w->tensors[index];
}

/* Memory for an input or output, as the file declares it. */
static void make_value(world *w, lrt_tensor *t, const tn_tensor *type) {
  lrt_ints *dims = ints(type->rank);
  t->type = type_of(type->dtype);
  for (int32_t k = 0; k < type->rank; k++)
    dims->data[k] = type->shape[k] < 0 ? 1 : (int32_t)type->shape[k];
  (void)resize_tensor(&w->ctx, t, dims);
}

static void open_file(world *w, const char *name) {
  char path[500];
  snprintf(path, sizeof path, FILES "%s/model.tflite", name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  assert_int_equal(fseek(f, 0, SEEK_END), 0);
  const long size = ftell(f);
  rewind(f);
  memset(w, 0, sizeof *w);
  w->file = malloc((size_t)size);
  assert_int_equal(fread(w->file, 1, (size_t)size, f), size);
  fclose(f);
  assert_true(litert_read(w->file, (uint64_t)size, &w->graph));
  assert_true(w->graph.n_tensors <= TENSORS);
  w->nodes = ints((int32_t)w->graph.n_nodes);
  for (int32_t k = 0; k < w->nodes->size; k++) w->nodes->data[k] = k;
  for (uint32_t k = 0; k < w->graph.n_tensors; k++) w->tensors[k].name = litert_name(&w->graph, k);
  w->ctx = (lrt_context){.n_tensors = w->graph.n_tensors,
                         .get_execution_plan = get_execution_plan,
                         .tensors = w->tensors,
                         .resize_tensor = resize_tensor,
                         .report_error = report_error,
                         .get_node = get_node,
                         .replace_nodes = replace_nodes};
}

static void close_file(world *w) {
  if (w->r.free) w->r.free(&w->ctx, w->node.user_data);
  for (int k = 0; k < TENSORS; k++) free(w->tensors[k].dims), free(w->tensors[k].data);
  free(w->nodes);
  free(w->file);
}

static lrt_delegate *make(const char *key, const char *text) {
  *refused = 0;
  return create(&key, &text, key ? 1 : 0, note);
}

/* ---- against a session ---- */

typedef struct twin {
  tn_runtime *runtime;
  tn_model *model;
  tn_session *session;
  tn_diag *diag;
} twin;

static void twin_open(twin *t, world *w) {
  const tn_model_options o = {.head = TN_HEAD(tn_model_options), .format = "tflite"};
  t->diag = tn_diag_create();
  assert_int_equal(tn_runtime_create(NULL, t->diag, &t->runtime), TN_OK);
  assert_int_equal(
      tn_model_load_memory(t->runtime, w->graph.data, w->graph.size, NULL, &o, t->diag, &t->model),
      TN_OK);
  assert_int_equal(tn_session_create(t->model, t->diag, &t->session), TN_OK);
}

static void twin_close(twin *t) {
  tn_session_destroy(t->session);
  tn_model_destroy(t->model);
  tn_runtime_destroy(t->runtime);
  tn_diag_destroy(t->diag);
}

/* Small numbers; floats of both signs. */
static void fill(lrt_tensor *t, int seed) {
  const size_t n = t->type == 1 || t->type == 2 ? t->bytes / 4 : t->type == 4 ? t->bytes / 8 : 0;
  if (!n) memset(t->data, seed % 2, t->bytes);
  for (size_t k = 0; k < n; k++) {
    const int32_t i = (int32_t)(k * 7 + (size_t)seed * 3) % 11;
    const float f = (float)(i - 5) / 4;
    const int64_t wide = i;
    if (t->type == 1) memcpy((float *)t->data + k, &f, sizeof f);
    if (t->type == 2) memcpy((int32_t *)t->data + k, &i, sizeof i);
    if (t->type == 4) memcpy((int64_t *)t->data + k, &wide, sizeof wide);
  }
}

static void same_run(world *w, twin *t, int seed) {
  for (int32_t k = 0; k < (int32_t)w->graph.n_inputs; k++) {
    lrt_tensor *x = value(w, w->graph.inputs, k);
    int64_t shape[TN_MAX_RANK];
    tn_tensor type = {.head = TN_HEAD(tn_tensor)};
    assert_int_equal(tn_model_input_type(t->model, k, &type), TN_OK);
    for (int32_t i = 0; i < x->dims->size; i++) shape[i] = x->dims->data[i];
    fill(x, seed + k);
    const tn_tensor in = tn_tensor_make(type.dtype, x->dims->size, shape, x->data);
    assert_int_equal(tn_session_set_input(t->session, k, &in, t->diag), TN_OK);
  }
  assert_int_equal(w->r.invoke(&w->ctx, &w->node), LRT_OK);
  assert_int_equal(tn_session_run(t->session, t->diag), TN_OK);
  for (int32_t k = 0; k < (int32_t)w->graph.n_outputs; k++) {
    const tn_tensor *want = tn_session_output(t->session, k);
    const lrt_tensor *got = value(w, w->graph.outputs, k);
    assert_int_equal(got->dims->size, want->rank);
    for (int32_t i = 0; i < want->rank; i++) assert_int_equal(got->dims->data[i], want->shape[i]);
    assert_memory_equal(got->data, want->data, got->bytes);
  }
}

static void runs_as_a_session(const char *name) {
  world w;
  twin t;
  lrt_delegate *d = make("fallback", "forbid");
  assert_non_null(d);
  open_file(&w, name);
  twin_open(&t, &w);
  for (int32_t k = 0; k < (int32_t)w.graph.n_inputs; k++) {
    tn_tensor type = {.head = TN_HEAD(tn_tensor)};
    assert_int_equal(tn_model_input_type(t.model, k, &type), TN_OK);
    make_value(&w, value(&w, w.graph.inputs, k), &type);
  }
  for (int32_t k = 0; k < (int32_t)w.graph.n_outputs; k++) {
    tn_tensor type = {.head = TN_HEAD(tn_tensor)};
    assert_int_equal(tn_model_output_type(t.model, k, &type), TN_OK);
    make_value(&w, value(&w, w.graph.outputs, k), &type);
  }
  assert_int_equal(d->prepare(&w.ctx, d), LRT_OK);
  assert_string_equal(w.said, "");
  assert_int_equal(w.n_replaced, 1);
  assert_int_equal(w.r.prepare(&w.ctx, &w.node), LRT_OK);
  for (int seed = 0; seed < 3; seed++) same_run(&w, &t, seed); /* states go on from run to run */
  twin_close(&t);
  close_file(&w);
  destroy(d);
}

static void test_runs(void **state) {
  (void)state;
  static const char *const names[] = {"net", "net_int8", "states", "recurrent", "moves"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) runs_as_a_session(names[k]);
}

/* ---- what is left to the host ---- */

static void leaves(world *w, const char *fallback, int32_t status, const char *reason) {
  lrt_delegate *d = make("fallback", fallback);
  assert_non_null(d);
  w->said[0] = 0;
  assert_int_equal(d->prepare(&w->ctx, d), status);
  assert_int_equal(w->n_replaced, 0);
  if (!strstr(w->said, reason)) fail_msg("said '%s', wanted '%s'", w->said, reason);
  destroy(d);
}

static void test_left(void **state) {
  (void)state;
  world w;
  open_file(&w, "net");
  w.nodes->size--;
  leaves(&w, "allow", LRT_OK, "leaves the graph to LiteRT: another delegate has taken nodes");
  leaves(&w, "forbid", LRT_DELEGATE_ERROR, "cannot take the graph: another delegate");
  w.nodes->size++;
  leaves(&w, "forbid", LRT_DELEGATE_ERROR, "more than 8 dims, or none that are known");
  w.tensors[1].type = 1; /* a constant of which neither type and dims nor bytes are right */
  w.tensors[1].allocation = LRT_CONSTANT;
  w.tensors[1].data = calloc(1, 8);
  w.tensors[1].dims = ints(1);
  w.tensors[1].dims->data[0] = 1;
  w.tensors[1].bytes = 8;
  leaves(&w, "allow", LRT_DELEGATE_ERROR, "tensors of this LiteRT are not laid out as it is");
  w.tensors[1].allocation = 0;
  w.tensors[0].name = "another";
  leaves(&w, "allow", LRT_OK, "its file is not found in memory");
  w.nodes->size = 0;
  leaves(&w, "forbid", LRT_OK, "");
  close_file(&w);
  open_file(&w, "custom");
  leaves(&w, "forbid", LRT_DELEGATE_ERROR, "no plug-in offers it");
  close_file(&w);
  open_file(&w, "control"); /* the graph of a branch, perhaps */
  w.nodes->size++;
  leaves(&w, "forbid", LRT_OK, "");
  close_file(&w);
}

static void test_options(void **state) {
  (void)state;
  static const char *const wrong[][3] = {
      {"thread", "1", "Tenon: there is no option 'thread'; there are threads, plugins, fallback"},
      {"threads", "two", "Tenon: threads is no number of threads"},
      {"threads", "-1", "Tenon: threads is no number of threads"},
      {"fallback", "warn", "Tenon: fallback is neither allow nor forbid"},
      {"plugins", "/no/such.so", "/no/such.so"}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    assert_null(make(wrong[k][0], wrong[k][1]));
    if (!strstr(refused, wrong[k][2])) fail_msg("said '%s', not '%s'", refused, wrong[k][2]);
  }
  lrt_delegate *d = make("threads", "2");
  assert_non_null(d);
  destroy(d);
  destroy(NULL);
}

int main(void) {
  void *library = dlopen(DELEGATE, RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  *(void **)&create = dlsym(library, "tflite_plugin_create_delegate");
  *(void **)&destroy = dlsym(library, "tflite_plugin_destroy_delegate");
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs), cmocka_unit_test(test_left),
                                     cmocka_unit_test(test_options)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
