/* Loading and saving models through a small text format: recognition, external data, messages that
 * carry the path, stages.
 *
 * The format, one word per blank:  TPARTS / input NAME N / data NAME FILE / node OP OUT IN [IN]
 * / output NAME / part FORMAT DEPTH (in it another, and so on down to 0; -1 makes no sense) */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec_parts.h"
#include "tenon/experimental/read_as.h"

/* ---- the format ---- */

static int32_t lines_probe(const uint8_t *data, uint64_t size) {
  return size >= 6 && !memcmp(data, "TPARTS", 6) ? 100 : 0;
}

static tn_status read_data(const tn_source *s, tn_graph *g, const char *name, const char *file) {
  const tn_graph_api *api = s->host->graph;
  const uint8_t *data;
  uint64_t size;
  tn_status status = s->open_sibling(s->ctx, file, &data, &size);
  if (status) return status;
  union {
    const uint8_t *in;
    void *out;
  } cast = {data};
  tn_tensor t = vector(TN_F32, (int64_t)(size / 4), cast.out);
  return api->value_set_const(g, api->value(g, name), &t, 0);
}

static tn_status read_part(const tn_source *s, tn_graph *g, const char *format, int depth) {
  const tn_read_as *other = s->host->get_extension(s->ctx, TN_READ_AS);
  char text[100] = "TPARTS\n";
  assert_non_null(other);
  assert_null(s->host->get_extension(s->ctx, "read_as.v1"));
  assert_int_equal(other->read(s->ctx, NULL, "part", NULL, 0, g), TN_ERR_INVALID);
  if (depth < 0) strcat(text, "nonsense\n");
  if (depth > 0) snprintf(text, sizeof text, "TPARTS\npart %s %d\n", format, depth - 1);
  return other->read(s->ctx, format, "part", (const uint8_t *)text, strlen(text),
                     s->host->graph->subgraph_new(g));
}

static tn_status read_line(const tn_source *s, tn_graph *g, const char *line) {
  const tn_graph_api *api = s->host->graph;
  char w[5][64] = {""};
  int n = sscanf(line, "%63s %63s %63s %63s %63s", w[0], w[1], w[2], w[3], w[4]);
  if (n == 3 && !strcmp(w[0], "input")) {
    int64_t dim = atoll(w[2]);
    tn_tensor type = tn_tensor_make(TN_F32, 1, &dim, NULL);
    int32_t v = api->value(g, w[1]);
    tn_status status = api->value_set_type(g, v, &type);
    return status ? status : api->add_input(g, v);
  }
  if (n == 3 && !strcmp(w[0], "part")) return read_part(s, g, w[1], atoi(w[2]));
  if (n == 3 && !strcmp(w[0], "data")) return read_data(s, g, w[1], w[2]);
  if (n == 2 && !strcmp(w[0], "output")) return api->add_output(g, api->value(g, w[1]));
  if (n < 4 || strcmp(w[0], "node"))
    return (s->host->fail)(s->ctx, TN_ERR_INVALID, "line '%s' makes no sense", line);
  add_node(g, w[1], w[3], n > 4 ? w[4] : NULL, w[2], NULL, NULL);
  return TN_OK;
}

static tn_status lines_read(const tn_source *s, tn_graph *g) {
  char line[256];
  uint64_t at = 6;
  if (!lines_probe(s->data, s->size)) return TN_ERR_INVALID;
  tn_status status = s->host->graph->set_opset(g, "test", 1);
  while (!status && at < s->size) {
    size_t n = 0;
    while (at < s->size && s->data[at] != '\n' && n < sizeof line - 1)
      line[n++] = (char)s->data[at++];
    line[n] = 0;
    at++;
    if (n) status = read_line(s, g, line);
  }
  return status;
}

