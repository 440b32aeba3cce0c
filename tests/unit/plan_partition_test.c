/* The convex cutter on random graphs: islands are disjoint, of one group, convex alone and
 * together, and gain what they say; and on small graphs whose answer is known. */
#include "plan/passes/islands.h"
#include "plan_kit.h"

static uint32_t seed = 1;
static uint32_t next_random(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

enum { MAX_NODES = 40 };

static tn_claim claim(int32_t group, double native_ns, double host_ns) {
  return (tn_claim){.head = TN_HEAD(tn_claim),
                    .group = group,
                    .cost_native_ns = native_ns,
                    .cost_host_ns = host_ns};
}

/* As a compiler leaves them; a declined node may have none. */
static tn_status partition(const tn_graph *g, const tn_claim *claims, const tn_partition_options *o,
                           tn_arena *arena, tn_island **out, int32_t *out_n) {
  const tn_claim *table[MAX_NODES];
  for (int64_t k = 0; k < g->nodes.n; k++)
    table[k] = claims[k].group >= 0 || k % 2 ? &claims[k] : NULL;
  return tn_partition_cut(g, table, o, arena, out, out_n);
}

/* Node k makes value k + 1; value 0 is the input. */
static tn_graph *random_graph(int n) {
  tn_graph *g = tn_graph_new(tn_default_allocator());
  int64_t shape = 10;
  tn_tensor t = tn_tensor_make(TN_F32, 1, &shape, NULL);
  kit_input(g, "v0", &t);
  for (int k = 0; k < n; k++) {
    char ins[64], out[16];
    uint32_t range = 1 + next_random(6); /* near ones rather than far ones */
    int a = k - (int)next_random(range), b = k - (int)next_random(range);
    snprintf(ins, sizeof ins, next_random(3) ? "v%d v%d" : "v%d", a < 0 ? 0 : a, b < 0 ? 0 : b);
    snprintf(out, sizeof out, "v%d", k + 1);
    kit_node(g, "Add", ins, out);
    assert_int_equal(tn_graph_set_type(g, (int32_t)tn_map_get(&g->names, out, -1), &t), TN_OK);
  }
  char last[16];
  snprintf(last, sizeof last, "v%d", n);
  kit_output(g, last);
  assert_int_equal(tn_graph_sort(g, NULL), TN_OK);
  return g;
}

/* reach[a][b]: a path of at least one edge from cluster a to cluster b. */
static void close_paths(bool reach[MAX_NODES][MAX_NODES], int n) {
  for (int m = 0; m < n; m++)
    for (int a = 0; a < n; a++)
      for (int b = 0; b < n; b++) reach[a][b] = reach[a][b] || (reach[a][m] && reach[m][b]);
}

static void assert_convex(const tn_graph *g, const int *cluster) {
  bool reach[MAX_NODES][MAX_NODES] = {{false}};
  for (int n = 0; n < (int)g->nodes.n; n++) {
    const tn_node *node = &g->nodes.data[n].node;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
      int32_t p = tn_graph_val(g, node->inputs[k])->producer;
      if (p >= 0 && cluster[p] != cluster[n]) reach[cluster[p]][cluster[n]] = true;
    }
  }
  close_paths(reach, MAX_NODES);
  for (int k = 0; k < MAX_NODES; k++)
    assert_false(reach[k][k]); /* a cycle: some island is left and entered again */
}

static double naive_gain(const tn_graph *g, const tn_claim *claims, const tn_partition_options *o,
                         const tn_island *i) {
  double gain = 0;
  for (int32_t k = 0; k < i->n_nodes; k++)
    gain += claims[i->nodes[k]].cost_host_ns - claims[i->nodes[k]].cost_native_ns;
  for (int32_t v = 0; v < (int32_t)g->values.n; v++) {
    bool made = false, used_in = false,
         used_out = (tn_graph_val(g, v)->flags & TN_VALUE_OUTPUT) != 0;
    for (int64_t u = 0; u < tn_graph_val(g, v)->users.n; u++) {
      bool in = false;
      for (int32_t k = 0; k < i->n_nodes; k++)
        in = in || i->nodes[k] == tn_graph_val(g, v)->users.data[u];
      used_in = used_in || in;
      used_out = used_out || !in;
    }
    for (int32_t k = 0; k < i->n_nodes; k++)
      made = made || i->nodes[k] == tn_graph_val(g, v)->producer;
    if ((made && used_out) || (!made && used_in))
      gain -= o->transfer_fixed_ns + 40 * o->transfer_ns_per_byte;
  }
  return gain;
}

