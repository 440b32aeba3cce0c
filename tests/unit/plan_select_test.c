/* 07 select: which kernels are chosen, where conversions stand, and what is said about those
 * that were not taken. */
#include "plan_kit.h"

static const int64_t shape4[] = {1, 16, 4, 4};

static tn_plan *plan_chain(kit *k, const char *const *ops, int n, tn_callable **out_c) {
  tn_graph *g = kit_graph(k);
  tn_tensor t = kit_type(TN_F32, 4, shape4);
  kit_input(g, "v0", &t);
  for (int i = 0; i < n; i++) {
    char in[16], out[16];
    snprintf(in, sizeof in, "v%d", i);
    snprintf(out, sizeof out, "v%d", i + 1);
    kit_node(g, ops[i], in, out);
    if (i == n - 1) kit_output(g, out);
  }
  *out_c = kit_callable(k, g);
  return kit_plan(k, *out_c, &t);
}

static void done(kit *k, tn_callable *c, tn_plan *plan) {
  tn_plan_release(plan);
  tn_callable_destroy(c);
  kit_close(k);
}

/* A region of blocked kernels pays for the conversions at its borders; agnostic nodes inside go
 * along. */
static void blocked_when_it_pays(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  kit_cost_blocked = 100;
  const char *ops[] = {"Scale", "Any", "Scale", "Any", "Scale"};
  tn_callable *c;
  tn_plan *plan = plan_chain(&k, ops, 5, &c);
  assert_int_equal(kit_count(plan, "scale_b8"), 3);
  assert_int_equal(kit_count(plan, "Reorder"), 2);
  assert_int_equal(plan->slots[plan->outputs[0]].type->layout, TN_PLAIN);
  assert_true(kit_step(plan, "v2")->choice->cost_ns == kit_cost_any);
  done(&k, c, plan);
}

static void plain_when_conversion_costs_more(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  kit_cost_blocked = 900; /* saves 100 per node, a conversion costs 200 */
  kit_cost_convert = 200;
  const char *ops[] = {"Scale", "Any", "Scale", "Any", "Scale"};
  tn_callable *c;
  tn_plan *plan = plan_chain(&k, ops, 5, &c);
  assert_int_equal(kit_count(plan, "Reorder"), 0);
  assert_int_equal(kit_count(plan, "scale_plain_better"), 3);
  done(&k, c, plan);
}

/* A plain-only node between two groups of agnostic ones: the group changes as a whole. */
static void agnostic_groups_move_together(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  kit_cost_blocked = 100;
  kit_cost_convert = 300;
  const char *ops[] = {"Scale", "Scale", "Any", "Any", "Any", "Lead", "Any", "Any", "Lead"};
  tn_callable *c;
  tn_plan *plan = plan_chain(&k, ops, 9, &c);
  assert_int_equal(kit_count(plan, "scale_b8"), 2);
  assert_int_equal(kit_count(plan, "Reorder"),
                   2); /* in, and out again before or after the first group */
  done(&k, c, plan);
}

/* One value read in the other layout by three nodes is converted once. */
static void conversions_are_shared(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  kit_cost_blocked = 100;
  tn_graph *g = kit_graph(&k);
  tn_tensor t = kit_type(TN_F32, 4, shape4);
  kit_input(g, "x", &t);
  kit_node(g, "Lead", "x", "l"); /* plain only */
  kit_node(g, "Scale", "l", "a");
  kit_node(g, "Scale", "l", "b");
  kit_node(g, "Scale", "l", "c");
  kit_node(g, "Add", "a b", "ab");
  kit_node(g, "Add", "ab c", "y");
  kit_output(g, "y");
  tn_callable *c = kit_callable(&k, g);
  tn_plan *plan = kit_plan(&k, c, &t);
  assert_int_equal(kit_count(plan, "scale_b8"), 3);
  assert_int_equal(kit_count(plan, "reorder_to_b8"), 1);
  assert_int_equal(kit_count(plan, "reorder_from_b8"), 1);
  done(&k, c, plan);
}

