/* Parts of a graph that the delegate takes, in a host that is made up: five nodes, of which the
 * third is an operator that Tenon does not have, so that two parts are left. The host runs the
 * third itself, in between.
 *
 *   x -RELU-> a -ABS-> b -Negated-> c -LEAKY_RELU-> d -ADD one-> y */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "litert.h"

enum { X, A, B, C, D, Y, ONE, N_TENSORS, N_NODES = 5, IN_ARENA = 2, F32 = 1 };

typedef struct world {
  lrt_context ctx; /* first: callbacks get its address */
  lrt_tensor tensors[N_TENSORS];
  lrt_node nodes[N_NODES], made[N_NODES]; /* made: one for each part */
  lrt_registration ops[N_NODES], r;
  lrt_part parts[N_NODES];
  lrt_ints *plan;
  lrt_delegate *delegate;
  int n_parts, n_replaced;
  bool merges; /* makes other parts than it says */
  char said[2000];
} world;

static lrt_delegate *(*create)(const char *const *, const char *const *, size_t,
                               void (*)(const char *));
static void (*destroy)(lrt_delegate *);
static void ignore(const char *text) { (void)text; }

static lrt_ints *ints(int n, ...) {
  lrt_ints *made = calloc(1, sizeof *made + (size_t)(n + N_NODES) * sizeof *made->data);
  va_list args;
  va_start(args, n);
  made->size = n;
  for (int k = 0; k < n; k++) made->data[k] = va_arg(args, int);
  va_end(args);
  return made;
}

/* ---- the host's functions ---- */

static int32_t get_plan(lrt_context *ctx, lrt_ints **out) {
  return *out = ((world *)(void *)ctx)->plan, LRT_OK;
}

static int32_t get_node(lrt_context *ctx, int index, lrt_node **node, lrt_registration **op) {
  world *w = (world *)(void *)ctx;
  *node = &w->nodes[index];
  *op = &w->ops[index];
  return LRT_OK;
}

static int32_t resize(lrt_context *ctx, lrt_tensor *t, lrt_ints *dims) {
  (void)ctx;
  free(t->dims);
  free(t->data);
  t->dims = dims;
  t->bytes = sizeof(float);
  for (int32_t k = 0; k < dims->size; k++) t->bytes *= (size_t)dims->data[k];
  t->data = calloc(1, t->bytes + 1);
  return LRT_OK;
}

static void report(lrt_context *ctx, const char *format, ...) {
  world *w = (world *)(void *)ctx;
  va_list args;
  va_start(args, format);
  vsnprintf(w->said, sizeof w->said, format, args);
  va_end(args);
}

static void free_parts(world *w) {
  for (int k = 0; k < w->n_parts; k++) free(w->parts[k].nodes), free(w->parts[k].outputs);
  w->n_parts = 0;
}

/* Nodes in a row are a part; the last one's output is all that others need. */
static int32_t preview(lrt_context *ctx, const lrt_ints *nodes, lrt_part **out, int *out_n) {
  world *w = (world *)(void *)ctx;
  free_parts(w);
  for (int k = 0; k < nodes->size; k++) {
    const bool follows = k && (nodes->data[k] == nodes->data[k - 1] + 1 || w->merges);
    if (!follows) w->parts[w->n_parts++] = (lrt_part){.nodes = ints(0), .outputs = ints(1, 0)};
    lrt_part *part = &w->parts[w->n_parts - 1];
    part->nodes->data[part->nodes->size++] = nodes->data[k];
    part->outputs->data[0] = w->nodes[nodes->data[k]].outputs->data[0];
  }
  *out = w->parts;
  *out_n = w->n_parts;
  return LRT_OK;
}

static int32_t replace(lrt_context *ctx, lrt_registration r, const lrt_ints *nodes,
                       lrt_delegate *delegate) {
  world *w = (world *)(void *)ctx;
  lrt_part *parts;
  int n;
  assert_non_null(delegate);
  w->r = r;
  preview(ctx, nodes, &parts, &n);
  for (int k = 0; k < n; k++)
    w->made[w->n_replaced++].user_data = r.init(ctx, (const char *)&parts[k], sizeof parts[k]);
  return LRT_OK;
}

