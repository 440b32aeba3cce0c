/* Models: constants in all forms, inputs, types, subgraphs, attributes, functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sample.h"

static const tn_graph_api *const api = &tn_graph_api_table;

static const tn_tensor *value(const fixture *f, const char *name) {
  return api->value_type(f->g, api->value(f->g, name));
}

/* ---- Graphs ---- */

static void a_small_model(void **state) {
  (void)state;
  pb g = io_graph();
  pb_msg(&g, 1, pb_node("Add", "sum", "x,w,", "y"));
  pb_msg(&g, 5, pb_floats("w", 3));
  pb m = pb_model(g, 17);
  pb_str(&m, 2, "by hand");
  pb_entry(&m, 14, "key", "text");
  pb_entry(&m, 14, "producer", "ignored: the field counts");
  fixture f;
  must_read(&f, m);
  assert_int_equal(api->opset(f.g, "ai.onnx"), 17);
  assert_string_equal(api->meta(f.g, "producer"), "by hand");
  assert_string_equal(api->meta(f.g, "name"), "graph");
  assert_string_equal(api->meta(f.g, "key"), "text");
  assert_int_equal(api->n_inputs(f.g), 1);
  assert_int_equal(api->n_outputs(f.g), 1);
  assert_int_equal(api->n_nodes(f.g), 1);
  const tn_node *n = api->node(f.g, api->node_at(f.g, 0));
  assert_string_equal(n->op, "Add");
  assert_string_equal(n->name, "sum");
  assert_int_equal(n->n_inputs, 2);
  assert_int_equal(n->inputs[1], api->value(f.g, "w"));
  assert_int_equal(n->outputs[0], api->output(f.g, 0));
  assert_int_equal(memcmp(f.file.data + n->offset + 2, "x", 1),
                   0); /* the node's first field is its first input */
  assert_int_equal(value(&f, "w")->shape[0], 3);
  assert_true(tn_load_f64(TN_F32, value(&f, "w")->data, 2) == 3);
  close_model(&f);
}

static void left_out_inputs_and_outputs(void **state) {
  (void)state;
  pb g = io_graph(), n = pb_new();
  pb_str(&n, 4, "Foo");
  pb_str(&n, 7, "ai.onnx");
  pb_str(&n, 1, "");
  pb_str(&n, 1, "x");
  pb_str(&n, 2, "");
  pb_str(&n, 2, "y");
  pb_msg(&g, 1, n);
  fixture f;
  must_read(&f, pb_model(g, 17));
  const tn_node *node = api->node(f.g, api->node_at(f.g, 0));
  assert_string_equal(node->domain, "");
  assert_int_equal(node->inputs[0], -1);
  assert_int_equal(node->outputs[0], -1);
  assert_int_equal(node->outputs[1], api->output(f.g, 0));
  close_model(&f);
}

/* As ONNX Runtime does: the newest of ONNX, the first of others. */
static void sets_that_are_not_imported(void **state) {
  (void)state;
  pb g = io_graph(), own = pb_node("Foo", "own", "x", "r");
  pb_str(&own, 7, "com.acme");
  pb_msg(&g, 1, own);
  pb_msg(&g, 1, pb_node("Foo", "plain", "r", "y"));
  pb m = pb_new(), import = pb_new();
  pb_int(&m, 1, 8);
  pb_msg(&m, 7, g);
  pb_str(&import, 1, "com.other");
  pb_int(&import, 2, 3);
  pb_msg(&m, 8, import);
  fixture f;
  must_read(&f, m);
  assert_int_equal(api->opset(f.g, "com.acme"), 1);
  assert_int_equal(api->opset(f.g, ""), 24);
  assert_int_equal(api->opset(f.g, "com.other"), 3);
  assert_non_null(strstr(tn_text_get(&f.k.warnings), "for domain 'com.acme': version 1"));
  assert_non_null(strstr(tn_text_get(&f.k.warnings), "for domain 'ai.onnx': version 24"));
  close_model(&f);
}

static void inputs_with_initializers_are_constants(void **state) {
  (void)state;
  pb g = io_graph();
  pb_msg(&g, 11, pb_value_f32("w", 3));
  pb_msg(&g, 1, pb_node("Add", "", "x,w", "y"));
  pb_msg(&g, 5, pb_floats("w", 3));
  fixture f;
  must_read(&f, pb_model(g, 17));
  assert_int_equal(api->n_inputs(f.g), 1);
  assert_non_null(value(&f, "w")->data);
  close_model(&f);
}

/* ---- Constants ---- */

static void check_sparse(const tn_tensor *t) {
  assert_int_equal(t->rank, 2);
  assert_int_equal(t->shape[0], 4);
  for (int64_t k = 0; k < 12; k++)
    assert_true(tn_load_f64(TN_F32, t->data, k) == (k == 5 ? 1 : k == 9 ? 2 : 0));
}

