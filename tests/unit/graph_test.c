/* The graph: building, sorting, editing, captures, clones, constants, and the verifier noticing
 * each kind of breach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"

static tn_graph *new_graph(void) {
  tn_graph *g = tn_graph_new(tn_default_allocator());
  assert_non_null(g);
  return g;
}

/* A node with up to two inputs and one output, by value names; "" is left out. */
static int32_t add(tn_graph *g, const char *op, const char *a, const char *b, const char *out) {
  int32_t in[2] = {*a ? tn_graph_value(g, a) : -1, *b ? tn_graph_value(g, b) : -1};
  int32_t o = tn_graph_value(g, out);
  tn_node n = {.head = TN_HEAD(tn_node),
               .domain = "t",
               .op = op,
               .name = out,
               .n_inputs = 2,
               .n_outputs = 1,
               .inputs = in,
               .outputs = &o,
               .offset = -1};
  return tn_graph_add_node(g, &n);
}

static void set_const(tn_graph *g, const char *name, float x) {
  tn_tensor t = tn_tensor_make(TN_F32, 0, NULL, &x);
  assert_int_equal(tn_graph_api_table.value_set_const(g, tn_graph_value(g, name), &t, 1), TN_OK);
}

static void set_io(tn_graph *g, const char *in, const char *out) {
  if (in) assert_int_equal(tn_graph_api_table.add_input(g, tn_graph_value(g, in)), TN_OK);
  if (out) assert_int_equal(tn_graph_api_table.add_output(g, tn_graph_value(g, out)), TN_OK);
}

static void sorts_what_comes_in_any_order(void **state) {
  (void)state;
  tn_graph *g = new_graph();
  set_io(g, "x", "z");
  int32_t last = add(g, "B", "y", "", "z"), first = add(g, "A", "x", "", "y");
  assert_int_equal(tn_graph_sort(g, NULL), TN_OK);
  assert_int_equal(g->order.n, 2);
  assert_int_equal(g->order.data[0], first);
  assert_int_equal(g->order.data[1], last);
  assert_int_equal(tn_graph_verify(g, "test", NULL), TN_OK);
  tn_graph_free(g);
}

static void names_a_node_on_a_cycle(void **state) {
  (void)state;
  tn_graph *g = new_graph();
  tn_diag *diag = tn_diag_create();
  add(g, "A", "x", "z", "y");
  add(g, "B", "y", "", "z");
  assert_int_equal(tn_graph_sort(g, diag), TN_ERR_INVALID);
  assert_non_null(strstr(tn_diag_text(diag), "depends on itself"));
  tn_diag_destroy(diag);
  tn_graph_free(g);
}

static void refuses_second_producers_and_bad_ids(void **state) {
  (void)state;
  tn_graph *g = new_graph();
  set_io(g, "x", NULL);
  set_const(g, "c", 1);
  assert_true(add(g, "A", "x", "", "y") >= 0);
  assert_int_equal(add(g, "A", "x", "", "y"), TN_ERR_STATE);
  assert_int_equal(add(g, "A", "x", "", "x"), TN_ERR_STATE);
  assert_int_equal(add(g, "A", "x", "", "c"), TN_ERR_STATE);
  int32_t far = 99, out = tn_graph_value(g, "w");
  tn_node n = {.head = TN_HEAD(tn_node),
               .op = "A",
               .n_inputs = 1,
               .n_outputs = 1,
               .inputs = &far,
               .outputs = &out};
  assert_int_equal(tn_graph_add_node(g, &n), TN_ERR_INVALID);
  assert_int_equal(tn_graph_api_table.value_set_type(g, 99, &(tn_tensor){0}), TN_ERR_INVALID);
  assert_null(tn_graph_api_table.node(g, 99));
  tn_graph_free(g);
}

static void replacing_keeps_users_exact(void **state) {
  (void)state;
  tn_graph *g = new_graph();
  set_io(g, "x", "z");
  int32_t a = add(g, "A", "x", "", "y");
  add(g, "B", "y", "y", "z");
  assert_int_equal(tn_graph_val(g, tn_graph_value(g, "y"))->users.n, 2);
  assert_int_equal(tn_graph_remove_node(g, a), TN_ERR_STATE);
  assert_int_equal(tn_graph_replace_value(g, tn_graph_value(g, "y"), tn_graph_value(g, "x")),
                   TN_OK);
  assert_int_equal(tn_graph_remove_dead(g), TN_OK);
  assert_int_equal(tn_graph_api_table.n_nodes(g), 1);
  assert_int_equal(tn_graph_val(g, tn_graph_value(g, "x"))->users.n, 2);
  assert_int_equal(tn_graph_verify(g, "test", NULL), TN_OK);
  tn_graph_free(g);
}