/* f16 without a kernel: f32 with casts around, constants cast while planning, and the right
 * numbers. */
static void half_runs_in_f32(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = kit_graph(&k);
  int64_t shape[] = {3};
  uint16_t x[3] = {tn_f32_to_f16(1), tn_f32_to_f16(2), tn_f32_to_f16(3)},
           b[3] = {tn_f32_to_f16(10), tn_f32_to_f16(20), tn_f32_to_f16(30)};
  tn_tensor t = tn_tensor_make(TN_F16, 1, shape, x), w = tn_tensor_make(TN_F16, 1, shape, b);
  kit_input(g, "x", &t);
  kit_const(g, "w", &w);
  kit_node(g, "Scale", "x", "s");
  kit_node(g, "Add", "s w", "y");
  kit_output(g, "y");
  tn_callable *c = kit_callable(&k, g);
  tn_plan *plan = kit_plan(&k, c, &t);
  assert_int_equal(kit_count(plan, "Cast"), 2); /* in and out */
  tn_frame *f = kit_run(&k, c, &t);
  const tn_tensor *y = tn_frame_output(f, 0);
  assert_int_equal(y->dtype, TN_F16);
  for (int i = 0; i < 3; i++) assert_true(tn_load_f64(TN_F16, y->data, i) == 12.0 * (i + 1));
  tn_frame_destroy(f);
  done(&k, c, plan);
}

static void rank_wins_and_refusals_are_told(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  const char *ops[] = {"Scale"};
  tn_callable *c;
  tn_plan *plan = plan_chain(&k, ops, 1, &c);
  const tn_step *s = kit_step(plan, "v1");
  assert_string_equal(s->choice->def->kernel.name, "scale_plain_better");
  bool told = false;
  for (uint32_t i = 0; i < s->choice->n_refusals; i++)
    told = told || (!strcmp(s->choice->refusals[i].kernel, "scale_plain") &&
                    strstr(s->choice->refusals[i].reason, "rank 100"));
  assert_true(told);
  assert_int_equal(s->choice->n_refusals, 2);
  done(&k, c, plan);
}

static void pins_are_obeyed(void **state) {
  (void)state;
  const char *pins[] = {"Scale=scale_plain_better", "v2=scale_plain", "t::Any=any_any"};
  kit k = kit_open(pins, 3);
  kit_cost_blocked = 1;
  const char *ops[] = {"Scale", "Scale", "Any"};
  tn_callable *c;
  tn_plan *plan = plan_chain(&k, ops, 3, &c);
  assert_string_equal(kit_step(plan, "v1")->choice->def->kernel.name, "scale_plain_better");
  assert_string_equal(kit_step(plan, "v2")->choice->def->kernel.name, "scale_plain");
  done(&k, c, plan);
}

static tn_status plan_fails(kit *k, tn_graph *g, const tn_tensor *t) {
  tn_callable *c = kit_callable(k, g);
  tn_plan *plan = NULL;
  tn_status s = tn_callable_plan(c, &t, 0, k->diag, &plan);
  assert_null(plan);
  tn_callable_destroy(c);
  return s;
}

/* All nodes that cannot run are reported together, each with every kernel's reason. */
static void everything_unsupported_is_reported(void **state) {
  (void)state;
  const char *pins[] = {"b=scale_plain"};
  kit k = kit_open(pins, 1);
  tn_graph *g = kit_graph(&k);
  int64_t shape[] = {1313};
  tn_tensor t = kit_type(TN_F32, 1, shape);
  kit_input(g, "x", &t);
  kit_node(g, "Scale", "x", "a");
  kit_node(g, "Any", "a", "b");
  kit_output(g, "b");
  assert_int_equal(plan_fails(&k, g, &t), TN_ERR_UNSUPPORTED);
  const char *text = tn_diag_text(k.diag);
  assert_non_null(
      strstr(text, "not supported: operator t::Scale version 1 with types f32[1313] -> f32[1313]"));
  assert_non_null(strstr(text, "1313 elements bring bad luck"));
  assert_non_null(strstr(text, "scale_plain: is pinned, but no kernel of this operator has"));
  kit_close(&k);
}

