/* Writing: what is written reads back as the same graph; regions, layouts, fused steps and unnamed
 * values are told so that other tools can read them; every failing allocation and write is an
 * error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample.h"

static const tn_graph_api *const api = &tn_graph_api_table;

/* Writes the graph and reads the file again; the caller frees f. */
static void write_and_read(const tn_graph *g, fixture *f) {
  kit k;
  pb file;
  kit_init(&k);
  tn_status s = kit_write(&k, g, &file);
  if (s) fail_msg("%s", tn_text_get(&k.messages));
  assert_int_equal(k.n_live, 0);
  kit_free(&k);
  must_read(f, file);
}

/* The dump without what a file written by Tenon says otherwise. */
static void dump_without_ir_version(tn_graph *g, tn_text *out) {
  tn_text_init(out, tn_default_allocator());
  kit_dump(g, out);
  char *line = strstr(out->data, "meta 'ir_version'");
  if (line) memmove(line, strchr(line, '\n'), strlen(strchr(line, '\n')) + 1);
}

static void expect_round_trip(pb model) {
  fixture f, again;
  tn_text before, after;
  must_read(&f, model);
  write_and_read(f.g, &again);
  dump_without_ir_version(f.g, &before);
  dump_without_ir_version(again.g, &after);
  assert_string_equal(tn_text_get(&before), tn_text_get(&after));
  tn_text_free(&before);
  tn_text_free(&after);
  close_model(&again);
  close_model(&f);
}

static void round_trips(void **state) {
  (void)state;
  expect_round_trip(sample_model());
  expect_round_trip(function_model());
  expect_round_trip(if_model());
}

/* After captures are bound, the graph still says the same. */
static void captures_go_by_their_outer_names(void **state) {
  (void)state;
  fixture f, again;
  must_read(&f, if_model());
  assert_int_equal(tn_graph_resolve(f.g, NULL), TN_OK);
  write_and_read(f.g, &again);
  assert_int_equal(tn_graph_resolve(again.g, NULL), TN_OK);
  int32_t node = api->node_at(again.g, 0), outer;
  assert_int_equal(api->node_n_formal(again.g, node), 1);
  const tn_graph *sub = api->node_graph(again.g, node, 0);
  assert_true(api->capture(sub, 0, &outer) >= 0);
  assert_string_equal(api->value_name(again.g, outer), "x");
  /* the constant w is written once, outside */
  int n = 0;
  for (const char *p = again.file.data; p + 5 < again.file.data + again.file.n; p++)
    n += !memcmp(p, "B\1wJ\f", 5);
  assert_int_equal(n, 1);
  close_model(&again);
  close_model(&f);
}

/* An input with a default of 3 elements that is declared with any number of them, n. */
static void inputs_keep_their_declared_types(void **state) {
  (void)state;
  const int64_t open = -1;
  pb g = io_graph(), type = pb_new(), tensor = pb_new(), shape = pb_new(), dim = pb_new();
  pb_str(&dim, 2, "n");
  pb_msg(&shape, 1, dim);
  pb_int(&tensor, 1, 1);
  pb_msg(&tensor, 2, shape);
  pb_msg(&type, 1, tensor);
  pb_msg(&g, 11, pb_value("w", type));
  pb_msg(&g, 5, pb_floats("w", 3));
  pb_msg(&g, 1, pb_node("Add", "add", "x,w", "y"));
  fixture f, again;
  must_read(&f, pb_model(g, 17));
  write_and_read(f.g, &again);
  assert_int_equal(api->n_inputs(again.g), 1);
  const int32_t w = api->input(again.g, 1);
  assert_string_equal(api->value_name(again.g, w), "w");
  assert_int_equal(api->value_type(again.g, w)->shape[0], 3);
  assert_int_equal(api->input_type(again.g, 1)->dtype, TN_F32);
  assert_int_equal(api->input_type(again.g, 1)->rank, 1);
  assert_int_equal(api->input_type(again.g, 1)->shape[0], open);
  assert_string_equal(api->value_dim_name(again.g, w, 0), "n");
  assert_int_equal(api->input_type(again.g, 0)->shape[0], 3);
  assert_null(api->input_type(again.g, 2));
  assert_null(api->input_type(again.g, -1));
  close_model(&again);
  close_model(&f);
}