static void constants_of_all_forms(void **state) {
  (void)state;
  pb g = io_graph(), a;
  a = pb_attr("value", 4), pb_msg(&a, 5, pb_floats(NULL, 2)), add_constant(&g, 1, "tensor", a);
  a = pb_attr("value_float", 1), pb_f32(&a, 2, 1.5f), add_constant(&g, 1, "float", a);
  a = pb_attr("value_int", 2), pb_int(&a, 3, -7), add_constant(&g, 1, "int", a);
  a = pb_attr("value_string", 3), pb_str(&a, 4, "abc"), add_constant(&g, 1, "string", a);
  a = pb_attr("value_floats", 6), pb_f32(&a, 7, 1), pb_f32(&a, 7, 2),
  add_constant(&g, 1, "floats", a);
  a = pb_attr("value_ints", 7), pb_packed(&a, 8, (const int64_t[]){4, -5}, 2),
  add_constant(&g, 1, "ints", a);
  a = pb_attr("value_strings", 8), pb_str(&a, 9, "p"), pb_str(&a, 9, ""),
  add_constant(&g, 1, "strings", a);
  a = pb_attr("sparse_value", 11), pb_msg(&a, 22, sparse(NULL, true)),
  add_constant(&g, 1, "sparse", a);
  pb_msg(&g, 15, sparse("by_place", false));
  fixture f;
  must_read(&f, pb_model(g, 17));
  assert_int_equal(api->n_nodes(f.g), 0);
  assert_int_equal(value(&f, "tensor")->shape[0], 2);
  assert_int_equal(value(&f, "float")->rank, 0);
  assert_true(tn_load_f64(TN_F32, value(&f, "float")->data, 0) == 1.5);
  assert_int_equal(value(&f, "int")->dtype, TN_I64);
  assert_int_equal(tn_load_i64(TN_I64, value(&f, "int")->data, 0), -7);
  assert_true(tn_str_is(*(const tn_str *)value(&f, "string")->data, "abc"));
  assert_true(tn_load_f64(TN_F32, value(&f, "floats")->data, 1) == 2);
  assert_int_equal(tn_load_i64(TN_I64, value(&f, "ints")->data, 1), -5);
  assert_int_equal(value(&f, "strings")->shape[0], 2);
  check_sparse(value(&f, "sparse"));
  check_sparse(value(&f, "by_place"));
  close_model(&f);
}

static void constants_that_are_refused(void **state) {
  (void)state;
  pb g = io_graph();
  pb_msg(&g, 1, pb_node("Constant", "c", "", "c"));
  expect_error(pb_model(g, 17), TN_ERR_INVALID,
               "node 'c' (Constant): a Constant needs one attribute");
  g = io_graph();
  pb a = pb_attr("value_int", 2);
  pb_int(&a, 3, 1);
  pb_msg(&g, 1, pb_node("Neg", "neg", "x", "y"));
  add_constant(&g, 1, "y", a);
  expect_error(pb_model(g, 17), TN_ERR_INVALID, "constant 'y' is also the output of a node");
}

static void sparse_tensors_that_are_refused(void **state) {
  (void)state;
  pb s = sparse("s", true), g = io_graph();
  pb_packed(&s, 3, (const int64_t[]){2}, 1); /* a third dim */
  pb_msg(&g, 15, s);
  expect_error(pb_model(g, 17), TN_ERR_INVALID, "do not fit together");
  g = io_graph(), s = pb_new();
  pb_msg(&s, 1, pb_floats("s", 0));
  int64_t none = 0;
  pb_msg(&s, 2, pb_tensor(NULL, 7, 1, &none));
  pb_packed(&s, 3, (const int64_t[]){1 << 30, 1 << 10}, 2);
  pb_msg(&g, 15, s);
  expect_error(pb_model(g, 17), TN_ERR_OVERFLOW, "out of proportion");
  g = io_graph(), s = sparse("s", false);
  pb cut = pb_new();
  tn_text_add_bytes(&cut, s.data, s.n - 4); /* without dims: one element, place 5 is outside */
  tn_text_free(&s);
  pb_msg(&g, 15, cut);
  expect_error(pb_model(g, 17), TN_ERR_INVALID, "index 0 of the sparse tensor lies outside");
}

/* ---- Types ---- */