static void random_graphs_are_cut_convexly(void **state) {
  (void)state;
  int total = 0, largest = 0;
  for (int round = 0; round < 400; round++) {
    seed = (uint32_t)round * 104729u + 3u;
    int n = 2 + (int)next_random(MAX_NODES - 2), cluster[MAX_NODES];
    tn_graph *g = random_graph(n);
    tn_claim claims[MAX_NODES];
    for (int k = 0; k < n; k++) {
      claims[k] = claim((int32_t)next_random(5) - 2, next_random(100), 60 + next_random(100));
      if (claims[k].group < -1) claims[k].group = 0; /* group 0 is common, -1 declines */
      cluster[k] = k;
    }
    tn_partition_options o = {.transfer_fixed_ns = next_random(60),
                              .transfer_ns_per_byte = next_random(2),
                              .max_islands = round % 3 ? 0 : 3};
    tn_arena arena;
    tn_arena_init(&arena, tn_default_allocator());
    tn_island *islands;
    int32_t n_islands;
    assert_int_equal(partition(g, claims, &o, &arena, &islands, &n_islands), TN_OK);
    assert_true(!o.max_islands || n_islands <= o.max_islands);
    for (int32_t i = 0; i < n_islands; i++) {
      assert_true(islands[i].n_nodes > 0 && islands[i].gain_ns > 0);
      assert_true(i == 0 || islands[i - 1].gain_ns >= islands[i].gain_ns);
      double gain = naive_gain(g, claims, &o, &islands[i]);
      assert_true(gain - islands[i].gain_ns < 1e-6 && islands[i].gain_ns - gain < 1e-6);
      for (int32_t k = 0; k < islands[i].n_nodes; k++) {
        assert_int_equal(claims[islands[i].nodes[k]].group, islands[i].group);
        assert_int_equal(cluster[islands[i].nodes[k]],
                         islands[i].nodes[k]); /* in no other island */
        if (k) assert_true(islands[i].nodes[k - 1] < islands[i].nodes[k]);
      }
      for (int32_t k = 0; k < islands[i].n_nodes; k++)
        cluster[islands[i].nodes[k]] = islands[i].nodes[0];
      if (islands[i].n_nodes > largest) largest = islands[i].n_nodes;
    }
    assert_convex(g, cluster);
    total += n_islands;
    tn_arena_clear(&arena);
    tn_graph_free(g);
  }
  print_message("%d islands, the largest of %d nodes\n", total, largest);
  assert_true(total > 400 && largest > 5);
}

static int32_t cut(tn_graph *g, const tn_claim *claims, tn_partition_options o, tn_arena *arena,
                   tn_island **out) {
  int32_t n = -1;
  assert_int_equal(tn_graph_sort(g, NULL), TN_OK);
  assert_int_equal(partition(g, claims, &o, arena, out, &n), TN_OK);
  return n;
}

/* a -> b(declined) -> c and a -> c: a and c cannot be one island. */
static void a_detour_keeps_islands_apart(void **state) {
  (void)state;
  tn_graph *g = tn_graph_new(tn_default_allocator());
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  int64_t shape = 1;
  tn_tensor t = tn_tensor_make(TN_F32, 1, &shape, NULL);
  kit_input(g, "x", &t);
  kit_node(g, "Any", "x", "a");
  kit_node(g, "Any", "a", "b");
  kit_node(g, "Add", "a b", "c");
  kit_output(g, "c");
  tn_claim claims[3] = {claim(0, 1, 10), claim(-1, 0, 0), claim(0, 1, 10)};
  tn_island *islands;
  assert_int_equal(cut(g, claims, (tn_partition_options){0}, &arena, &islands), 2);
  claims[1].group = 0;
  assert_int_equal(cut(g, claims, (tn_partition_options){0}, &arena, &islands), 1);
  assert_int_equal(islands[0].n_nodes, 3);
  claims[1].cost_native_ns = 100; /* a bad node in the middle costs less than two borders more */
  assert_int_equal(
      cut(g, claims, (tn_partition_options){.transfer_fixed_ns = 1000}, &arena, &islands), 0);
  tn_arena_clear(&arena);
  tn_graph_free(g);
}

/* Nodes at the rim that are slower inside are left to the host. */
static void losing_rims_are_peeled(void **state) {
  (void)state;
  tn_graph *g = tn_graph_new(tn_default_allocator());
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  int64_t shape = 1;
  tn_tensor t = tn_tensor_make(TN_F32, 1, &shape, NULL);
  kit_input(g, "x", &t);
  kit_node(g, "Any", "x", "a");
  kit_node(g, "Any", "a", "b");
  kit_node(g, "Any", "b", "c");
  kit_output(g, "c");
  tn_claim claims[3] = {claim(0, 50, 10), claim(0, 1, 100), claim(0, 50, 10)};
  tn_island *islands;
  assert_int_equal(cut(g, claims, (tn_partition_options){.transfer_fixed_ns = 5}, &arena, &islands),
                   1);
  assert_int_equal(islands[0].n_nodes, 1);
  assert_true(islands[0].gain_ns == 99 - 10);
  tn_arena_clear(&arena);
  tn_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs_are_cut_convexly),
                                     cmocka_unit_test(a_detour_keeps_islands_apart),
                                     cmocka_unit_test(losing_rims_are_peeled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