/* ---- Two files ---- */

/* Writes the graph with the second file in `dir`, and reads both. */
static void write_two_and_read(const tn_graph *g, uint64_t data_from, const char *dir, fixture *f) {
  char path[200];
  kit k;
  pb file;
  tn_text data;
  kit_init(&k);
  tn_text_init(&file, tn_default_allocator());
  tn_text_init(&data, tn_default_allocator());
  k.out_data = &data;
  tn_sink sink = kit_data_sink(&k, &file, data_from);
  if (onnx_format.write(&sink, g)) fail_msg("%s", tn_text_get(&k.messages));
  assert_int_equal(k.n_live, 0);
  snprintf(path, sizeof path, "%s/weights.bin", dir);
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  if (data.n) assert_int_equal(fwrite(data.data, 1, (size_t)data.n, out), data.n);
  assert_int_equal(fclose(out), 0);
  tn_text_free(&data);
  kit_free(&k);
  must_read_in(f, file, dir);
}

static void two_round_trips(pb model, const char *dir) {
  fixture f, again;
  tn_text before, after;
  must_read(&f, model);
  write_two_and_read(f.g, 1, dir, &again);
  dump_without_ir_version(f.g, &before);
  dump_without_ir_version(again.g, &after);
  assert_string_equal(tn_text_get(&before), tn_text_get(&after));
  tn_text_free(&before);
  tn_text_free(&after);
  close_model(&again);
  close_model(&f);
}

static void external_data(void **state) {
  (void)state;
  char dir[] = "/tmp/tenon-writer-XXXXXX", path[200];
  assert_non_null(mkdtemp(dir));
  two_round_trips(sample_model(), dir);
  two_round_trips(function_model(), dir);
  two_round_trips(if_model(), dir);
  snprintf(path, sizeof path, "%s/weights.bin", dir);
  unlink(path);
  rmdir(dir);
}

/* ---- Graphs that no file gives ---- */

typedef struct made {
  tn_graph *g;
  int32_t x, y;
} made;

static int32_t typed_value(tn_graph *g, const char *name, int32_t rank, const int64_t *shape) {
  int32_t v = api->value(g, name);
  tn_tensor t = tn_tensor_make(TN_F32, rank, shape, NULL);
  assert_int_equal(api->value_set_type(g, v, &t), TN_OK);
  return v;
}

static made make_graph(int32_t rank, const int64_t *shape) {
  made m = {.g = tn_graph_new(tn_default_allocator())};
  m.x = typed_value(m.g, "x", rank, shape);
  m.y = typed_value(m.g, "y", rank, shape);
  assert_int_equal(api->set_opset(m.g, "", 17), TN_OK);
  assert_int_equal(api->add_input(m.g, m.x), TN_OK);
  assert_int_equal(api->add_output(m.g, m.y), TN_OK);
  return m;
}

static int32_t add_node(tn_graph *g, const char *domain, const char *op, int32_t in, int32_t out,
                        const tn_attr *attr) {
  tn_node n = {.head = TN_HEAD(tn_node),
               .domain = domain,
               .op = op,
               .name = op,
               .n_inputs = 1,
               .n_outputs = 1,
               .inputs = &in,
               .outputs = &out,
               .n_attrs = attr != NULL,
               .attrs = &attr,
               .offset = -1};
  int32_t id = api->add_node(g, &n);
  assert_true(id >= 0);
  return id;
}