static tn_status lines_write(const tn_sink *s, const tn_graph *g) {
  const tn_graph_api *api = s->host->graph;
  char line[300];
  tn_status status = s->write(s->ctx, "TPARTS\n", 7);
  for (int32_t k = 0; !status && k < api->n_inputs(g); k++) {
    int32_t v = api->input(g, k);
    int n = snprintf(line, sizeof line, "input %s %d\n", api->value_name(g, v),
                     (int)api->value_type(g, v)->shape[0]);
    status = s->write(s->ctx, line, (uint64_t)n);
  }
  for (int32_t k = 0; !status && k < api->n_nodes(g); k++) {
    const tn_node *node = api->node(g, api->node_at(g, k));
    if (!strcmp(node->name, "careless"))
      (void)s->write_data(s->ctx, "", 1); /* goes on whatever that answers */
    if (!strcmp(node->op, "Count"))
      return (s->host->fail)(s->ctx, TN_ERR_UNSUPPORTED, "Count cannot be written");
    int n = snprintf(line, sizeof line, "node %s %s %s %s\n", node->op,
                     api->value_name(g, node->outputs[0]), api->value_name(g, node->inputs[0]),
                     node->n_inputs > 1 ? api->value_name(g, node->inputs[1]) : "");
    status = s->write(s->ctx, line, (uint64_t)n);
  }
  for (int32_t k = 0; !status && k < api->n_outputs(g); k++) {
    int n = snprintf(line, sizeof line, "output %s\n", api->value_name(g, api->output(g, k)));
    status = s->write(s->ctx, line, (uint64_t)n);
  }
  return status;
}

static const tn_format lines_format = {.head = TN_HEAD(tn_format),
                                       .name = "lines",
                                       .extensions = ".lines",
                                       .probe = lines_probe,
                                       .read = lines_read,
                                       .write = lines_write};
static const tn_format *const formats[] = {&lines_format};
static const tn_plugin lines_plugin = {.head = TN_HEAD(tn_plugin),
                                       .name = "lines",
                                       .version = "1",
                                       .license = "Apache-2.0",
                                       .build_id = "test",
                                       .flavour = TN_FLAVOUR,
                                       .n_formats = 1,
                                       .formats = formats};

static const tn_plugin *lines_query(uint32_t major, uint32_t minor) {
  (void)major, (void)minor;
  return &lines_plugin;
}

/* ---- files ---- */

typedef struct place {
  bench b;
  char dir[64], path[128];
} place;

static void place_open(place *p) {
  bench_open(&p->b, NULL, 1);
  if (tn_runtime_add_plugin(p->b.runtime, lines_query, NULL, 0, p->b.diag))
    fail_msg("%s", tn_diag_text(p->b.diag));
  strcpy(p->dir, "/tmp/tenon_model_XXXXXX");
  assert_non_null(mkdtemp(p->dir));
}

static const char *put(place *p, const char *name, const void *data, size_t size) {
  snprintf(p->path, sizeof p->path, "%s/%s", p->dir, name);
  FILE *f = fopen(p->path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, size, f), size);
  fclose(f);
  return p->path;
}

static const char *put_text(place *p, const char *name, const char *text) {
  return put(p, name, text, strlen(text));
}

static void place_close(place *p, const char *const *names) {
  for (; *names; names++) {
    snprintf(p->path, sizeof p->path, "%s/%s", p->dir, *names);
    assert_int_equal(unlink(p->path), 0);
  }
  assert_int_equal(rmdir(p->dir), 0); /* nothing else was left there */
  bench_close(&p->b);
}

/* ---- tests ---- */

