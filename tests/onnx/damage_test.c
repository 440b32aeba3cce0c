/* Damaged and hostile files: messages that say where, every truncation and many flipped bits, every
 * failing allocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "sample.h"

/* ---- Wire ---- */

static pb bytes_of(const char *data, int64_t n) {
  pb m = pb_new();
  tn_text_add_bytes(&m, data, n);
  return m;
}

static void wire_errors(void **state) {
  (void)state;
  expect_error(bytes_of("", 0), TN_ERR_INVALID, "holds no graph; it is no ONNX model");
  expect_error(bytes_of("\x80", 1), TN_ERR_INVALID, "breaks off inside a field, at byte 0");
  expect_error(bytes_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11), TN_ERR_INVALID,
               "field 1 is longer");
  expect_error(bytes_of("\x08\x03\x00\x00", 4), TN_ERR_INVALID, "damaged, at byte 2");
  expect_error(bytes_of("\x3a\x05zzzz", 6), TN_ERR_INVALID,
               "field 7 is longer than the message it stands in, at byte 0");
  expect_error(bytes_of("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), TN_ERR_INVALID,
               "field 7 is longer");
  expect_error(bytes_of("\x3b", 1), TN_ERR_INVALID, "field 7 has wire type 3");
  expect_error(bytes_of("\x3c", 1), TN_ERR_INVALID, "field 7 has wire type 4");
  expect_error(bytes_of("\x3e", 1), TN_ERR_INVALID, "field 7 has wire type 6");
  expect_error(bytes_of("\x3d\0\0\0\0", 5), TN_ERR_INVALID,
               "field 7 has wire type 5, but should be a string or message");
  expect_error(bytes_of("\x39\0\0\0", 4), TN_ERR_INVALID, "field 7 is longer");
}

static void unknown_fields_are_skipped(void **state) {
  (void)state;
  pb m = pb_model(io_graph(), 17);
  pb_int(&m, 1000, 5);
  pb_str(&m, 1001, "new");
  pb_f32(&m, 1002, 1);
  pb_f64(&m, 0x1fffffff, 1);
  fixture f;
  must_read(&f, m);
  close_model(&f);
}

/* ---- Models that make no sense ---- */

static void model_errors(void **state) {
  (void)state;
  pb m = pb_model(io_graph(), 17);
  pb_msg(&m, 7, io_graph());
  expect_error(m, TN_ERR_INVALID, "two graphs");
  m = pb_new();
  pb_int(&m, 1, 8);
  pb_msg(&m, 7, io_graph());
  expect_error(m, TN_ERR_INVALID, "imports no operator set");
  expect_error(pb_model(io_graph(), 0), TN_ERR_INVALID, "operator set '' has version 0");
  expect_error(pb_model(io_graph(), INT64_C(1) << 40), TN_ERR_INVALID, "has version 1099511627776");
  m = pb_new();
  for (int k = 0; k < 1025; k++) {
    char domain[20];
    snprintf(domain, sizeof domain, "d%d", k);
    pb_msg(&m, 8, pb_opset(domain, 1));
  }
  pb_msg(&m, 7, io_graph());
  expect_error(m, TN_ERR_OVERFLOW, "more than 1024 operator sets");
}

static void graph_errors(void **state) {
  (void)state;
  pb g = io_graph();
  pb_msg(&g, 11, pb_value_f32("x", 3));
  expect_error(pb_model(g, 17), TN_ERR_INVALID, "value 'x': the input is listed twice");
  g = io_graph();
  pb_msg(&g, 11, pb_value_f32("", 3));
  expect_error(pb_model(g, 17), TN_ERR_INVALID, "an input or output has no name");
  g = io_graph();
  pb_msg(&g, 5, pb_floats(NULL, 3));
  expect_error(pb_model(g, 17), TN_ERR_INVALID, "the initializer has no name");
  g = io_graph();
  pb_msg(&g, 1, pb_node("Add", "one", "x,x", "y"));
  pb_msg(&g, 1, pb_node("Add", "two", "x,x", "y"));
  expect_error(pb_model(g, 17), TN_ERR_INVALID,
               "node 'two' (Add): an output of the node has another source already");
  g = io_graph();
  pb_msg(&g, 1, pb_node("Add", "", "x,x", "x"));
  expect_error(pb_model(g, 17), TN_ERR_INVALID, "node #0 that makes 'x' (Add): an output");
  g = io_graph();
  pb_msg(&g, 1, pb_node("", "nameless", "x", "y"));
  expect_error(pb_model(g, 17), TN_ERR_INVALID, "node 'nameless': the node names no operator");
}