static void types_of_values(void **state) {
  (void)state;
  pb g = pb_new(), type = pb_new(), tensor = pb_new(), shape = pb_new(), dim = pb_new();
  pb_str(&dim, 2, "batch");
  pb_msg(&shape, 1, dim);
  pb_msg(&shape, 1, pb_new());
  dim = pb_new(), pb_int(&dim, 1, -1), pb_msg(&shape, 1, dim);
  dim = pb_new(), pb_int(&dim, 1, 8), pb_msg(&shape, 1, dim);
  pb_int(&tensor, 1, 10);
  pb_msg(&tensor, 2, shape);
  pb_msg(&type, 1, tensor);
  pb_msg(&g, 11, pb_value("t", type));
  pb_msg(&g, 11, pb_value("s", list_type(4, pb_tensor_type(1, 0, NULL))));
  pb_msg(&g, 11, pb_value("o", list_type(9, list_type(4, pb_tensor_type(7, 0, NULL)))));
  pb_msg(&g, 11, pb_value("m", list_type(4, list_type(5, pb_tensor_type(1, 0, NULL)))));
  pb_msg(&g, 11, pb_value("u", pb_new()));
  fixture f;
  must_read(&f, pb_model(g, 17));
  const tn_tensor *t = value(&f, "t");
  assert_int_equal(t->dtype, TN_F16);
  assert_int_equal(t->rank, 4);
  assert_int_equal(t->shape[0], TN_DIM_UNKNOWN);
  assert_int_equal(t->shape[2], TN_DIM_UNKNOWN);
  assert_int_equal(t->shape[3], 8);
  assert_string_equal(api->value_dim_name(f.g, api->value(f.g, "t"), 0), "batch");
  assert_null(api->value_dim_name(f.g, api->value(f.g, "t"), 1));
  assert_int_equal(value(&f, "s")->kind, TN_KIND_SEQUENCE);
  assert_int_equal(value(&f, "s")->dtype, TN_F32);
  assert_int_equal(value(&f, "s")->elements, 0);
  assert_int_equal(value(&f, "o")->kind, TN_KIND_OPTIONAL);
  assert_int_equal(value(&f, "o")->dtype, TN_I64);
  assert_int_equal(value(&f, "o")->elements, TN_ELEMENTS(TN_KIND_SEQUENCE, 0));
  assert_int_equal(value(&f, "m")->elements, TN_ELEMENTS(TN_KIND_MAP, TN_ELEMENTS_KEY(TN_I64)));
  assert_int_equal(value(&f, "u")->rank, TN_RANK_UNKNOWN);
  close_model(&f);
}

static void types_that_are_refused(void **state) {
  (void)state;
  const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  pb g = pb_new();
  pb_msg(&g, 11, pb_value("x", pb_tensor_type(1, 9, nine)));
  expect_error(pb_model(g, 17), TN_ERR_UNSUPPORTED, "value 'x': the shape has more than 8 dims");
  g = pb_new();
  pb_msg(&g, 11, pb_value("x", pb_tensor_type(29, 0, NULL)));
  expect_error(pb_model(g, 17), TN_ERR_UNSUPPORTED, "element type 29 is not supported");
  pb type = pb_tensor_type(1, 0, NULL);
  for (int k = 0; k < 8; k++) type = list_type(4, type);
  g = pb_new();
  pb_msg(&g, 11, pb_value("x", type));
  expect_error(pb_model(g, 17), TN_ERR_UNSUPPORTED, "nested more than 6 deep");
  g = pb_new();
  pb_msg(&g, 13,
         pb_value("x", pb_tensor_type(28, 9, nine))); /* of a value in between: simply unknown */
  fixture f;
  must_read(&f, pb_model(g, 17));
  close_model(&f);
}

/* ---- Subgraphs and attributes ---- */

static void subgraphs_see_outer_values(void **state) {
  (void)state;
  fixture f;
  must_read(&f, if_model());
  assert_int_equal(tn_graph_resolve(f.g, NULL), TN_OK);
  int32_t id = api->node_at(f.g, 0), outer;
  const tn_graph *then_branch = api->node_graph(f.g, id, 0);
  assert_non_null(then_branch);
  assert_string_equal(api->node(then_branch, api->node_at(then_branch, 0))->op, "Add");
  assert_int_equal(api->node_n_formal(f.g, id), 1);
  assert_true(api->capture(then_branch, 0, &outer) >= 0);
  assert_int_equal(outer, api->value(f.g, "x"));
  close_model(&f);
}

static void attributes_of_all_kinds(void **state) {
  (void)state;
  pb g = io_graph();
  pb_msg(&g, 1, node_with_attributes());
  fixture f;
  must_read(&f, pb_model(g, 17));
  const tn_node *node = api->node(f.g, api->node_at(f.g, 0));
  assert_true(tn_node_attr(node, "f")->f == 0.5);
  assert_true(tn_node_attr(node, "no_f")->f == 0);
  assert_int_equal(tn_node_attr(node, "i")->i, -1);
  assert_int_equal(tn_node_attr(node, "s")->s.size, 3);
  assert_int_equal(tn_node_attr(node, "t")->tensors.data[0]->shape[0], 2);
  assert_int_equal(tn_node_attr(node, "ts")->tensors.size, 2);
  check_sparse(tn_node_attr(node, "sp")->tensors.data[0]);
  assert_int_equal(tn_node_attr(node, "tp")->kind, TN_ATTR_TYPE);
  assert_int_equal(tn_node_attr(node, "tp")->tensors.data[0]->kind, TN_KIND_SEQUENCE);
  assert_null(tn_node_attr(node, "tp")->tensors.data[0]->data);
  assert_int_equal(tn_node_attr(node, "none")->kind, TN_ATTR_INTS);
  assert_int_equal(tn_node_attr(node, "old")->kind, TN_ATTR_INTS);
  assert_int_equal(tn_node_attr(node, "old")->ints.data[1], 2);
  close_model(&f);
}