/* ---- the graph ---- */

static void add_node(world *w, int k, int32_t code, lrt_ints *inputs, int output, void *options) {
  w->nodes[k] = (lrt_node){.inputs = inputs, .outputs = ints(1, output), .builtin_data = options};
  w->ops[k] = (lrt_registration){.builtin_code = code, .version = 1};
}

static void open_world(world *w, int rows) {
  static float slope = 0.5f, one = 1;
  static struct {
    int32_t activation;
    bool unused;
  } sum;
  memset(w, 0, sizeof *w);
  for (int k = 0; k < N_TENSORS; k++) {
    w->tensors[k] = (lrt_tensor){.type = F32, .allocation = IN_ARENA, .name = "v"};
    resize(&w->ctx, &w->tensors[k], k == ONE ? ints(1, 1) : ints(2, rows, 3));
  }
  free(w->tensors[ONE].data);
  w->tensors[ONE].allocation = LRT_CONSTANT;
  w->tensors[ONE].data = &one; /* the delegate looks for a file around it, and finds none */
  add_node(w, 0, 19, ints(1, X), A, NULL);
  add_node(w, 1, 101, ints(1, A), B, NULL);
  add_node(w, 2, LRT_CUSTOM, ints(1, B), C, NULL);
  add_node(w, 3, 98, ints(1, C), D, &slope);
  add_node(w, 4, 0, ints(2, D, ONE), Y, &sum);
  w->ops[2].custom_name = "Negated";
  w->plan = ints(N_NODES, 0, 1, 2, 3, 4);
  w->ctx = (lrt_context){.n_tensors = N_TENSORS,
                         .get_execution_plan = get_plan,
                         .tensors = w->tensors,
                         .resize_tensor = resize,
                         .report_error = report,
                         .get_node = get_node,
                         .replace_nodes = replace,
                         .preview_parts = preview};
}

static void close_world(world *w) {
  for (int k = 0; k < w->n_replaced; k++) w->r.free(&w->ctx, w->made[k].user_data);
  for (int k = 0; k < N_TENSORS; k++) free(w->tensors[k].dims);
  for (int k = 0; k < ONE; k++) free(w->tensors[k].data);
  for (int k = 0; k < N_NODES; k++) free(w->nodes[k].inputs), free(w->nodes[k].outputs);
  free_parts(w);
  free(w->plan);
  destroy(w->delegate);
}

static int32_t apply(world *w, const char *fallback) {
  const char *key = "fallback";
  lrt_delegate *d = create(&key, &fallback, 1, ignore);
  assert_non_null(d);
  const int32_t status = d->prepare(&w->ctx, d);
  if (w->n_replaced)
    w->delegate = d; /* parts need it */
  else
    destroy(d);
  return status;
}

/* Both parts, and the host's node between them. */
static void run(world *w, int rows) {
  float *x = w->tensors[X].data;
  for (int k = 0; k < 3 * rows; k++) x[k] = (float)(k - 3);
  assert_int_equal(w->r.invoke(&w->ctx, &w->made[0]), LRT_OK);
  assert_int_equal(w->tensors[B].dims->data[0], rows);
  resize(&w->ctx, &w->tensors[C], ints(2, rows, 3));
  for (int k = 0; k < 3 * rows; k++)
    ((float *)w->tensors[C].data)[k] = -((float *)w->tensors[B].data)[k];
  assert_int_equal(w->r.invoke(&w->ctx, &w->made[1]), LRT_OK);
  assert_int_equal(w->tensors[Y].bytes, (size_t)rows * 12);
  for (int k = 0; k < 3 * rows; k++) {
    const float b = x[k] > 0 ? x[k] : 0, y = -b * 0.5f + 1;
    assert_true(((float *)w->tensors[Y].data)[k] == y);
  }
}