static void test_load_with_external_data(void **state) {
  place p;
  float w[] = {10, 20, 30};
  (void)state;
  place_open(&p);
  put(&p, "w.bin", w, sizeof w);
  put_text(
      &p, "m.lines",
      "TPARTS\ninput x -1\ndata w w.bin\ndata v w.bin\nnode Add s x w\nnode Add y s v\noutput y\n");
  assert_int_equal(tn_model_load(p.b.runtime, p.path, NULL, p.b.diag, &p.b.model), TN_OK);
  assert_int_equal(tn_model_n_inputs(p.b.model), 1);
  assert_string_equal(tn_model_input_name(p.b.model, 0), "x");
  assert_int_equal(tn_model_find_input(p.b.model, "w"), -1);
  assert_int_equal(tn_model_find_output(p.b.model, "y"), 0);
  assert_null(tn_model_output_name(p.b.model, 1));
  tn_tensor type;
  assert_int_equal(tn_model_input_type(p.b.model, 0, &type), TN_OK);
  assert_int_equal(type.shape[0], TN_DIM_UNKNOWN);
  assert_int_equal(tn_session_create(p.b.model, p.b.diag, &p.b.session), TN_OK);
  float x[] = {1, 2, 3};
  set_input(&p.b, 0, TN_F32, 3, x);
  bench_run(&p.b);
  check_output(&p.b, 0, (float[]){21, 42, 63}, 3);
  static const char *const names[] = {"m.lines", "w.bin", NULL};
  place_close(&p, names);
}

static void check_refused(place *p, const char *text, tn_status expected, const char *reason) {
  put_text(p, "m.lines", text);
  tn_diag_clear(p->b.diag);
  tn_status status = tn_model_load(p->b.runtime, p->path, NULL, p->b.diag, &p->b.model);
  const char *said = tn_diag_text(p->b.diag);
  if (status != expected || !strstr(said, reason))
    fail_msg("status %d, text: %s", (int)status, said);
  assert_null(p->b.model);
}

static void test_refusals_name_the_file(void **state) {
  place p;
  (void)state;
  place_open(&p);
  check_refused(&p, "hello", TN_ERR_INVALID,
                "m.lines: format lines: TN_ERR_INVALID"); /* goes by the ending */
  check_refused(&p, "", TN_ERR_INVALID, "m.lines: format lines: TN_ERR_INVALID");
  check_refused(&p, "TPARTS\nnonsense\n", TN_ERR_INVALID,
                "m.lines: line 'nonsense' makes no sense");
  check_refused(&p, "TPARTS\ndata w ../w.bin\n", TN_ERR_INVALID, "leaves the model's folder");
  check_refused(&p, "TPARTS\ndata w /etc/passwd\n", TN_ERR_INVALID, "leaves the model's folder");
  check_refused(&p, "TPARTS\ndata w nowhere.bin\n", TN_ERR_NOT_FOUND, "nowhere.bin");
  check_refused(&p, "TPARTS\ninput x 2\nnode Nothing y x\noutput y\n", TN_ERR_UNSUPPORTED,
                "Nothing");
  assert_int_equal(tn_model_load(p.b.runtime, "/nowhere/m.lines", NULL, p.b.diag, &p.b.model),
                   TN_ERR_NOT_FOUND);
  assert_non_null(strstr(tn_diag_text(p.b.diag), "/nowhere/m.lines"));
  tn_model_options options = {.head = TN_HEAD(tn_model_options), .format = "nosuch"};
  assert_int_equal(tn_model_load(p.b.runtime, p.path, &options, p.b.diag, &p.b.model),
                   TN_ERR_NOT_FOUND);
  options = (tn_model_options){.head = TN_HEAD(tn_model_options), .max_plans = -1};
  assert_int_equal(tn_model_load(p.b.runtime, p.path, &options, p.b.diag, &p.b.model),
                   TN_ERR_INVALID);
  options = (tn_model_options){.max_plans = 0};
  assert_int_equal(tn_model_load(p.b.runtime, p.path, &options, p.b.diag, &p.b.model),
                   TN_ERR_INVALID);
  static const char *const names[] = {"m.lines", NULL};
  place_close(&p, names);
}