static void unnamed_values_get_names(void **state) {
  (void)state;
  const int64_t shape[] = {2};
  made m = make_graph(1, shape);
  int32_t a = api->value(m.g, NULL), b = api->value(m.g, "value_0"), c = api->value(m.g, NULL);
  add_node(m.g, "", "Neg", m.x, a, NULL);
  add_node(m.g, "", "Abs", a, b, NULL);
  add_node(m.g, "", "Exp", b, c, NULL);
  add_node(m.g, "", "Log", c, m.y, NULL);
  fixture f;
  write_and_read(m.g, &f);
  assert_int_equal(tn_graph_resolve(f.g, NULL), TN_OK);
  assert_int_equal(api->n_nodes(f.g), 4);
  const tn_node *exp = api->node(f.g, api->node_at(f.g, 2));
  assert_string_equal(exp->op, "Exp");
  assert_string_equal(api->value_name(f.g, exp->inputs[0]), "value_0");
  close_model(&f);
  tn_graph_free(m.g);
}

/* Inside, "a" is a value of its own; outside, a pass has put "a" in the place of the captured "b".
 */
static void names_that_would_clash(void **state) {
  (void)state;
  const int64_t shape[] = {2};
  made m = make_graph(1, shape);
  tn_graph *sub = api->subgraph_new(m.g);
  int32_t inner_a = api->value(sub, "a"), inner_b = api->value(sub, "b"), r = api->value(sub, "r");
  add_node(sub, "", "Neg", inner_b, inner_a, NULL);
  add_node(sub, "", "Exp", inner_a, r, NULL);
  assert_int_equal(api->add_output(sub, r), TN_OK);
  int32_t a = typed_value(m.g, "a", 1, shape), b = typed_value(m.g, "b", 1, shape);
  add_node(m.g, "", "Abs", m.x, a, NULL);
  add_node(m.g, "", "Identity", a, b, NULL);
  tn_attr body = {.head = TN_HEAD(tn_attr),
                  .name = "body",
                  .kind = TN_ATTR_GRAPH,
                  .graphs = &sub,
                  .n_graphs = 1};
  add_node(m.g, "", "If", m.x, m.y, &body);
  assert_int_equal(tn_graph_resolve(m.g, NULL), TN_OK);
  assert_int_equal(api->replace_value(m.g, b, a), TN_OK);
  fixture f;
  write_and_read(m.g, &f);
  const tn_graph *again = api->node_graph(f.g, api->node_at(f.g, api->n_nodes(f.g) - 1), 0);
  assert_non_null(again);
  const tn_node *neg = api->node(again, api->node_at(again, 0)),
                *exp = api->node(again, api->node_at(again, 1));
  assert_string_equal(neg->op, "Neg");
  assert_string_equal(api->value_name(again, neg->inputs[0]), "a");
  assert_string_not_equal(api->value_name(again, neg->outputs[0]), "a");
  assert_int_equal(neg->outputs[0], exp->inputs[0]);
  close_model(&f);
  tn_graph_free(m.g);
}

static tn_region copy_of(int64_t offset) {
  return (tn_region){.head = TN_HEAD(tn_region),
                     .rank = 2,
                     .src_offset = 1,
                     .dst_offset = offset,
                     .size = {2, 3},
                     .src_stride = {3, 1},
                     .dst_stride = {1, 2}};
}

static void regions_are_told(void **state) {
  (void)state;
  const int64_t in[] = {4, 3}, out[] = {3, 2};
  made m = make_graph(2, in);
  int32_t t = typed_value(m.g, "t", 2, out), id = add_node(m.g, "", "Transpose", m.x, t, NULL);
  const tn_region region = copy_of(0), *regions = &region;
  assert_int_equal(api->set_regions(m.g, id, &m.x, 1, &regions, 1, -1), TN_OK);
  add_node(m.g, "", "Foo", t, m.y, NULL);
  fixture f;
  write_and_read(m.g, &f);
  const tn_node *n = api->node(f.g, api->node_at(f.g, 0));
  assert_string_equal(n->domain, "tenon");
  assert_string_equal(n->op, "Region");
  assert_int_equal(api->opset(f.g, "tenon"), 1);
  const tn_attr *a = tn_node_attr(n, "regions");
  assert_non_null(a);
  assert_int_equal(a->strs.size, 1);
  assert_true(
      tn_str_is(a->strs.data[0],
                "input=0 size=[2,3] src_offset=1 src_stride=[3,1] dst_offset=0 dst_stride=[1,2]"));
  close_model(&f);
  tn_graph_free(m.g);
}