static void attribute_errors(pb attr, tn_status status, const char *words) {
  pb g = io_graph(), n = pb_node("Foo", "foo", "x", "y");
  pb_msg(&n, 5, attr);
  pb_msg(&g, 1, n);
  expect_error(pb_model(g, 17), status, words);
}

static void attributes_that_are_refused(void **state) {
  (void)state;
  attribute_errors(pb_new(), TN_ERR_INVALID, "node 'foo' (Foo): the attribute has no name");
  attribute_errors(pb_attr("a", 14), TN_ERR_UNSUPPORTED, "attribute 'a' is of type 14");
  attribute_errors(pb_attr("a", 0), TN_ERR_UNSUPPORTED, "attribute 'a' is of type 0");
  attribute_errors(pb_attr("a", 4), TN_ERR_INVALID,
                   "node 'foo' (Foo): attribute 'a': the attribute holds 0 values");
  pb a = pb_attr("a", 2);
  pb_str(&a, 3, "1");
  attribute_errors(a, TN_ERR_INVALID,
                   "attribute 'a': field 3 has wire type 2, but should be an integer");
  pb g = io_graph(), n = pb_node("Foo", "foo", "x", "y");
  pb_msg(&n, 5, pb_attr("twice", 2));
  pb_msg(&n, 5, pb_attr("twice", 2));
  pb_msg(&g, 1, n);
  expect_error(pb_model(g, 17), TN_ERR_INVALID, "attribute 'twice' is given a second time");
}

/* ---- Functions ---- */

static void local_functions(void **state) {
  (void)state;
  fixture f;
  must_read(&f, function_model());
  const tn_node *call = api->node(f.g, api->node_at(f.g, 0));
  assert_string_equal(call->domain, "my.domain");
  assert_string_equal(call->overload, "second");
  assert_int_equal(api->n_functions(f.g), 1);
  tn_function_info fn = {.head = TN_HEAD(tn_function_info)};
  assert_int_equal(api->function_at(f.g, 0, &fn), TN_OK);
  assert_string_equal(fn.domain, "my.domain");
  assert_string_equal(fn.name, "Leaky");
  assert_string_equal(fn.overload, "second");
  assert_int_equal(fn.n_attr_names, 1);
  assert_string_equal(fn.attr_names[0], "slope");
  assert_int_equal(fn.n_defaults, 1);
  assert_string_equal(fn.defaults[0]->name, "beta");
  assert_true(fn.defaults[0]->f == 0.25);
  assert_int_equal(api->opset(fn.body, ""), 15);
  assert_int_equal(api->n_inputs(fn.body), 1);
  assert_int_equal(api->n_outputs(fn.body), 1);
  /* one Constant takes its value from an attribute and stays a node, the other is a constant */
  assert_int_equal(api->n_nodes(fn.body), 2);
  const tn_attr *ref = api->node(fn.body, 0)->attrs[0];
  assert_int_equal(ref->kind, TN_ATTR_REF);
  assert_int_equal(ref->i, TN_ATTR_FLOAT);
  assert_true(tn_str_is(ref->s, "beta"));
  close_model(&f);
}

static void everything_at_once(void **state) {
  (void)state;
  fixture f;
  must_read(&f, sample_model());
  assert_int_equal(tn_graph_resolve(f.g, NULL), TN_OK);
  close_model(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_small_model),
      cmocka_unit_test(left_out_inputs_and_outputs),
      cmocka_unit_test(sets_that_are_not_imported),
      cmocka_unit_test(inputs_with_initializers_are_constants),
      cmocka_unit_test(constants_of_all_forms),
      cmocka_unit_test(constants_that_are_refused),
      cmocka_unit_test(sparse_tensors_that_are_refused),
      cmocka_unit_test(types_of_values),
      cmocka_unit_test(types_that_are_refused),
      cmocka_unit_test(subgraphs_see_outer_values),
      cmocka_unit_test(attributes_of_all_kinds),
      cmocka_unit_test(attributes_that_are_refused),
      cmocka_unit_test(local_functions),
      cmocka_unit_test(everything_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
