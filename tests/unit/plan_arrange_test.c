/* 08 arrange: memory is shared only where that is sound, little of it is needed, and what needs
 * no step has none. */
#include "plan/memory/arrange.h"
#include "plan_kit.h"

static uint32_t seed = 1;
static uint32_t next_random(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

/* ---- packing ---- */

static void packing_never_overlaps(void **state) {
  (void)state;
  double worst = 0, sum = 0;
  enum { ROUNDS = 200 };
  for (int round = 0; round < ROUNDS; round++) {
    tn_live_range lives[60];
    int32_t n = 1 + (int32_t)next_random(60);
    for (int32_t k = 0; k < n; k++) {
      int32_t first = (int32_t)next_random(50);
      lives[k] = (tn_live_range){.bytes = next_random(8) ? 1 + next_random(5000) : 0,
                                 .first = first,
                                 .last = first + (int32_t)next_random(12)};
    }
    uint64_t bytes, bound;
    assert_int_equal(tn_pack(tn_default_allocator(), lives, n, &bytes, &bound), TN_OK);
    for (int32_t i = 0; i < n; i++) {
      assert_int_equal(lives[i].offset % TN_ARENA_ALIGN, 0);
      assert_true(lives[i].offset + lives[i].bytes <= bytes);
      for (int32_t j = 0; j < i; j++) {
        bool meet = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
        bool overlap = lives[i].offset < lives[j].offset + lives[j].bytes &&
                       lives[j].offset < lives[i].offset + lives[i].bytes;
        assert_false(meet && overlap && lives[i].bytes && lives[j].bytes);
      }
    }
    assert_true(bytes >= bound);
    double ratio = bound ? (double)bytes / (double)bound : 1;
    sum += ratio;
    if (ratio > worst) worst = ratio;
  }
  print_message("packing / bound: mean %.4f, worst %.4f\n", sum / ROUNDS, worst);
  assert_true(sum / ROUNDS <= 1.05);
}

static void packing_reports_overflow(void **state) {
  (void)state;
  tn_live_range lives[3] = {{.bytes = INT64_MAX / 2, .last = 1},
                            {.bytes = INT64_MAX / 2, .last = 1},
                            {.bytes = INT64_MAX / 2, .last = 1}};
  uint64_t bytes, bound;
  assert_int_equal(tn_pack(tn_default_allocator(), lives, 3, &bytes, &bound), TN_ERR_OVERFLOW);
}

/* ---- plans ---- */

static int32_t root_of(const tn_plan *p, int32_t slot) {
  while (p->slots[slot].alias_of >= 0) slot = p->slots[slot].alias_of;
  return slot;
}

typedef struct span {
  int32_t first, last;
} span;

static void touch(const tn_plan *p, span *s, int32_t slot, int32_t time) {
  if (slot < 0) return;
  int32_t root = root_of(p, slot);
  if (time < s[root].first) s[root].first = time;
  if (time > s[root].last) s[root].last = time;
}

static void touch_step(const tn_plan *p, span *s, const tn_step *step, int32_t time) {
  for (uint32_t k = 0; k < step->node->node.n_inputs; k++)
    touch(p, s, step->node->node.inputs[k], time);
  for (uint32_t k = 0; k < step->node->node.n_outputs; k++)
    touch(p, s, step->node->node.outputs[k], time);
  for (uint32_t k = 0; k < step->n_followers; k++) touch_step(p, s, &step->followers[k], time);
}

/* May `later` lie over `earlier`, which ends in the step where it begins? Only if a kernel of
 * the step says so. */
static bool in_place_pair(const tn_plan *p, const tn_step *step, int32_t earlier, int32_t later) {
  for (uint32_t k = 0; k < step->node->node.n_outputs && k < TN_MAX_IN_PLACE; k++) {
    int32_t from = step->choice->plan.in_place[k];
    if (from >= 0 && root_of(p, step->node->node.outputs[k]) == later &&
        root_of(p, step->node->node.inputs[from]) == earlier)
      return true;
  }
  for (uint32_t k = 0; k < step->n_followers; k++)
    if (in_place_pair(p, &step->followers[k], earlier, later)) return true;
  return false;
}

/* A chain of pairs within one step: leader in place of x, follower in place of the leader, and
 * so on. */
static bool handed_over(const tn_plan *p, const tn_step *step, int32_t earlier, int32_t later) {
  if (in_place_pair(p, step, earlier, later)) return true;
  for (int32_t middle = 0; middle < p->n_slots; middle++)
    if (middle != earlier && in_place_pair(p, step, earlier, middle) &&
        handed_over(p, step, middle, later))
      return true;
  return false;
}

static void assert_no_overlap(const tn_plan *p) {
  span *s = calloc((size_t)p->n_slots, sizeof *s);
  assert_non_null(s);
  for (int32_t k = 0; k < p->n_slots; k++) s[k] = (span){INT32_MAX, -1};
  for (int32_t k = 0; k < p->n_steps; k++) touch_step(p, s, &p->steps[k], k);
  for (int32_t k = 0; k < p->n_outputs; k++) touch(p, s, p->outputs[k], p->n_steps);
  for (int32_t i = 0; i < p->n_slots; i++)
    for (int32_t j = 0; j < p->n_slots; j++) {
      const tn_slot *a = &p->slots[i], *b = &p->slots[j];
      if (i == j || a->place != TN_PLACE_ARENA || b->place != TN_PLACE_ARENA || a->alias_of >= 0 ||
          b->alias_of >= 0)
        continue;
      uint64_t a_bytes = (uint64_t)tn_storage_bytes(a->type),
               b_bytes = (uint64_t)tn_storage_bytes(b->type);
      assert_true(a->offset + a_bytes <= p->arena_bytes);
      if (a->offset >= b->offset + b_bytes || b->offset >= a->offset + a_bytes) continue;
      if (s[i].last < s[j].first || s[j].last < s[i].first || s[i].last < 0 || s[j].last < 0)
        continue;
      int32_t time = s[i].last < s[j].last ? s[i].last : s[j].last;
      assert_true(handed_over(p, &p->steps[time], i, j) || handed_over(p, &p->steps[time], j, i));
    }
  free(s);
}

/* A random graph over one input of n elements, and what it computes. */
typedef struct model {
  int n_values;
  int n[40]; /* elements */
  double *data[40];
} model;

static void compute(model *m, const char *op, int a, int b) {
  int to = m->n_values++, n = m->n[a];
  bool cat = !strcmp(op, "Cat");
  m->n[to] = cat ? n + m->n[b] : n;
  m->data[to] = calloc((size_t)m->n[to] + 1, sizeof(double));
  assert_non_null(m->data[to]);
  for (int k = 0; k < n; k++) {
    double x = m->data[a][k];
    if (!strcmp(op, "Any")) x *= 3;
    if (!strcmp(op, "Lead")) x -= 1;
    if (!strcmp(op, "Scale")) x *= 2;
    if (!strcmp(op, "Add")) x += m->data[b][k];
    m->data[to][k] = x;
  }
  for (int k = 0; cat && k < m->n[b]; k++) m->data[to][n + k] = m->data[b][k];
}

static tn_graph *random_graph(kit *k, model *m, const tn_tensor *type) {
  static const char *const ops[] = {"Any", "Lead", "Add", "Cat", "Flat", "Scale", "Add", "Any"};
  tn_graph *g = kit_graph(k);
  kit_input(g, "v0", type);
  int steps = 3 + (int)next_random(25);
  bool read[40] = {false};
  for (int i = 1; i <= steps; i++) {
    const char *op = ops[next_random(8)];
    int a = (int)next_random((uint32_t)m->n_values), b = (int)next_random((uint32_t)m->n_values);
    if (next_random(2)) a = m->n_values - 1; /* chains */
    if (!strcmp(op, "Add") && m->n[a] != m->n[b]) op = "Cat";
    if (!strcmp(op, "Cat") && m->n[a] + m->n[b] > 300) op = "Any";
    char ins[32], out[16];
    bool two = !strcmp(op, "Add") || !strcmp(op, "Cat");
    snprintf(ins, sizeof ins, two ? "v%d v%d" : "v%d", a, b);
    snprintf(out, sizeof out, "v%d", i);
    kit_node(g, op, ins, out);
    compute(m, op, a, b);
    read[a] = true;
    if (two) read[b] = true;
    if (next_random(8) == 0) read[i] = false;
  }
  for (int i = 1; i < m->n_values; i++) {
    char out[16];
    snprintf(out, sizeof out, "v%d", i);
    if (!read[i]) kit_output(g, out);
  }
  return g;
}

static void assert_outputs(const tn_frame *f, const tn_graph *g, const model *m) {
  for (int32_t k = 0; k < (int32_t)g->outputs.n; k++) {
    const tn_tensor *y = tn_frame_output(f, k);
    int v = atoi(tn_graph_val(g, g->outputs.data[k])->name + 1);
    assert_int_equal(y->shape[0], m->n[v]);
    for (int e = 0; e < m->n[v]; e++) assert_true(tn_load_f64(TN_F32, y->data, e) == m->data[v][e]);
  }
}

static void random_graphs_are_sound(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  for (int round = 0; round < (TN_FLAVOUR_SANITIZER ? 60 : 300); round++) {
    seed = (uint32_t)round * 7919u + 17u;
    int64_t n = 1 + next_random(40);
    float x[40];
    model m = {.n_values = 1, .n = {(int)n}};
    m.data[0] = calloc(41, sizeof(double));
    for (int e = 0; e < n; e++) m.data[0][e] = x[e] = (float)((int)next_random(5) - 2);
    tn_tensor t = tn_tensor_make(TN_F32, 1, &n, x);
    tn_graph *g = random_graph(&k, &m, &t), *names = tn_graph_clone(g);
    tn_callable *c = kit_callable(&k, g);
    tn_plan *plan = kit_plan(&k, c, &t);
    assert_no_overlap(plan);
    tn_frame *f = kit_run(&k, c, &t);
    assert_outputs(f, names, &m);
    tn_frame_destroy(f);
    tn_plan_release(plan);
    tn_callable_destroy(c);
    tn_graph_free(names);
    for (int v = 0; v < m.n_values; v++) free(m.data[v]);
  }
  kit_close(&k);
}

static tn_callable *chain(kit *k, const tn_tensor *t, const char *const *ops,
                          const char *const *ins, const char *const *outs, int n) {
  tn_graph *g = kit_graph(k);
  kit_input(g, "x", t);
  for (int i = 0; i < n; i++) kit_node(g, ops[i], ins[i], outs[i]);
  kit_output(g, outs[n - 1]);
  return kit_callable(k, g);
}

static void done(kit *k, tn_callable *c, tn_plan *plan) {
  tn_plan_release(plan);
  tn_callable_destroy(c);
  kit_close(k);
}

/* Any may write over its input: a chain after the first step needs one buffer. */
static void chains_run_in_place(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  int64_t n = 1000;
  tn_tensor t = tn_tensor_make(TN_F32, 1, &n, NULL);
  const char *ops[] = {"Scale", "Any", "Any", "Any"}, *ins[] = {"x", "a", "b", "c"},
             *outs[] = {"a", "b", "c", "d"};
  tn_callable *c = chain(&k, &t, ops, ins, outs, 4);
  tn_plan *plan = kit_plan(&k, c, &t);
  assert_int_equal(plan->arena_bytes, tn_round_up(4000, 64));
  assert_int_equal(plan->n_steps, 4);
  done(&k, c, plan);
}

/* Not over a graph input, and not while somebody else still reads. */
static void shared_values_are_not_overwritten(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  int64_t n = 16;
  tn_tensor t = tn_tensor_make(TN_F32, 1, &n, NULL);
  const char *ops[] = {"Any", "Any", "Any", "Add"}, *ins[] = {"x", "a", "a", "b c"},
             *outs[] = {"a", "b", "c", "y"};
  tn_callable *c = chain(&k, &t, ops, ins, outs, 4);
  tn_plan *plan = kit_plan(&k, c, &t);
  assert_no_overlap(plan);
  const tn_step *a = kit_step(plan, "a"), *b = kit_step(plan, "b"), *last = kit_step(plan, "c");
  assert_int_equal(plan->slots[a->node->node.inputs[0]].place, TN_PLACE_INPUT);
  assert_true(plan->slots[b->node->node.outputs[0]].offset !=
              plan->slots[a->node->node.outputs[0]].offset);
  assert_true(plan->slots[last->node->node.outputs[0]].offset ==
              plan->slots[a->node->node.outputs[0]].offset);
  done(&k, c, plan);
}

/* Flat moves nothing and concatenated values are made where they belong: neither has a step. */
static void moves_that_can_be_views_have_no_step(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  int64_t shape[] = {4, 8};
  tn_tensor t = tn_tensor_make(TN_F32, 2, shape, NULL);
  const char *ops[] = {"Scale", "Scale", "Cat", "Flat", "Lead"},
             *ins[] = {"x", "a", "a b", "c", "d"}, *outs[] = {"a", "b", "c", "d", "e"};
  tn_callable *c = chain(&k, &t, ops, ins, outs, 5);
  tn_plan *plan = kit_plan(&k, c, &t);
  assert_int_equal(plan->n_steps, 3);
  const tn_slot *a = &plan->slots[kit_step(plan, "a")->node->node.outputs[0]],
                *b = &plan->slots[kit_step(plan, "b")->node->node.outputs[0]];
  assert_int_equal(b->offset - a->offset, 4 * 8 * 4);
  assert_int_equal(plan->slots[kit_step(plan, "e")->node->node.inputs[0]].offset, a->offset);
  float x[32];
  for (int i = 0; i < 32; i++) x[i] = (float)i;
  t.data = x;
  tn_frame *f = kit_run(&k, c, &t);
  assert_true(tn_load_f64(TN_F32, tn_frame_output(f, 0)->data, 63) == 4 * 31 - 1);
  tn_frame_destroy(f);
  done(&k, c, plan);
}

/* A view of a graph input is memory of the input; as an output it is copied by the frame. */
static void views_of_inputs_work_as_outputs(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  int64_t shape[] = {2, 3};
  float x[6] = {1, 2, 3, 4, 5, 6};
  tn_tensor t = tn_tensor_make(TN_F32, 2, shape, x);
  const char *ops[] = {"Flat"}, *ins[] = {"x"}, *outs[] = {"y"};
  tn_callable *c = chain(&k, &t, ops, ins, outs, 1);
  tn_plan *plan = kit_plan(&k, c, &t);
  assert_int_equal(plan->n_steps, 0);
  assert_int_equal(plan->slots[plan->outputs[0]].place, TN_PLACE_INPUT);
  tn_frame *f = kit_run(&k, c, &t);
  assert_true(tn_load_f64(TN_F32, tn_frame_output(f, 0)->data, 5) == 6);
  assert_int_equal(tn_frame_output(f, 0)->rank, 1);
  tn_frame_destroy(f);
  done(&k, c, plan);
}

/* Lead says which elements an item writes, so element-wise nodes follow it; not those that need
 * something later. */
static void elementwise_nodes_follow(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  int64_t n = 64;
  float x[64];
  for (int i = 0; i < 64; i++) x[i] = (float)i;
  tn_tensor t = tn_tensor_make(TN_F32, 1, &n, x);
  const char *ops[] = {"Lead", "Any", "Any", "Lead", "Scale", "Add"},
             *ins[] = {"x", "a", "b", "c", "x", "d s"}, *outs[] = {"a", "b", "c", "d", "s", "y"};
  tn_callable *c = chain(&k, &t, ops, ins, outs, 6);
  tn_plan *plan = kit_plan(&k, c, &t);
  assert_int_equal(plan->steps[0].n_followers, 2);
  assert_int_equal(plan->n_steps, 4);
  assert_no_overlap(plan);
  tn_frame *f = kit_run(&k, c, &t);
  assert_true(tn_load_f64(TN_F32, tn_frame_output(f, 0)->data, 10) == (10 - 1) * 9 - 1 + 20);
  tn_frame_destroy(f);
  done(&k, c, plan);
}

/* A step does not grow for ever: it would take the square of its length to plan. */
static void many_elementwise_nodes_are_several_steps(void **state) {
  (void)state;
  enum { MANY = 150, MOST = 64 };
  kit k = kit_open(NULL, 0);
  int64_t n = 64;
  float x[64] = {0};
  char names[MANY + 1][8] = {"x"};
  tn_tensor t = tn_tensor_make(TN_F32, 1, &n, x);
  const char *ops[MANY], *ins[MANY], *outs[MANY];
  for (int i = 0; i < MANY; i++) {
    snprintf(names[i + 1], sizeof names[i + 1], i + 1 < MANY ? "v%d" : "y", i);
    ops[i] = i ? "Any" : "Lead";
    ins[i] = names[i];
    outs[i] = names[i + 1];
  }
  tn_callable *c = chain(&k, &t, ops, ins, outs, MANY);
  tn_plan *plan = kit_plan(&k, c, &t);
  for (int32_t i = 0; i < plan->n_steps; i++) assert_true(plan->steps[i].n_followers <= MOST);
  assert_int_equal(plan->steps[0].n_followers, MOST);
  assert_no_overlap(plan);
  done(&k, c, plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packing_never_overlaps),
      cmocka_unit_test(packing_reports_overflow),
      cmocka_unit_test(random_graphs_are_sound),
      cmocka_unit_test(chains_run_in_place),
      cmocka_unit_test(shared_values_are_not_overwritten),
      cmocka_unit_test(moves_that_can_be_views_have_no_step),
      cmocka_unit_test(views_of_inputs_work_as_outputs),
      cmocka_unit_test(elementwise_nodes_follow),
      cmocka_unit_test(many_elementwise_nodes_are_several_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