static void too_many_outputs(void **state) {
  (void)state;
  pb g = io_graph(), n = pb_node("Split", "split", "x", "");
  for (int k = 0; k < 4097; k++) pb_str(&n, 2, "");
  pb_msg(&g, 1, n);
  expect_error(pb_model(g, 17), TN_ERR_OVERFLOW, "node 'split' (Split): the node has 4097 outputs");
}

static pb nested_graphs(int depth) {
  pb g = io_graph();
  while (--depth > 0) {
    pb n = pb_node("Loop", "loop", "x", "y"), a = pb_attr("body", 5), outer = io_graph();
    pb_msg(&a, 6, g);
    pb_msg(&n, 5, a);
    pb_msg(&outer, 1, n);
    g = outer;
  }
  return pb_model(g, 17);
}

static void graphs_inside_graphs(void **state) {
  (void)state;
  fixture f;
  must_read(&f, nested_graphs(32));
  close_model(&f);
  expect_error(nested_graphs(33), TN_ERR_OVERFLOW, "nested more than 32 deep");
  expect_error(nested_graphs(300), TN_ERR_OVERFLOW, "nested more than 32 deep");
}

/* ---- Damage everywhere ---- */

/* Reads a copy of n bytes that ends where its block ends, so that the address sanitizer sees every
 * step too far. */
static tn_status read_copy(const char *data, int64_t n, int64_t flip) {
  kit k;
  tn_status s;
  char *copy = malloc(n ? (size_t)n : 1);
  if (n) memcpy(copy, data, (size_t)n);
  if (flip >= 0) copy[flip / 8] ^= (char)(1 << flip % 8);
  kit_init(&k);
  tn_graph *g = kit_read(&k, copy, (uint64_t)n, &s);
  assert_int_equal(k.n_live, 0);
  assert_true(g ? k.messages.n == 0 : k.messages.n > 0);
  tn_graph_free(g);
  kit_free(&k);
  free(copy);
  return s;
}

static void every_truncation(void **state) {
  (void)state;
  pb m = sample_model();
  int read = 0;
  for (int64_t n = 0; n <= m.n; n++) {
    tn_status s = read_copy(m.data, n, -1);
    read += s == TN_OK;
    if (n < m.n)
      assert_true(s == TN_OK || s == TN_ERR_INVALID);
    else
      assert_int_equal(s, TN_OK);
  }
  assert_true(read < 20); /* a cut between fields of the model leaves a model */
  tn_text_free(&m);
}

static void every_flipped_bit(void **state) {
  (void)state;
  pb m = sample_model();
  for (int64_t bit = 0; bit < 8 * m.n; bit++) (void)read_copy(m.data, m.n, bit);
  tn_text_free(&m);
}

static void every_failing_allocation(void **state) {
  (void)state;
  pb m = sample_model();
  tn_status s = TN_ERR_MEMORY;
  int64_t at = 0;
  while (s == TN_ERR_MEMORY) {
    kit k;
    kit_init(&k);
    k.fail_at = ++at;
    tn_graph *g = kit_read(&k, m.data, (uint64_t)m.n, &s);
    assert_int_equal(k.n_live, 0);
    assert_true(g || strstr(tn_text_get(&k.messages), "memory"));
    tn_graph_free(g);
    kit_free(&k);
  }
  assert_int_equal(s, TN_OK);
  assert_true(at > 10);
  tn_text_free(&m);
}

/* ---- Recognition ---- */

static void probing(void **state) {
  (void)state;
  pb m = sample_model();
  const uint8_t *data = (const uint8_t *)m.data;
  assert_int_equal(onnx_format.probe(data, (uint64_t)m.n), 95);
  assert_true(onnx_format.probe(data, 40) > 0); /* breaks off */
  assert_int_equal(onnx_format.probe(data, 0), 0);
  assert_int_equal(onnx_format.probe((const uint8_t *)"\x1c\0\0\0TFL3", 8), 0);
  assert_int_equal(onnx_format.probe((const uint8_t *)"name: \"net\"\n", 12), 0);
  pb graph_def = pb_new(); /* TensorFlow and Caffe begin with a message or string in field 1 */
  pb_str(&graph_def, 1, "node");
  assert_int_equal(onnx_format.probe((const uint8_t *)graph_def.data, (uint64_t)graph_def.n), 0);
  tn_text_free(&graph_def);
  tn_text_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wire_errors),
      cmocka_unit_test(unknown_fields_are_skipped),
      cmocka_unit_test(model_errors),
      cmocka_unit_test(graph_errors),
      cmocka_unit_test(too_many_outputs),
      cmocka_unit_test(graphs_inside_graphs),
      cmocka_unit_test(every_truncation),
      cmocka_unit_test(every_flipped_bit),
      cmocka_unit_test(every_failing_allocation),
      cmocka_unit_test(probing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