static void prepare(world *w) {
  for (int k = 0; k < w->n_replaced; k++)
    assert_int_equal(w->r.prepare(&w->ctx, &w->made[k]), LRT_OK);
}

/* ---- tests ---- */

static void test_parts(void **state) {
  (void)state;
  world w;
  open_world(&w, 2);
  apply(&w, "allow");
  assert_int_equal(w.n_replaced, 2);
  prepare(&w);
  for (int k = 0; k < 3; k++) run(&w, 2);
  resize(&w.ctx, &w.tensors[X], ints(2, 4, 3)); /* other dims, and again the first ones */
  resize(&w.ctx, &w.tensors[C], ints(2, 4, 3));
  prepare(&w);
  run(&w, 4);
  resize(&w.ctx, &w.tensors[X], ints(2, 2, 3));
  resize(&w.ctx, &w.tensors[C], ints(2, 2, 3));
  prepare(&w);
  run(&w, 2);
  close_world(&w);
}

static void test_shapes_that_runs_tell(void **state) {
  (void)state;
  world w;
  open_world(&w, 2);
  apply(&w, "allow");
  w.tensors[X].allocation = w.tensors[C].allocation = LRT_DYNAMIC;
  float *b = w.tensors[B].data,
        *y = w.tensors[Y].data; /* in an arena: not the delegate's to free */
  prepare(&w);
  assert_int_equal(w.tensors[B].allocation, LRT_DYNAMIC);
  for (int rows = 1; rows < 4; rows++) {
    resize(&w.ctx, &w.tensors[X], ints(2, rows, 3));
    run(&w, rows);
  }
  free(b), free(y);
  close_world(&w);
}

static void test_what_stays(void **state) {
  (void)state;
  world w;
  open_world(&w, 2);
  w.tensors[B].is_variable = true; /* nodes 1 and 2 touch it, and 0 alone is not worth it */
  apply(&w, "allow");
  assert_int_equal(w.n_replaced, 1);
  close_world(&w);

  open_world(&w, 2);
  assert_int_equal(apply(&w, "forbid"), LRT_DELEGATE_ERROR);
  assert_int_equal(w.n_replaced, 0);
  assert_non_null(strstr(w.said, "its file is not found in memory"));
  w.ctx.preview_parts = NULL;
  assert_int_equal(apply(&w, "allow"), LRT_OK);
  assert_int_equal(w.n_replaced, 0);
  assert_non_null(strstr(w.said, "leaves the graph to LiteRT"));
  close_world(&w);
}

/* A host that makes other parts than it has said. */
static int32_t replace_merged(lrt_context *ctx, lrt_registration r, const lrt_ints *nodes,
                              lrt_delegate *delegate) {
  ((world *)(void *)ctx)->merges = true;
  return replace(ctx, r, nodes, delegate);
}

static void test_other_parts(void **state) {
  (void)state;
  world w;
  open_world(&w, 2);
  w.ctx.replace_nodes = replace_merged;
  apply(&w, "allow");
  assert_int_equal(w.n_replaced, 1);
  assert_ptr_equal(w.made[0].user_data, (void *)(intptr_t)-1);
  assert_non_null(strstr(w.said, "LiteRT made other parts than it had said"));
  close_world(&w);
}

static void test_ranks_that_change(void **state) {
  (void)state;
  world w;
  open_world(&w, 2);
  apply(&w, "allow");
  resize(&w.ctx, &w.tensors[X], ints(3, 1, 2, 3));
  assert_int_equal(w.r.prepare(&w.ctx, &w.made[0]), LRT_ERROR);
  assert_non_null(strstr(w.said, "an input got another number of dims"));
  close_world(&w);
}

int main(void) {
  void *library = dlopen(DELEGATE, RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  *(void **)&create = dlsym(library, "tflite_plugin_create_delegate");
  *(void **)&destroy = dlsym(library, "tflite_plugin_destroy_delegate");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts), cmocka_unit_test(test_shapes_that_runs_tell),
      cmocka_unit_test(test_what_stays), cmocka_unit_test(test_other_parts),
      cmocka_unit_test(test_ranks_that_change)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