static void replacing_a_node_moves_outputs_and_names(void **state) {
  (void)state;
  tn_graph *g = new_graph();
  set_io(g, "x", "y");
  int32_t node = add(g, "A", "x", "", "y"), unnamed = tn_graph_value(g, NULL),
          x = tn_graph_value(g, "x");
  tn_node n = {.head = TN_HEAD(tn_node),
               .op = "B",
               .n_inputs = 1,
               .n_outputs = 1,
               .inputs = &x,
               .outputs = &unnamed};
  assert_true(tn_graph_add_node(g, &n) >= 0);
  assert_int_equal(tn_graph_api_table.replace_node(g, node, &unnamed, 1), TN_OK);
  assert_int_equal(g->outputs.data[0], unnamed);
  assert_string_equal(tn_graph_val(g, unnamed)->name, "y");
  assert_int_equal(tn_graph_sort(g, NULL), TN_OK);
  assert_int_equal(tn_graph_verify(g, "test", NULL), TN_OK);
  tn_graph_free(g);
}

/* if_node(cond) with one branch that reads x of the outer graph, constant c, and what `inner`
 * names. */
static tn_graph *with_branch(const char *inner, tn_graph **out_branch) {
  tn_graph *g = new_graph(), *branch = tn_graph_api_table.subgraph_new(g);
  set_io(g, "x", "y");
  set_io(g, "cond", NULL);
  set_const(g, "c", 3);
  add(branch, "A", "x", "c", "t");
  add(branch, "A", "t", inner, "r");
  set_io(branch, NULL, "r");
  int32_t cond = tn_graph_value(g, "cond"), y = tn_graph_value(g, "y");
  tn_attr body = {.head = TN_HEAD(tn_attr),
                  .name = "then_branch",
                  .kind = TN_ATTR_GRAPH,
                  .graphs = &branch,
                  .n_graphs = 1};
  const tn_attr *attrs[] = {&body};
  tn_node n = {.head = TN_HEAD(tn_node),
               .op = "If",
               .name = "if",
               .n_inputs = 1,
               .n_outputs = 1,
               .n_attrs = 1,
               .inputs = &cond,
               .outputs = &y,
               .attrs = attrs};
  assert_true(tn_graph_add_node(g, &n) >= 0);
  *out_branch = branch;
  return g;
}

static void captures_become_inputs_of_the_owner(void **state) {
  (void)state;
  tn_graph *branch, *g = with_branch("", &branch);
  assert_int_equal(tn_graph_resolve(g, NULL), TN_OK);
  const tn_gnode *n = tn_graph_node(g, 0);
  assert_int_equal(n->n_formal, 1);
  assert_int_equal(n->node.n_inputs, 2);
  assert_int_equal(n->node.inputs[1], tn_graph_value(g, "x"));
  assert_int_equal(branch->captures.n, 1); /* c is a constant: shared, not captured */
  assert_non_null(tn_graph_val(branch, tn_graph_value(branch, "c"))->constant);
  assert_int_equal(tn_graph_sort(g, NULL), TN_OK);
  assert_int_equal(tn_graph_verify(g, "test", NULL), TN_OK);
  tn_graph_free(g);
}

/* Loop(trips, go, w, a, b) -> (w_last, a_last, b_last), whose body hands w on by Identity and lets
 * a and b change places. */