static void test_load_from_memory(void **state) {
  place p;
  static const char good[] = "TPARTS\ninput x 2\nnode Double y x\noutput y\n",
                    external[] = "TPARTS\ndata w w.bin\n";
  (void)state;
  place_open(&p);
  assert_int_equal(tn_model_load_memory(p.b.runtime, external, sizeof external - 1, NULL, NULL,
                                        p.b.diag, &p.b.model),
                   TN_ERR_NOT_FOUND);
  assert_int_equal(tn_model_load_memory(p.b.runtime, NULL, 0, NULL, NULL, p.b.diag, &p.b.model),
                   TN_ERR_UNSUPPORTED);
  assert_int_equal(
      tn_model_load_memory(p.b.runtime, good, sizeof good - 1, NULL, NULL, p.b.diag, &p.b.model),
      TN_OK);
  tn_tensor type;
  assert_int_equal(tn_model_output_type(p.b.model, 0, &type), TN_OK);
  assert_int_equal(type.dtype, TN_F32); /* the file does not say; inference does */
  static const char *const names[] = {NULL};
  place_close(&p, names);
}

/* A file whose operators are not there can be looked at and saved, but not run. */
static void test_graph_only(void **state) {
  place p;
  static const char text[] = "TPARTS\ninput x 2\nnode Nothing y x \noutput y\n";
  tn_model_options options = {.head = TN_HEAD(tn_model_options), .flags = TN_MODEL_GRAPH_ONLY};
  (void)state;
  place_open(&p);
  put_text(&p, "m.lines", text);
  assert_int_equal(tn_model_load(p.b.runtime, p.path, &options, p.b.diag, &p.b.model), TN_OK);
  assert_int_equal(tn_graph_functions()->n_nodes(tn_model_graph(p.b.model)), 1);
  assert_string_equal(tn_model_format(p.b.model), "lines");
  tn_tensor type;
  assert_int_equal(tn_model_output_type(p.b.model, 0, &type), TN_OK);
  assert_int_equal(type.dtype, TN_NONE); /* nothing was inferred */
  assert_int_equal(tn_session_create(p.b.model, p.b.diag, &p.b.session), TN_ERR_STATE);
  char path[160], saved[100] = "";
  snprintf(path, sizeof path, "%s/out.lines", p.dir);
  assert_int_equal(tn_model_save(p.b.model, path, NULL, "infer", NULL, p.b.diag), TN_ERR_STATE);
  assert_int_equal(tn_model_save(p.b.model, path, NULL, "load", NULL, p.b.diag), TN_OK);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  assert_int_equal(fread(saved, 1, sizeof saved - 1, f), strlen(text));
  fclose(f);
  assert_string_equal(saved, text);
  static const char *const names[] = {"m.lines", "out.lines", NULL};
  place_close(&p, names);
}

static void check_saved(place *p, const char *stage, const char *expected) {
  char path[160], text[300] = "";
  snprintf(path, sizeof path, "%s/out.lines", p->dir);
  tn_status status = tn_model_save(p->b.model, path, NULL, stage, NULL, p->b.diag);
  if (status) fail_msg("stage %s: %s", stage, tn_diag_text(p->b.diag));
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  assert_string_equal(text, expected);
}

static void test_save(void **state) {
  place p;
  char path[160];
  static const char text[] =
      "TPARTS\ninput x 2\nnode Add s x x\nnode Double dead s \nnode Double y s \noutput y\n";
  static const char pruned[] = "TPARTS\ninput x 2\nnode Add s x x\nnode Double y s \noutput y\n";
  (void)state;
  place_open(&p);
  put_text(&p, "m.lines", text);
  assert_int_equal(tn_model_load(p.b.runtime, p.path, NULL, p.b.diag, &p.b.model), TN_OK);
  check_saved(&p, "load", text);
  check_saved(&p, NULL, text);
  check_saved(&p, "check", text);
  check_saved(&p, "infer", pruned);
  check_saved(&p, "fuse", pruned);
  check_saved(&p, "select", pruned);
  check_saved(&p, "arrange", pruned);
  snprintf(path, sizeof path, "%s/out.lines", p.dir);
  assert_int_equal(tn_model_save(p.b.model, path, NULL, "polish", NULL, p.b.diag), TN_ERR_INVALID);
  assert_int_equal(tn_model_save(p.b.model, path, "nosuch", "load", NULL, p.b.diag),
                   TN_ERR_NOT_FOUND);
  snprintf(path, sizeof path, "%s/nowhere/out.lines", p.dir);
  assert_int_not_equal(tn_model_save(p.b.model, path, NULL, "load", NULL, p.b.diag), TN_OK);
  static const char *const names[] = {"m.lines", "out.lines", NULL};
  place_close(&p, names);
}