static void layouts_are_told(void **state) {
  (void)state;
  const int64_t shape[] = {1, 3, 1, 2};
  made m = make_graph(4, shape);
  tn_attr layout = {
      .head = TN_HEAD(tn_attr), .name = "layout", .kind = TN_ATTR_INT, .i = (int64_t)TN_BLOCKED(4)};
  int32_t blocked = typed_value(m.g, "b", 4, shape), c = api->value(m.g, "c");
  tn_tensor b = *tn_graph_val(m.g, blocked)->type;
  b.layout = TN_BLOCKED(4);
  assert_int_equal(tn_graph_set_type(m.g, blocked, &b), TN_OK);
  add_node(m.g, "tenon", "Reorder", m.x, blocked, &layout);
  const float stored[8] = {1, 3, 5, 0, 2, 4, 6, 0}; /* [c][x] = 1 2, 3 4, 5 6 */
  tn_tensor t = tn_tensor_make(TN_F32, 4, shape, NULL);
  t.layout = TN_BLOCKED(4);
  union {
    const float *in;
    void *out;
  } data = {stored};
  t.data = data.out;
  assert_int_equal(api->value_set_const(m.g, c, &t, 1), TN_OK);
  const int32_t ins[] = {blocked, c};
  tn_node n = {.head = TN_HEAD(tn_node),
               .domain = "",
               .op = "Add",
               .name = "",
               .n_inputs = 2,
               .n_outputs = 1,
               .inputs = ins,
               .outputs = &m.y,
               .offset = -1};
  assert_true(api->add_node(m.g, &n) >= 0);
  fixture f;
  write_and_read(m.g, &f);
  assert_true(
      tn_str_is(tn_node_attr(api->node(f.g, api->node_at(f.g, 0)), "layout")->s, "blocked4"));
  const tn_tensor *plain = api->value_type(f.g, api->value(f.g, "c"));
  for (int64_t k = 0; k < 6; k++)
    assert_true(tn_load_f64(TN_F32, plain->data, k) == (double)(k + 1));
  assert_non_null(memmem(f.file.data, (size_t)f.file.n, "b=blocked4 c=blocked4", 21));
  close_model(&f);
  tn_graph_free(m.g);
}

static void fused_steps_become_nodes(void **state) {
  (void)state;
  const int64_t shape[] = {2, 3};
  made m = make_graph(2, shape);
  int32_t id = add_node(m.g, "", "Foo", m.x, m.y, NULL),
          other = typed_value(m.g, "other", 2, shape);
  assert_int_equal(api->add_input(m.g, other), TN_OK);
  assert_int_equal(tn_graph_append_node_input(m.g, id, other), TN_OK);
  const tn_epilogue add = {TN_HEAD(tn_epilogue), TN_EPILOGUE_ADD, 1, 0, 0};
  const tn_epilogue clip = {TN_HEAD(tn_epilogue), TN_EPILOGUE_CLIP, -1, 0, 6};
  const tn_epilogue leaky = {TN_HEAD(tn_epilogue), TN_EPILOGUE_LEAKY_RELU, -1, 0.5, 0};
  const tn_epilogue *steps[] = {&add, &clip, &leaky};
  tn_graph_node(m.g, id)->epilogue = steps;
  tn_graph_node(m.g, id)->n_epilogue = 3;
  fixture f;
  write_and_read(m.g, &f);
  assert_int_equal(tn_graph_resolve(f.g, NULL), TN_OK);
  assert_int_equal(api->n_nodes(f.g), 4);
  static const char *const ops[] = {"Foo", "Add", "Clip", "LeakyRelu"};
  for (int32_t k = 0; k < 4; k++)
    assert_string_equal(api->node(f.g, api->node_at(f.g, k))->op, ops[k]);
  const tn_node *foo = api->node(f.g, api->node_at(f.g, 0)),
                *plus = api->node(f.g, api->node_at(f.g, 1));
  assert_int_equal(foo->n_inputs, 1);
  assert_int_equal(plus->inputs[0], foo->outputs[0]);
  assert_string_equal(api->value_name(f.g, plus->inputs[1]), "other");
  const tn_node *clipped = api->node(f.g, api->node_at(f.g, 2)),
                *last = api->node(f.g, api->node_at(f.g, 3));
  assert_true(tn_load_f64(TN_F32, api->value_type(f.g, clipped->inputs[2])->data, 0) == 6);
  assert_true(tn_node_attr(last, "alpha")->f == 0.5);
  assert_string_equal(api->value_name(f.g, last->outputs[0]), "y");
  close_model(&f);
  tn_graph_free(m.g);
}