static tn_graph *with_loop(tn_graph **out_body) {
  static const char *const given[] = {"trips", "go", "w", "a", "b"}, *const last[] = {"w_last",
                                                                                      "a_last",
                                                                                      "b_last"};
  tn_graph *g = new_graph(), *body = tn_graph_api_table.subgraph_new(g);
  int32_t in[5], out[3], copy = tn_graph_value(body, "w_in"), next = tn_graph_value(body, "w_out");
  for (int k = 0; k < 5; k++) set_io(g, given[k], NULL), in[k] = tn_graph_value(g, given[k]);
  for (int k = 0; k < 3; k++) set_io(g, NULL, last[k]), out[k] = tn_graph_value(g, last[k]);
  set_io(body, "trip", NULL);
  set_io(body, "go_in", "go_in");
  set_io(body, "w_in", "w_out");
  set_io(body, "a_in", "b_in");
  set_io(body, "b_in", "a_in");
  const tn_node identity = {.head = TN_HEAD(tn_node),
                            .domain = "",
                            .op = "Identity",
                            .name = "same",
                            .n_inputs = 1,
                            .n_outputs = 1,
                            .inputs = &copy,
                            .outputs = &next};
  assert_true(tn_graph_add_node(body, &identity) >= 0);
  const tn_attr attr = {.head = TN_HEAD(tn_attr),
                        .name = "body",
                        .kind = TN_ATTR_GRAPH,
                        .graphs = &body,
                        .n_graphs = 1};
  const tn_attr *const attrs[] = {&attr};
  const tn_node loop = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "Loop",
                        .name = "loop",
                        .n_inputs = 5,
                        .n_outputs = 3,
                        .n_attrs = 1,
                        .inputs = in,
                        .outputs = out,
                        .attrs = attrs};
  assert_true(tn_graph_add_node(g, &loop) >= 0);
  *out_body = body;
  return g;
}

static void what_a_loop_carries_unchanged_is_captured(void **state) {
  (void)state;
  tn_graph *body, *g = with_loop(&body);
  assert_int_equal(tn_graph_resolve(g, NULL), TN_OK);
  for (int again = 0; again < 2; again++) {
    assert_int_equal(tn_graph_hoist(g, 0), TN_OK);
    const tn_gnode *n = tn_graph_node(g, 0);
    const int32_t w = tn_graph_value(g, "w");
    assert_int_equal(n->n_formal, 4); /* trips, go, a, b; then w */
    assert_int_equal(n->node.n_inputs, 5);
    assert_int_equal(n->node.inputs[4], w);
    assert_int_equal(n->node.n_outputs, 2);
    assert_int_equal(n->node.outputs[0], tn_graph_value(g, "a_last"));
    assert_int_equal(g->outputs.data[0], w);
    assert_int_equal(body->inputs.n, 4);
    assert_int_equal(body->outputs.n, 3);
    assert_int_equal(body->captures.n, 1);
    assert_int_equal(body->captures.data[0].inner, tn_graph_value(body, "w_in"));
    assert_int_equal(body->captures.data[0].outer, w);
    assert_int_equal(body->captures.data[0].input, 4);
  }
  assert_int_equal(tn_graph_sort(g, NULL), TN_OK);
  assert_int_equal(tn_graph_verify(g, "test", NULL), TN_OK);
  tn_graph_free(g);
}

static void undefined_names_are_reported_with_their_reader(void **state) {
  (void)state;
  tn_graph *branch, *g = with_branch("nowhere", &branch);
  tn_diag *diag = tn_diag_create();
  assert_int_equal(tn_graph_resolve(g, diag), TN_ERR_INVALID);
  assert_non_null(strstr(tn_diag_text(diag), "'nowhere', read by node 'r'"));
  tn_diag_destroy(diag);
  tn_graph_free(g);
}

static void clones_are_independent_and_share_constants(void **state) {
  (void)state;
  tn_graph *branch, *g = with_branch("", &branch);
  assert_int_equal(tn_graph_resolve(g, NULL), TN_OK);
  assert_int_equal(tn_graph_sort(g, NULL), TN_OK);
  tn_graph *copy = tn_graph_clone(g);
  assert_non_null(copy);
  int32_t c = tn_graph_value(g, "c"), x = tn_graph_value(g, "x"), cond = tn_graph_value(g, "cond");
  assert_ptr_equal(tn_graph_val(copy, c)->constant, tn_graph_val(g, c)->constant);
  assert_ptr_not_equal(tn_graph_node(copy, 0)->subgraphs[0], branch);
  assert_int_equal(tn_graph_set_node_input(copy, 0, 0, x), TN_OK);
  assert_int_equal(tn_graph_node(g, 0)->node.inputs[0], cond);
  assert_int_equal(tn_graph_verify(g, "test", NULL), TN_OK);
  tn_graph_free(g); /* what the copy shares stays */
  assert_string_equal(tn_graph_node(copy, 0)->node.name, "if");
  assert_int_equal(tn_graph_value(copy, "x"), x);
  tn_graph_free(copy);
}