static void missing_kernel_is_lowered(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  const char *ops[] = {"Six"};
  tn_callable *c;
  tn_plan *plan = plan_chain(&k, ops, 1, &c);
  assert_int_equal(kit_count(plan, "Six"), 0);
  assert_int_equal(kit_count(plan, "Scale"), 1);
  done(&k, c, plan);
}

static void no_optimize_keeps_to_plain(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  kit_cost_blocked = 1;
  k.planner.model_flags = TN_MODEL_NO_OPTIMIZE;
  const char *ops[] = {"Scale", "Scale", "Any"};
  tn_callable *c;
  tn_plan *plan = plan_chain(&k, ops, 3, &c);
  assert_int_equal(plan->n_steps, 3);
  assert_int_equal(kit_count(plan, "scale_plain_better"), 2);
  done(&k, c, plan);
}

/* ---- against all assignments of small graphs ---- */

enum { MAX_SMALL = 11 };

typedef struct small {
  int n; /* nodes; node k makes value k + 1 */
  const char *op[MAX_SMALL];
  int in[MAX_SMALL][2], n_in[MAX_SMALL];
} small;

static double cost_of_mask(const small *m, unsigned blocked) {
  double cost = 0;
  for (int k = 0; k < m->n; k++) {
    bool b = blocked >> k & 1;
    if (!strcmp(m->op[k], "Lead"))
      cost += b ? 1e9 : 50;
    else if (!strcmp(m->op[k], "Scale"))
      cost += b ? kit_cost_blocked : kit_cost_plain;
    else
      cost += kit_cost_any;
  }
  for (int v = 0; v <= m->n; v++) {
    bool home = v > 0 && (blocked >> (v - 1) & 1), other = false, read = false;
    for (int k = 0; k < m->n; k++)
      for (int i = 0; i < m->n_in[k]; i++)
        if (m->in[k][i] == v) read = true, other = other || (blocked >> k & 1) != home;
    if (!read) other = home; /* a graph output */
    if (other) cost += kit_cost_convert;
  }
  return cost;
}

static void solver_is_near_the_best(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  uint32_t seed = 5;
  int optimal = 0;
  double worst = 1;
  enum { ROUNDS = 200 };
  for (int round = 0; round < ROUNDS; round++) {
    static const char *const ops[] = {"Scale", "Any", "Add", "Lead", "Scale", "Add"};
    small m = {.n = 3 + round % (MAX_SMALL - 2)};
    tn_graph *g = kit_graph(&k);
    tn_tensor t = kit_type(TN_F32, 4, shape4);
    kit_input(g, "v0", &t);
    bool read[MAX_SMALL + 1] = {false};
    for (int n = 0; n < m.n; n++) {
      char ins[32], out[16];
      m.op[n] = ops[(seed = seed * 1664525u + 1013904223u) / 65536u % 6];
      m.n_in[n] = strcmp(m.op[n], "Add") ? 1 : 2;
      for (int i = 0; i < m.n_in[n]; i++) {
        seed = seed * 1664525u + 1013904223u;
        m.in[n][i] = i == 0 ? n - (int)(seed / 65536u % 2) * (n > 0)
                            : (int)(seed / 65536u % (uint32_t)(n + 1));
        read[m.in[n][i]] = true;
      }
      snprintf(ins, sizeof ins, m.n_in[n] == 2 ? "v%d v%d" : "v%d", m.in[n][0], m.in[n][1]);
      snprintf(out, sizeof out, "v%d", n + 1);
      kit_node(g, m.op[n], ins, out);
    }
    for (int n = 1; n <= m.n; n++) {
      char out[16];
      snprintf(out, sizeof out, "v%d", n);
      if (!read[n]) kit_output(g, out);
    }
    seed = seed * 1664525u + 1013904223u;
    kit_cost_plain = 1000;
    kit_cost_blocked = 200 + seed / 65536u % 900;
    kit_cost_convert = 50 + seed / 7u % 500;
    double best = 1e30;
    for (unsigned mask = 0; mask < 1u << m.n; mask++) {
      double cost = cost_of_mask(&m, mask);
      if (cost < best) best = cost;
    }
    tn_callable *c = kit_callable(&k, g);
    tn_plan *plan = kit_plan(&k, c, &t);
    assert_true(plan->cost_ns >= best - 1e-6);
    optimal += plan->cost_ns <= best + 1e-6;
    if (plan->cost_ns / best > worst) worst = plan->cost_ns / best;
    tn_plan_release(plan);
    tn_callable_destroy(c);
  }
  print_message("optimal in %d of %d graphs, worst %.3f times the best\n", optimal, ROUNDS, worst);
  assert_true(optimal >= ROUNDS * 95 / 100);
  assert_true(worst <= 1.25);
  kit_close(&k);
}