static void lowered_nodes_lift_the_operator_set(void **state) {
  (void)state;
  const int64_t shape[] = {2};
  made m = make_graph(1, shape);
  int32_t id = add_node(m.g, "", "Neg", m.x, m.y, NULL);
  tn_graph_node(m.g, id)->node.version = TN_VERSION_NEWEST;
  fixture f;
  write_and_read(m.g, &f);
  assert_int_equal(api->opset(f.g, ""), 24);
  close_model(&f);
  tn_graph_free(m.g);
}

/* The bytes of a StringStringEntryProto stand in the file. */
static bool has_entry(const tn_text *file, const char *key, const char *value) {
  char entry[80];
  const int n = snprintf(entry, sizeof entry, "\n%c%s\022%c%s", (int)strlen(key), key,
                         (int)strlen(value), value);
  return memmem(file->data, (size_t)file->n, entry, (size_t)n) != NULL;
}

static void add_constant_node(made m, uint32_t dtype, int64_t n, void *data, int32_t out) {
  const tn_tensor t = tn_tensor_make(dtype, 1, &n, data);
  const int32_t c = api->value(m.g, NULL);
  assert_int_equal(api->value_set_const(m.g, c, &t, 0), TN_OK);
  add_node(m.g, "", "Neg", c, out, NULL);
}

/* Of four constants, those of 1000 bytes and more stand at pages of the second file. */
static void where_external_data_stands(void **state) {
  (void)state;
  uint8_t bytes[5000] = {7, 8, 9};
  const uint8_t six[] = {7, 2 | 9 << 4, 0}; /* 7, 8, 9, 0 as floats of six bits */
  const int64_t scalar[] = {1};
  made m = make_graph(1, scalar);
  tn_text file, data;
  kit k;
  kit_init(&k);
  tn_text_init(&file, tn_default_allocator());
  tn_text_init(&data, tn_default_allocator());
  add_constant_node(m, TN_U8, 1000, bytes, api->value(m.g, NULL));
  add_constant_node(m, TN_U8, 999, bytes, api->value(m.g, NULL));
  add_constant_node(m, TN_F6E2M3, 5000, bytes, api->value(m.g, NULL));
  add_constant_node(m, TN_F32, 250, bytes, m.y);
  k.out_data = &data;
  tn_sink sink = kit_data_sink(&k, &file, 1000);
  assert_int_equal(onnx_format.write(&sink, m.g), TN_OK);
  assert_int_equal(data.n, 8192 + 1000);
  assert_memory_equal(data.data, bytes, 1000);
  for (int i = 1000; i < 4096; i++) assert_int_equal(data.data[i], 0);
  assert_memory_equal(data.data + 4096, six, sizeof six);
  assert_memory_equal(data.data + 8192, bytes, 1000);
  assert_true(has_entry(&file, "offset", "0") && has_entry(&file, "length", "1000"));
  assert_true(has_entry(&file, "offset", "4096") && has_entry(&file, "length", "3750"));
  assert_true(has_entry(&file, "offset", "8192") && has_entry(&file, "location", "weights.bin"));
  tn_text_free(&file);
  tn_text_free(&data);
  kit_free(&k);
  tn_graph_free(m.g);
}