static void nodes_added_in_order_need_no_sorting(void **state) {
  (void)state;
  tn_graph *g = new_graph();
  add(g, "A", "x", "", "y");
  add(g, "B", "y", "", "z");
  assert_false(g->unsorted);
  add(g, "C", "w", "", "x"); /* A reads it */
  assert_true(g->unsorted);
  tn_graph_free(g);
}

/* Breaks one rule and expects the verifier to say so. */
static void expect_breach(tn_graph *g, const char *text) {
  tn_diag *diag = tn_diag_create();
  assert_int_equal(tn_graph_verify(g, "test", diag), TN_ERR_INTERNAL);
  if (!strstr(tn_diag_text(diag), text)) fail_msg("'%s' is not in: %s", text, tn_diag_text(diag));
  tn_diag_destroy(diag);
}

static void the_verifier_notices(void **state) {
  (void)state;
  tn_graph *g = new_graph();
  set_io(g, "x", "z");
  int32_t b = add(g, "B", "y", "", "z");
  int32_t a = add(g, "A", "x", "", "y");
  expect_breach(g, "topological order");
  assert_int_equal(tn_graph_sort(g, NULL), TN_OK);
  tn_value *y = tn_graph_val(g, tn_graph_value(g, "y"));
  y->users.data[0] = a;
  expect_breach(g, "users list");
  y->users.data[0] = b;
  y->producer = b;
  expect_breach(g, "producer");
  y->producer = a;
  y->flags |= TN_VALUE_CONST;
  expect_breach(g, "constant flag");
  y->flags = 0;
  y->known = true;
  expect_breach(g, "marked known");
  y->known = false;
  assert_int_equal(tn_graph_verify(g, "test", NULL), TN_OK);
  tn_graph_free(g);
}

/* ---- regions ---- */

static tn_status set_regions_of(const tn_region *r, uint32_t n, int64_t n_in, int32_t rank,
                                const int64_t *dims) {
  tn_graph *g = new_graph();
  tn_tensor in = tn_tensor_make(TN_F32, 1, &n_in, NULL),
            out = tn_tensor_make(TN_F32, rank, dims, NULL);
  int32_t node = add(g, "Move", "x", "", "y"), x = tn_graph_value(g, "x");
  tn_graph_api_table.value_set_type(g, x, &in);
  tn_graph_api_table.value_set_type(g, tn_graph_value(g, "y"), &out);
  const tn_region *list[4] = {&r[0], &r[n > 1 ? 1 : 0]};
  tn_status s = tn_graph_api_table.set_regions(g, node, &x, 1, list, n, -1);
  tn_graph_free(g);
  return s;
}

static tn_status set_regions(const tn_region *r, uint32_t n, int64_t n_in, int64_t rows,
                             int64_t cols) {
  return set_regions_of(r, n, n_in, 2, (const int64_t[]){rows, cols});
}

#define REGION(so, doff, ...) \
  { .head = TN_HEAD(tn_region), .src_offset = so, .dst_offset = doff, __VA_ARGS__ }

