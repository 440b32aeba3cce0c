/* Concatenations that begin with others read these instead, the longest that is there. */
#include "plan/passes/passes.h"
#include "plan_kit.h"

enum { WIDTH = 4 };

/* A region: the values `parts` ("x y x") one behind the other; `unread` is an input, too, that no
 * region reads (NULL: none). */
static int32_t concat(tn_graph *g, const char *parts, const char *unread, const char *out) {
  const tn_graph_api *api = tn_graph_functions();
  tn_region regions[8];
  const tn_region *list[8];
  int32_t inputs[9];
  uint32_t n = 0;
  char text[64];
  kit_node(g, "Any", "x", out);
  const int32_t node = (int32_t)g->nodes.n - 1, value = api->value(g, out);
  snprintf(text, sizeof text, "%s", parts);
  for (char *save = NULL, *name = strtok_r(text, " ", &save); name;
       name = strtok_r(NULL, " ", &save), n++) {
    inputs[n] = api->value(g, name);
    regions[n] = (tn_region){.head = TN_HEAD(tn_region),
                             .input = (int32_t)n,
                             .rank = 1,
                             .dst_offset = n * WIDTH,
                             .size = {WIDTH},
                             .src_stride = {1},
                             .dst_stride = {1}};
    list[n] = &regions[n];
  }
  const int64_t size = n * WIDTH;
  const tn_tensor type = tn_tensor_make(TN_F32, 1, &size, NULL);
  assert_int_equal(api->value_set_type(g, value, &type), TN_OK);
  if (unread) inputs[n] = api->value(g, unread);
  assert_int_equal(api->set_regions(g, node, inputs, n + (unread != NULL), list, n, -1), TN_OK);
  return node;
}

static tn_graph *open_graph(const kit *k) {
  const int64_t size = WIDTH;
  const tn_tensor type = tn_tensor_make(TN_F32, 1, &size, NULL);
  tn_graph *g = kit_graph(k);
  kit_input(g, "x", &type);
  kit_input(g, "y", &type);
  return g;
}

static void share(kit *k, tn_graph *g) {
  kit_ok(k, tn_check_from(&k->planner, g, 0, k->diag));
  bool changed = false;
  kit_ok(k, tn_share_region_prefixes(&k->planner, g, &changed, k->diag));
}

/* How many inputs the node reads, the first of which is `first`. */
static void reads(const tn_graph *g, int32_t node, uint32_t n, const char *first) {
  const tn_node *made = &tn_graph_node(g, node)->node;
  assert_int_equal(made->n_inputs, n);
  assert_string_equal(tn_graph_val(g, made->inputs[0])->name, first);
}

static void the_longest_beginning_is_taken(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = open_graph(&k);
  const int32_t two = concat(g, "x y", NULL, "b"), three = concat(g, "x y x", NULL, "c"),
                four = concat(g, "x y x y", NULL, "d"), another = concat(g, "y x y", NULL, "e");
  kit_output(g, "d");
  kit_output(g, "e");
  share(&k, g);
  reads(g, four, 2, "c");
  reads(g, three, 2, "b");
  reads(g, two, 2, "x");
  reads(g, another, 3, "y");
  const tn_region *all = tn_graph_node(g, four)->regions[0];
  assert_int_equal(all->size[0], 3 * WIDTH);
  assert_int_equal(tn_graph_node(g, four)->regions[1]->dst_offset, 3 * WIDTH);
  tn_graph_destroy(g);
  kit_close(&k);
}

/* Else each would read the other. */
static void a_beginning_that_depends_on_the_node_is_left_alone(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = open_graph(&k);
  const int32_t three = concat(g, "x y x", NULL, "c");
  concat(g, "x y", "c", "b");
  kit_output(g, "b");
  share(&k, g);
  reads(g, three, 3, "x");
  tn_graph_destroy(g);
  kit_close(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_longest_beginning_is_taken),
      cmocka_unit_test(a_beginning_that_depends_on_the_node_is_left_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