/* ---- Failures ---- */

static void files_beyond_2_gb(void **state) {
  (void)state;
  const int64_t shape[] = {1 << 30};
  made m = make_graph(1, shape);
  static float one;
  tn_tensor t = tn_tensor_make(TN_F32, 1, shape, &one); /* nobody touches the other elements */
  int32_t c = api->value(m.g, "c");
  assert_int_equal(api->value_set_const(m.g, c, &t, 0), TN_OK);
  add_node(m.g, "", "Neg", c, m.y, NULL);
  kit k;
  pb file;
  kit_init(&k);
  assert_int_equal(kit_write(&k, m.g, &file), TN_ERR_OVERFLOW);
  assert_non_null(strstr(tn_text_get(&k.messages), "protobuf files end at 2 GB"));
  assert_int_equal(file.n, 0);
  tn_sink sink = kit_data_sink(&k, &file, UINT64_MAX);
  /* It goes to a second file by itself, if there may be one. */
  assert_int_equal(onnx_format.write(&sink, m.g), TN_OK);
  assert_true(k.n_data == INT64_C(1) << 32);
  assert_true(file.n > 0 && file.n < 1000);
  tn_text_free(&file);
  kit_free(&k);
  tn_graph_free(m.g);
}

static void every_failing_allocation(void **state) {
  (void)state;
  fixture f;
  must_read(&f, sample_model());
  assert_int_equal(tn_graph_resolve(f.g, NULL), TN_OK);
  tn_status s = TN_ERR_MEMORY;
  int64_t at = 0;
  while (s == TN_ERR_MEMORY) {
    kit k;
    pb file;
    kit_init(&k);
    k.fail_at = ++at;
    tn_text_init(&file, tn_default_allocator());
    tn_sink sink = kit_data_sink(&k, &file, 1);
    s = onnx_format.write(&sink, f.g);
    assert_int_equal(k.n_live, 0);
    assert_true(s == TN_OK || strstr(tn_text_get(&k.messages), "out of memory"));
    tn_text_free(&file);
    kit_free(&k);
  }
  assert_int_equal(s, TN_OK);
  assert_true(at > 5);
  close_model(&f);
}

static tn_status full_disk(void *ctx, const void *data, uint64_t size) {
  (void)ctx, (void)data, (void)size;
  return TN_ERR_IO;
}

static void a_sink_that_fails(void **state) {
  (void)state;
  fixture f;
  must_read(&f, if_model());
  tn_sink sink = kit_sink(&f.k, NULL);
  sink.write = full_disk;
  assert_int_equal(onnx_format.write(&sink, f.g), TN_ERR_IO);
  sink = kit_data_sink(&f.k, NULL, 1);
  sink.write_data = full_disk;
  assert_int_equal(onnx_format.write(&sink, f.g), TN_ERR_IO);
  assert_int_equal(f.k.n_live, 0);
  close_model(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trips),
      cmocka_unit_test(captures_go_by_their_outer_names),
      cmocka_unit_test(unnamed_values_get_names),
      cmocka_unit_test(names_that_would_clash),
      cmocka_unit_test(regions_are_told),
      cmocka_unit_test(layouts_are_told),
      cmocka_unit_test(fused_steps_become_nodes),
      cmocka_unit_test(lowered_nodes_lift_the_operator_set),
      cmocka_unit_test(inputs_keep_their_declared_types),
      cmocka_unit_test(external_data),
      cmocka_unit_test(where_external_data_stands),
      cmocka_unit_test(files_beyond_2_gb),
      cmocka_unit_test(every_failing_allocation),
      cmocka_unit_test(a_sink_that_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