static void regions_are_proven(void **state) {
  (void)state;
  const tn_region transpose =
      REGION(0, 0, .rank = 2, .size = {3, 4}, .src_stride = {1, 3}, .dst_stride = {4, 1});
  const tn_region overrun =
      REGION(1, 0, .rank = 2, .size = {3, 4}, .src_stride = {1, 3}, .dst_stride = {4, 1});
  const tn_region under =
      REGION(0, 0, .rank = 1, .size = {2}, .src_stride = {-1}, .dst_stride = {1});
  const tn_region twice =
      REGION(0, 0, .rank = 2, .size = {2, 2}, .src_stride = {2, 1}, .dst_stride = {1, 1});
  const tn_region huge =
      REGION(0, 0, .rank = 1, .size = {INT64_MAX}, .src_stride = {INT64_MAX}, .dst_stride = {1});
  const tn_region halves[2] = {
      REGION(0, 0, .rank = 2, .size = {3, 2}, .src_stride = {2, 1}, .dst_stride = {4, 1}),
      REGION(6, 2, .rank = 2, .size = {3, 2}, .src_stride = {2, 1}, .dst_stride = {4, 1})};
  const tn_region meeting[2] = {halves[0], REGION(6, 1, .rank = 2, .size = {3, 2},
                                                  .src_stride = {2, 1}, .dst_stride = {4, 1})};
  const tn_region flipped =
      REGION(11, 0, .rank = 1, .size = {12}, .src_stride = {-1}, .dst_stride = {1});
  assert_int_equal(set_regions(&transpose, 1, 12, 3, 4), TN_OK);
  assert_int_equal(set_regions(&flipped, 1, 12, 3, 4), TN_OK);
  assert_int_equal(set_regions(halves, 2, 12, 3, 4), TN_OK);
  assert_int_equal(set_regions(&overrun, 1, 12, 3, 4), TN_ERR_INVALID);
  assert_int_equal(set_regions(&under, 1, 12, 3, 4), TN_ERR_INVALID);
  assert_int_equal(set_regions(&twice, 1, 12, 3, 4), TN_ERR_INVALID);
  assert_int_equal(set_regions(&huge, 1, 12, 3, 4), TN_ERR_INVALID);
  assert_int_equal(set_regions(meeting, 2, 12, 3, 4), TN_ERR_INVALID);
  const tn_region far[2] = {
      REGION(0, 0, .rank = 2, .size = {1, 12}, .src_stride = {0, 1}, .dst_stride = {INT64_MIN, 1}),
      REGION(0, 0, .rank = 2, .size = {1, 12}, .src_stride = {INT64_MAX, 1}, .dst_stride = {0, 1})};
  assert_int_equal(set_regions(&far[0], 1, 12, 3, 4), TN_ERR_INVALID);
  assert_int_equal(set_regions(&far[1], 1, 12, 3, 4), TN_ERR_INVALID);
}

/* Too large to mark each element: dims of regions that are several of the output's in one. */
static void regions_of_large_outputs_are_proven(void **state) {
  (void)state;
  const int64_t last[] = {4000, 5000, 2}, n_last = 4000 * 5000;
  const tn_region columns[2] = {
      REGION(0, 0, .rank = 1, .size = {n_last}, .src_stride = {1}, .dst_stride = {2}),
      REGION(0, 1, .rank = 1, .size = {n_last}, .src_stride = {1}, .dst_stride = {2})};
  const tn_region same[2] = {columns[0], columns[0]};
  assert_int_equal(set_regions_of(columns, 2, n_last, 3, last), TN_OK);
  assert_int_equal(set_regions_of(same, 2, n_last, 3, last), TN_ERR_INVALID);
  const int64_t middle[] = {2, 10, 1000, 1000}, n_middle = 10000000, batch = 10000000;
  const tn_region parts[2] = {REGION(0, 0, .rank = 2, .size = {2, 5000000},
                                     .src_stride = {5000000, 1}, .dst_stride = {batch, 1}),
                              REGION(0, 5000000, .rank = 2, .size = {2, 5000000},
                                     .src_stride = {5000000, 1}, .dst_stride = {batch, 1})};
  const tn_region meeting[2] = {
      parts[0], REGION(0, 4999000, .rank = 2, .size = {2, 5000000}, .src_stride = {5000000, 1},
                       .dst_stride = {batch, 1})};
  assert_int_equal(set_regions_of(parts, 2, n_middle, 4, middle), TN_OK);
  assert_int_equal(set_regions_of(meeting, 2, n_middle, 4, middle), TN_ERR_INVALID);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sorts_what_comes_in_any_order),
      cmocka_unit_test(names_a_node_on_a_cycle),
      cmocka_unit_test(refuses_second_producers_and_bad_ids),
      cmocka_unit_test(replacing_keeps_users_exact),
      cmocka_unit_test(replacing_a_node_moves_outputs_and_names),
      cmocka_unit_test(captures_become_inputs_of_the_owner),
      cmocka_unit_test(what_a_loop_carries_unchanged_is_captured),
      cmocka_unit_test(undefined_names_are_reported_with_their_reader),
      cmocka_unit_test(clones_are_independent_and_share_constants),
      cmocka_unit_test(nodes_added_in_order_need_no_sorting),
      cmocka_unit_test(the_verifier_notices),
      cmocka_unit_test(regions_are_proven),
      cmocka_unit_test(regions_of_large_outputs_are_proven),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