/* A writer that gives up leaves the old file as it was. */
static void test_failed_save_leaves_the_file(void **state) {
  place p;
  char path[160], line[8] = "";
  (void)state;
  place_open(&p);
  put_text(&p, "m.lines", "TPARTS\ninput x -1\nnode Count y x\noutput y\n");
  assert_int_equal(tn_model_load(p.b.runtime, p.path, NULL, p.b.diag, &p.b.model), TN_OK);
  put_text(&p, "out.lines", "old");
  strcpy(path, p.path);
  assert_int_equal(tn_model_save(p.b.model, path, "lines", "load", NULL, p.b.diag),
                   TN_ERR_UNSUPPORTED);
  assert_non_null(strstr(tn_diag_text(p.b.diag), "out.lines: Count cannot be written"));
  assert_int_equal(tn_model_save(p.b.model, path, "lines", "infer", NULL, p.b.diag),
                   TN_ERR_INVALID);
  assert_non_null(strstr(tn_diag_text(p.b.diag), "input 'x' is declared as f32[?]"));
  FILE *f = fopen(path, "rb");
  assert_non_null(fgets(line, sizeof line, f));
  fclose(f);
  assert_string_equal(line, "old");
  static const char *const names[] = {"m.lines", "out.lines", NULL};
  place_close(&p, names);
}

/* A writer that goes on after a failed write has written no whole model. */
static void test_careless_writer(void **state) {
  place p;
  char path[160], line[8] = "";
  (void)state;
  place_open(&p);
  put_text(&p, "w.bin", "12345678");
  put_text(&p, "m.lines", "TPARTS\ndata w w.bin\nnode Double careless w \noutput careless\n");
  assert_int_equal(tn_model_load(p.b.runtime, p.path, NULL, p.b.diag, &p.b.model), TN_OK);
  put_text(&p, "out.lines", "old");
  strcpy(path, p.path);
  const tn_save_options options = {.head = TN_HEAD(tn_save_options), .data_file = "w.bin"};
  assert_int_equal(tn_model_save_as(p.b.model, path, &options, p.b.diag), TN_ERR_STATE);
  assert_non_null(strstr(tn_diag_text(p.b.diag), "w.bin: the model that is saved has its weights"));
  FILE *f = fopen(path, "rb");
  assert_non_null(fgets(line, sizeof line, f));
  fclose(f);
  assert_string_equal(line, "old");
  static const char *const names[] = {"m.lines", "out.lines", "w.bin", NULL};
  place_close(&p, names);
}

/* A format without a second file puts nothing there, however large weights are. */
static void test_no_second_file(void **state) {
  place p;
  char path[160];
  (void)state;
  place_open(&p);
  put_text(&p, "w.bin", "12345678");
  put_text(&p, "m.lines", "TPARTS\ndata w w.bin\nnode Double y w \noutput y\n");
  assert_int_equal(tn_model_load(p.b.runtime, p.path, NULL, p.b.diag, &p.b.model), TN_OK);
  snprintf(path, sizeof path, "%s/out.lines", p.dir);
  tn_save_options options = {
      .head = TN_HEAD(tn_save_options), .data_file = "out.bin", .data_from = 8};
  assert_int_equal(tn_model_save_as(p.b.model, path, &options, p.b.diag), TN_OK);
  assert_non_null(
      strstr(tn_diag_message(p.b.diag, 0, NULL), "into out.bin: format 'lines' put no weights"));
  options.data_from = 9;
  assert_int_equal(tn_model_save_as(p.b.model, path, &options, p.b.diag), TN_OK);
  assert_non_null(
      strstr(tn_diag_message(p.b.diag, 1, NULL), "into out.bin: no weights are large enough"));
  static const char *const names[] = {"m.lines", "out.lines", "w.bin", NULL};
  place_close(&p, names);
}

