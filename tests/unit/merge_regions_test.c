/* Copies of copies become one; one that writes each element where it was goes. */
#include "plan/passes/passes.h"
#include "plan_kit.h"

enum { ROWS = 2, COLUMNS = 3 };

static tn_tensor type_of(int32_t rank, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  return tn_tensor_make(TN_F32, rank, dims, NULL);
}

/* `out`, of that type: the rows x columns of `in`, transposed. */
static void transpose(tn_graph *g, const char *in, int64_t rows, int64_t columns, const char *out,
                      const tn_tensor *type) {
  const tn_graph_api *api = tn_graph_functions();
  const tn_region region = {.head = TN_HEAD(tn_region),
                            .rank = 2,
                            .size = {columns, rows},
                            .src_stride = {1, columns},
                            .dst_stride = {rows, 1}};
  const tn_region *const list[] = {&region};
  kit_node(g, "Any", in, out);
  const int32_t node = (int32_t)g->nodes.n - 1, from = api->value(g, in);
  assert_int_equal(api->value_set_type(g, api->value(g, out), type), TN_OK);
  assert_int_equal(api->set_regions(g, node, &from, 1, list, 1, -1), TN_OK);
}

/* What is read where x is transposed there and back, as `back`. */
static const char *read_in_the_end(kit *k, tn_graph *g, const tn_tensor *back) {
  const tn_tensor x = type_of(2, ROWS, COLUMNS), there = type_of(2, COLUMNS, ROWS);
  kit_input(g, "x", &x);
  transpose(g, "x", ROWS, COLUMNS, "t", &there);
  transpose(g, "t", COLUMNS, ROWS, "y", back);
  kit_node(g, "Any", "y", "z");
  const int32_t reader = (int32_t)g->nodes.n - 1;
  kit_output(g, "z");
  kit_ok(k, tn_check_from(&k->planner, g, 0, k->diag));
  bool changed = false;
  kit_ok(k, tn_merge_regions(&k->planner, g, &changed, k->diag));
  assert_true(changed);
  kit_ok(k, tn_merge_regions(&k->planner, g, &changed, k->diag));
  assert_false(changed);
  return tn_graph_val(g, tn_graph_node(g, reader)->node.inputs[0])->name;
}

static void there_and_back_is_nothing(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = kit_graph(&k);
  const tn_tensor same = type_of(2, ROWS, COLUMNS);
  assert_string_equal(read_in_the_end(&k, g, &same), "x");
  tn_graph_destroy(g);
  kit_close(&k);
}

static void another_shape_is_kept(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = kit_graph(&k);
  const tn_tensor line = type_of(1, (int64_t)ROWS * COLUMNS, 0);
  assert_string_equal(read_in_the_end(&k, g, &line), "y");
  tn_graph_destroy(g);
  kit_close(&k);
}

static void an_output_keeps_its_name(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = kit_graph(&k);
  const tn_tensor same = type_of(2, ROWS, COLUMNS);
  const tn_graph_api *api = tn_graph_functions();
  (void)api->value(g, "y");
  kit_output(g, "y");
  assert_string_equal(read_in_the_end(&k, g, &same), "y");
  tn_graph_destroy(g);
  kit_close(&k);
}

/* Two inputs one above the other, then transposed: each is written to where it ends up. */
static void a_concat_writes_transposed(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = kit_graph(&k);
  const tn_graph_api *api = tn_graph_functions();
  const tn_tensor one = type_of(2, ROWS, COLUMNS), both = type_of(2, 2 * ROWS, COLUMNS),
                  turned = type_of(2, COLUMNS, 2 * ROWS);
  kit_input(g, "a", &one);
  kit_input(g, "b", &one);
  const tn_region upper = {.head = TN_HEAD(tn_region),
                           .rank = 1,
                           .size = {ROWS * COLUMNS},
                           .src_stride = {1},
                           .dst_stride = {1}};
  const tn_region lower = {.head = TN_HEAD(tn_region),
                           .input = 1,
                           .rank = 2,
                           .dst_offset = ROWS * COLUMNS,
                           .size = {ROWS, COLUMNS},
                           .src_stride = {COLUMNS, 1},
                           .dst_stride = {COLUMNS, 1}};
  const tn_region split = {.head = TN_HEAD(tn_region),
                           .rank = 2,
                           .size = {ROWS, COLUMNS},
                           .src_stride = {COLUMNS, 1},
                           .dst_stride = {COLUMNS, 1}};
  for (int whole = 0; whole < 2; whole++) { /* a line over two rows cannot be said in columns */
    const tn_region *const list[] = {whole ? &upper : &split, &lower};
    const char *c = whole ? "c1" : "c0", *t = whole ? "t1" : "t0", *z = whole ? "z1" : "z0";
    kit_node(g, "Add", "a b", c);
    const int32_t node = (int32_t)g->nodes.n - 1, from[] = {api->value(g, "a"), api->value(g, "b")};
    assert_int_equal(api->value_set_type(g, api->value(g, c), &both), TN_OK);
    assert_int_equal(api->set_regions(g, node, from, 2, list, 2, -1), TN_OK);
    transpose(g, c, 2 * ROWS, COLUMNS, t, &turned);
    kit_node(g, "Any", t, z);
    const int32_t reader = (int32_t)g->nodes.n - 1;
    kit_output(g, z);
    kit_ok(&k, tn_check_from(&k.planner, g, 0, k.diag));
    bool changed = false;
    kit_ok(&k, tn_merge_regions(&k.planner, g, &changed, k.diag));
    const tn_value *read = tn_graph_val(g, tn_graph_node(g, reader)->node.inputs[0]);
    assert_string_equal(read->name, whole ? t : c);
    assert_int_equal(changed, !whole);
    if (whole) break;
    const tn_region *r = tn_graph_node(g, node)->regions[1];
    assert_int_equal(read->type->shape[0], COLUMNS);
    assert_int_equal(r->dst_offset, ROWS);
    assert_int_equal(r->dst_stride[0], 1);
    assert_int_equal(r->dst_stride[1], 2 * ROWS);
    assert_int_equal(r->src_stride[0], COLUMNS);
  }
  tn_graph_destroy(g);
  kit_close(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(there_and_back_is_nothing), cmocka_unit_test(another_shape_is_kept),
      cmocka_unit_test(an_output_keeps_its_name), cmocka_unit_test(a_concat_writes_transposed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