static void mismatches_name_argument_and_rule(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_arena arena;
  tn_arena_init(&arena, k.planner.a);
  const tn_opdef *op = tn_registry_op(k.planner.registry, "t", "Pack", 1);
  const tn_kerneldef *const *kernels;
  assert_int_equal(tn_registry_kernels(k.planner.registry, op, &kernels), 1);
  int64_t shape[] = {3};
  tn_tensor x = kit_type(TN_F32, 1, shape), y = x;
  const tn_tensor *in[] = {&x, &x};
  tn_tensor *out[] = {&y};
  tn_call call = {.head = TN_HEAD(tn_call),
                  .version = 1,
                  .n_inputs = 2,
                  .n_outputs = 1,
                  .inputs = in,
                  .outputs = out};
  assert_string_equal(tn_kernel_match(kernels[0], op, &call, 2, &arena),
                      "input W is no constant, must be one");
  op = tn_registry_op(k.planner.registry, "t", "Wide", 1);
  assert_int_equal(tn_registry_kernels(k.planner.registry, op, &kernels), 1);
  x.dtype = TN_F16;
  assert_string_equal(tn_kernel_match(kernels[0], op, &call, 1, &arena),
                      "input X is f16, takes f32");
  x.dtype = TN_F32;
  y.layout = TN_BLOCKED(16);
  assert_string_equal(tn_kernel_match(kernels[0], op, &call, 1, &arena),
                      "output Y is in layout blocked16, takes plain");
  y.layout = TN_PLAIN;
  assert_null(tn_kernel_match(kernels[0], op, &call, 1, &arena));
  const tn_epilogue e = {.head = TN_HEAD(tn_epilogue), .kind = TN_EPILOGUE_RELU, .input = -1},
                    *list = &e;
  call.epilogue = &list;
  call.n_epilogue = 1;
  assert_string_equal(tn_kernel_match(kernels[0], op, &call, 1, &arena),
                      "applies no epilogue, the node has one");
  tn_arena_clear(&arena);
  kit_close(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocked_when_it_pays),
      cmocka_unit_test(plain_when_conversion_costs_more),
      cmocka_unit_test(agnostic_groups_move_together),
      cmocka_unit_test(conversions_are_shared),
      cmocka_unit_test(half_runs_in_f32),
      cmocka_unit_test(rank_wins_and_refusals_are_told),
      cmocka_unit_test(pins_are_obeyed),
      cmocka_unit_test(everything_unsupported_is_reported),
      cmocka_unit_test(missing_kernel_is_lowered),
      cmocka_unit_test(no_optimize_keeps_to_plain),
      cmocka_unit_test(mismatches_name_argument_and_rule),
      cmocka_unit_test(solver_is_near_the_best),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