typedef struct failing {
  int n_allocs, fail_at; /* fail_at: that one and all after it; -1: none */
} failing;

static void *fail_alloc(void *self, uint64_t bytes) {
  failing *f = self;
  const int n = f->n_allocs++;
  return f->fail_at >= 0 && n >= f->fail_at ? NULL : malloc((size_t)bytes);
}

static void fail_free(void *self, void *memory, uint64_t bytes) {
  (void)self, (void)bytes;
  free(memory);
}

/* Whatever request fails while a file is read, the message says how large the file is. */
static void test_no_memory_for_a_file(void **state) {
  failing f = {0, -1};
  const tn_allocator a = {TN_HEAD(tn_allocator), &f, fail_alloc, fail_free};
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  tn_model *model = NULL;
  tn_status status = TN_ERR_MEMORY;
  (void)state;
  enum { BEFORE = 10 }; /* requests until the file is open */
  struct stat info;
  char text[80];
  assert_int_equal(stat("tests/data/net.onnx", &info), 0);
  snprintf(text, sizeof text, "in this file of %lld bytes", (long long)info.st_size);
  o.allocator = &a;
  o.n_threads = 1;
  o.flags = TN_RUNTIME_NO_DISCOVERY;
  assert_int_equal(tn_runtime_create(&o, NULL, &runtime), TN_OK);
  int n = 0;
  for (; status == TN_ERR_MEMORY; n++) {
    tn_diag *diag = tn_diag_create();
    f.fail_at = f.n_allocs + n;
    status = tn_model_load(runtime, "tests/data/net.onnx", NULL, diag, &model);
    if (status == TN_ERR_MEMORY && n >= BEFORE && !strstr(tn_diag_text(diag), text))
      fail_msg("request %d: %s", n, tn_diag_text(diag));
    tn_diag_destroy(diag);
  }
  f.fail_at = -1;
  assert_int_equal(status, TN_OK);
  assert_true(n > 2 * BEFORE);
  tn_model_destroy(model);
  tn_runtime_destroy(runtime);
}

/* A part that another reader reads: which there may not be, which may fail, and not without end. */
static void test_parts_in_other_formats(void **state) {
  static const struct {
    const char *part, *says; /* NULL: it is read */
    tn_status status;
  } cases[] = {
      {"lines 7", NULL, TN_OK},
      {"lines 8", "parts of other formats are in each other more than 8 deep", TN_ERR_OVERFLOW},
      {"lines -1", "line 'nonsense' makes no sense", TN_ERR_INVALID},
      {"none 0", "format lines:", TN_ERR_NOT_FOUND}};
  place p;
  (void)state;
  place_open(&p);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[100];
    snprintf(text, sizeof text, "TPARTS\ninput x 3\npart %s\noutput x\n", cases[k].part);
    put_text(&p, "m.lines", text);
    tn_model *model = NULL;
    tn_diag_clear(p.b.diag);
    assert_int_equal(tn_model_load(p.b.runtime, p.path, NULL, p.b.diag, &model), cases[k].status);
    if (cases[k].says) assert_non_null(strstr(tn_diag_text(p.b.diag), cases[k].says));
    tn_model_destroy(model);
  }
  place_close(&p, (const char *[]){"m.lines", NULL});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts_in_other_formats),
      cmocka_unit_test(test_no_memory_for_a_file),
      cmocka_unit_test(test_load_with_external_data),
      cmocka_unit_test(test_refusals_name_the_file),
      cmocka_unit_test(test_load_from_memory),
      cmocka_unit_test(test_graph_only),
      cmocka_unit_test(test_save),
      cmocka_unit_test(test_failed_save_leaves_the_file),
      cmocka_unit_test(test_careless_writer),
      cmocka_unit_test(test_no_second_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
