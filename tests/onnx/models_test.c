/* All models and values of the test data (and of Debian's libonnx-testdata, if it is there): models
 * are read, written and read again; values are read as the kinds that their model names. Those
 * known to be damaged must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "kit.h"

static const tn_graph_api *const api = &tn_graph_api_table;

/* No weights, no operator sets, or a shape that is not that of its data. */
static const char *const damaged[] = {
    "graphsurgeon/ext_weights/",
    "ort-transform/fusion/embed_layer_norm_format5/",
    "polygraphy/bad_graph_with_no_import_domains/",
    "polygraphy/weightless.",
};

static bool is_damaged(const char *path) {
  for (size_t k = 0; k < sizeof damaged / sizeof *damaged; k++)
    if (strstr(path, damaged[k])) return true;
  return false;
}

typedef struct walk {
  const char *path; /* of the folder being visited */
  int n_models, n_values, n_damaged, n_failed;
} walk;

static void failed(walk *w, const char *path, const char *what, const kit *k) {
  w->n_failed++;
  print_error("%s: %s: %s\n", path, what, tn_text_get(&k->messages));
}

/* ---- Models ---- */

/* The first file written from a graph may be simpler than the graph's own; from then on nothing
 * changes. */
static bool is_same_when_written(kit *k, tn_graph *g) {
  tn_text files[2], dumps[2];
  tn_graph *graphs[3] = {g};
  for (int n = 0; n < 2; n++) {
    tn_text_init(&dumps[n], tn_default_allocator());
    tn_text_init(&files[n], tn_default_allocator());
    if (graphs[n] && kit_write(k, graphs[n], &files[n]) == TN_OK)
      graphs[n + 1] = kit_read(k, files[n].data, (uint64_t)files[n].n, NULL);
    if (graphs[n + 1]) kit_dump(graphs[n + 1], &dumps[n]);
  }
  bool same = graphs[2] && !strcmp(tn_text_get(&dumps[0]), tn_text_get(&dumps[1]));
  same = same && api->n_nodes(g) == api->n_nodes(graphs[2]) &&
         api->n_inputs(g) == api->n_inputs(graphs[2]) &&
         api->n_outputs(g) == api->n_outputs(graphs[2]);
  for (int n = 0; n < 2; n++) {
    tn_graph_free(graphs[n + 1]);
    tn_text_free(&files[n]);
    tn_text_free(&dumps[n]);
  }
  return same;
}

/* ---- Values ---- */

static tn_status take_tensor(void *ctx, const char *name, const tn_tensor *t) {
  (void)ctx, (void)name;
  return tn_tensor_bytes(t) < 0 || !t->data ? TN_ERR_INTERNAL : TN_OK;
}

static tn_status take_begin(void *ctx, const char *name, const tn_tensor *type) {
  (void)ctx, (void)name, (void)type;
  return TN_OK;
}

static tn_status take_end(void *ctx) {
  (void)ctx;
  return TN_OK;
}

static void check_value(walk *w, tn_arena *arena, const char *path, uint32_t kind) {
  kit k;
  uint64_t size;
  uint8_t *data = kit_load(arena, path, &size);
  if (!data) return;
  kit_init(&k);
  w->n_values++;
  const tn_value_sink sink = {TN_HEAD(tn_value_sink), NULL, take_tensor, take_begin, take_end};
  tn_source source = kit_source(&k, data, size);
  if (onnx_format.read_value(&source, kind, &sink)) failed(w, path, "cannot be read", &k);
  kit_free(&k);
}

/* test_data_set_N/input_i.pb is the value of input i; output_i.pb that of output i. */
static void check_values(walk *w, const tn_graph *g, const char *dir) {
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  for (int set = 0; set < 5; set++) {
    for (int32_t i = 0; i < api->n_inputs(g); i++)
      check_value(w, &arena,
                  tn_arena_format(&arena, "%s/test_data_set_%d/input_%d.pb", dir, set, (int)i),
                  api->value_type(g, api->input(g, i))->kind);
    for (int32_t i = 0; i < api->n_outputs(g); i++)
      check_value(w, &arena,
                  tn_arena_format(&arena, "%s/test_data_set_%d/output_%d.pb", dir, set, (int)i),
                  api->value_type(g, api->output(g, i))->kind);
  }
  tn_arena_clear(&arena);
}

/* ---- Folders ---- */

static void check_model(walk *w, const char *path) {
  kit k;
  tn_arena arena;
  uint64_t size;
  kit_init(&k);
  k.dir = w->path;
  tn_arena_init(&arena, tn_default_allocator());
  uint8_t *data = kit_load(&arena, path, &size);
  tn_graph *g = data ? kit_read(&k, data, size, NULL) : NULL;
  w->n_models++;
  w->n_damaged += !g && is_damaged(path);
  if (!g && !is_damaged(path)) failed(w, path, "cannot be read", &k);
  if (g && is_damaged(path)) failed(w, path, "is damaged, but was read", &k);
  if (g && onnx_format.probe(data, size) < 90) failed(w, path, "is not recognised", &k);
  if (g && !is_same_when_written(&k, g))
    failed(w, path, "changes when it is written and read again", &k);
  if (g) check_values(w, g, w->path);
  tn_graph_free(g);
  tn_arena_clear(&arena);
  kit_free(&k);
}

static int visit(void *self, const char *name, bool is_dir) {
  walk *w = self;
  char path[4000];
  const char *folder = w->path;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (!is_dir) {
    if (tn_has_suffix(name, ".onnx")) check_model(w, path);
    return 0;
  }
  w->path = path;
  (void)tn_dir_each(path, NULL, visit, w);
  w->path = folder;
  return 0;
}

static void check_folder(const char *path, int least) {
  walk w = {.path = path};
  assert_int_equal(tn_dir_each(path, NULL, visit, &w), TN_OK);
  print_message("%s: %d models, %d of them damaged on purpose, %d values\n", path, w.n_models,
                w.n_damaged, w.n_values);
  assert_int_equal(w.n_failed, 0);
  assert_true(w.n_models >= least);
}

static void skip_without(bool there, const char *path) {
  if (there) return;
  print_message("skipped: %s is not here (TENON_TESTDATA names the folder of the test data)\n",
                path);
  skip();
}

static void check_testdata(const char *name, int least) {
  char path[2000];
  skip_without(kit_testdata(name, path, sizeof path), path);
  check_folder(path, least);
}

static void node_cases(void **state) {
  (void)state;
  check_testdata("onnx-node", 1000);
}

static void old_node_cases(void **state) {
  (void)state;
  check_testdata("onnx-node-old", 500);
}

static void cases_of_other_projects(void **state) {
  (void)state;
  check_testdata("onnx-cases", 200);
}

static void whole_networks(void **state) {
  (void)state;
  check_testdata("onnx-models", 20);
}

static void debian_cases(void **state) {
  (void)state;
  static const char path[] = "/usr/share/libonnx-testdata/data";
  struct stat info;
  skip_without(stat(path, &info) == 0, path);
  check_folder(path, 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(node_cases),     cmocka_unit_test(old_node_cases),
      cmocka_unit_test(whole_networks), cmocka_unit_test(cases_of_other_projects),
      cmocka_unit_test(debian_cases),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
