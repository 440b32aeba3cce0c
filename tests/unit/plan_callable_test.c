/* Callables: the bounded cache of plans, inputs whose data shapes depend on, the cut before a
 * continuation, prepared states. */
#include "plan/constants/packed.h"
#include "plan_kit.h"

static tn_graph *scale_graph(const kit *k, const tn_tensor *type) {
  tn_graph *g = kit_graph(k);
  kit_input(g, "x", type);
  kit_node(g, "Scale", "x", "y");
  kit_output(g, "y");
  return g;
}

static tn_tensor vector(int64_t n, float *data) { return tn_tensor_make(TN_F32, 1, &n, data); }

static void plans_are_kept_up_to_the_limit(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_tensor open_type = vector(TN_DIM_UNKNOWN, NULL);
  tn_callable *c = kit_callable(&k, scale_graph(&k, &open_type));
  tn_plan *plans[5];
  for (int n = 0; n < 5; n++) {
    tn_tensor t = vector(n + 1, NULL);
    plans[n] = kit_plan(&k, c, &t);
    assert_true(c->plans.n <= 3);
    assert_int_equal(plans[n]->slots[plans[n]->outputs[0]].type->shape[0], n + 1);
  }
  tn_tensor kept = vector(4, NULL), gone = vector(1, NULL);
  tn_plan *again = kit_plan(&k, c, &kept), *fresh = kit_plan(&k, c, &gone);
  assert_ptr_equal(again, plans[3]);
  assert_ptr_not_equal(fresh, plans[0]);
  assert_int_equal(c->plans.n, 3);
  for (int n = 0; n < 5; n++)
    tn_plan_release(plans[n]); /* those that the cache dropped live until here */
  tn_plan_release(again);
  tn_plan_release(fresh);
  tn_callable_destroy(c);
  kit_close(&k);
}

static void least_recently_used_goes_first(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_tensor open_type = vector(TN_DIM_UNKNOWN, NULL);
  tn_callable *c = kit_callable(&k, scale_graph(&k, &open_type));
  tn_plan *first = NULL;
  for (int n = 1; n <= 6; n++) { /* the plan for 1 is used again between the others */
    tn_tensor one = vector(1, NULL), t = vector(n, NULL);
    tn_plan *p = kit_plan(&k, c, &t), *q = kit_plan(&k, c, &one);
    if (!first) first = q;
    assert_ptr_equal(first, q);
    tn_plan_release(p);
    tn_plan_release(q);
  }
  tn_callable_destroy(c);
  kit_close(&k);
}

static void inputs_are_checked(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  int64_t shape[] = {TN_DIM_UNKNOWN, 4}, other[] = {2, 5};
  tn_tensor declared = kit_type(TN_F32, 2, shape), wrong = kit_type(TN_F32, 2, other),
            open_type = declared;
  tn_callable *c = kit_callable(&k, scale_graph(&k, &declared));
  const tn_tensor *in = &wrong;
  tn_plan *plan = NULL;
  assert_int_equal(tn_callable_plan(c, &in, 0, k.diag, &plan), TN_ERR_SHAPE);
  assert_non_null(
      strstr(tn_diag_text(k.diag), "input 'x' is f32[2,5], which does not fit f32[?,4]"));
  wrong.dtype = TN_F64;
  wrong.shape[1] = 4;
  assert_int_equal(tn_callable_plan(c, &in, 0, k.diag, &plan), TN_ERR_SHAPE);
  in = &open_type;
  assert_int_equal(tn_callable_plan(c, &in, 0, k.diag, &plan), TN_ERR_SHAPE);
  in = NULL;
  assert_int_equal(tn_callable_plan(c, &in, 0, k.diag, &plan), TN_ERR_INVALID);
  assert_null(plan);
  assert_int_equal(c->plans.n, 0);
  tn_callable_destroy(c);
  kit_close(&k);
}

/* The shape of Fill's output stands in a graph input: its bytes become part of the key. */
static void data_of_inputs_can_be_part_of_the_key(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = kit_graph(&k);
  int64_t two = 2, dims[2] = {2, 3}, dims2[2] = {4, 1};
  tn_tensor t = tn_tensor_make(TN_I64, 1, &two, NULL);
  kit_input(g, "dims", &t);
  kit_node(g, "Fill", "dims", "f");
  kit_node(g, "Any", "f", "y");
  kit_output(g, "y");
  tn_callable *c = kit_callable(&k, g);
  const tn_tensor *in = &t;
  tn_plan *plan = NULL;
  assert_int_equal(tn_callable_plan(c, &in, 0, k.diag, &plan), TN_NEEDS_DATA);
  t.data = dims;
  tn_plan *a = kit_plan(&k, c, &t);
  assert_null(a->continuation);
  assert_true(tn_plan_matches(a, &in));
  assert_int_equal(a->slots[a->outputs[0]].type->shape[1], 3);
  t.data = dims2;
  assert_false(tn_plan_matches(a, &in));
  tn_frame *f = kit_run(&k, c, &t);
  assert_int_equal(tn_frame_output(f, 0)->shape[0], 4);
  assert_true(tn_load_f64(TN_F32, tn_frame_output(f, 0)->data, 3) == 9);
  tn_frame_destroy(f);
  tn_plan_release(a);
  tn_callable_destroy(c);
  kit_close(&k);
}

/* x -> Pick -> (unknown length) -> Any -> y1; x -> Lead -> y0; both halves and what crosses. */
static void data_dependent_shapes_cut_the_plan(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = kit_graph(&k);
  float x[6] = {1, -1, 2, -2, 3, -3};
  tn_tensor t = vector(6, x);
  kit_input(g, "x", &t);
  kit_node(g, "Lead", "x", "l");
  kit_node(g, "Pick", "l", "p");
  kit_node(g, "Any", "p", "y1");
  kit_node(g, "Pick", "y1", "q"); /* a continuation of the continuation */
  kit_node(g, "Any", "q", "y2");
  kit_output(g, "y2");
  kit_output(g, "l");
  kit_output(g, "y1");
  tn_callable *c = kit_callable(&k, g);
  tn_plan *plan = kit_plan(&k, c, &t);
  assert_non_null(plan->continuation);
  assert_int_equal(plan->n_outputs, 3);
  assert_int_equal(plan->n_continuation_inputs, 1);
  assert_int_equal(plan->slots[plan->continuation_inputs[0]].place, TN_PLACE_DYNAMIC);
  assert_true(plan->continuation_outputs[0] >= 0 && plan->continuation_outputs[1] < 0 &&
              plan->continuation_outputs[2] >= 0);
  tn_frame *f = kit_run(&k, c, &t);
  const tn_tensor *y2 = tn_frame_output(f, 0), *l = tn_frame_output(f, 1),
                  *y1 = tn_frame_output(f, 2);
  assert_int_equal(l->shape[0], 6);
  assert_int_equal(y1->shape[0], 2); /* l: 0 -2 1 -3 2 -4 */
  assert_true(tn_load_f64(TN_F32, y1->data, 0) == 3 && tn_load_f64(TN_F32, y1->data, 1) == 6);
  assert_true(y2->shape[0] == 2 && tn_load_f64(TN_F32, y2->data, 1) == 18);
  x[1] = 5; /* same shapes, other data */
  const tn_tensor *in = &t;
  kit_ok(&k, tn_frame_run(f, &in, NULL, NULL, k.diag));
  assert_int_equal(tn_frame_output(f, 2)->shape[0], 3);
  tn_frame_destroy(f);
  tn_plan_release(plan);
  tn_callable_destroy(c);
  kit_close(&k);
}

/* Fill reads its shape from what the head computes. */
static void shapes_computed_by_the_head_feed_the_continuation(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = kit_graph(&k);
  float x[3] = {2, -1, 3};
  tn_tensor t = vector(3, x);
  kit_input(g, "x", &t);
  kit_node(g, "Pick", "x", "p");
  kit_node(g, "Count", "p", "n");
  kit_node(g, "Fill", "n", "y");
  kit_node(g, "Add", "y p", "z");
  kit_output(g, "z");
  tn_callable *c = kit_callable(&k, g);
  tn_frame *f = kit_run(&k, c, &t);
  const tn_tensor *z = tn_frame_output(f, 0);
  assert_true(z->shape[0] == 2 && tn_load_f64(TN_F32, z->data, 1) == 4);
  tn_frame_destroy(f);
  tn_callable_destroy(c);
  kit_close(&k);
}

static tn_graph *pack_graph(const kit *k, const tn_tensor *x, const tn_tensor *w) {
  tn_graph *g = kit_graph(k);
  kit_input(g, "x", x);
  kit_const(g, "w", w);
  kit_node(g, "Pack", "x w", "y");
  kit_output(g, "y");
  return g;
}

static void states_are_shared_by_plans(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  float w[3] = {1, 2, 3}, x[4] = {1, 1, 1, 1};
  tn_tensor weights = vector(3, w), open_type = vector(TN_DIM_UNKNOWN, NULL), a = vector(2, x),
            b = vector(4, x);
  tn_callable *c = kit_callable(&k, pack_graph(&k, &open_type, &weights));
  tn_plan *p = kit_plan(&k, c, &a), *q = kit_plan(&k, c, &b);
  assert_int_equal(kit_prepared, 1);
  assert_ptr_equal(p->steps[0].state, q->steps[0].state);
  assert_int_equal(p->state_bytes, sizeof(double));
  assert_true(p->scratch_bytes >= 110 && p->arena_bytes >= p->scratch_bytes);
  tn_frame *f = kit_run(&k, c, &b);
  assert_true(tn_load_f64(TN_F32, tn_frame_output(f, 0)->data, 3) == 6);
  tn_frame_destroy(f);
  tn_plan_release(p);
  tn_plan_release(q);
  assert_int_equal(kit_finished, 0);
  tn_callable_destroy(c); /* nobody has the weights any more */
  assert_int_equal(kit_finished, 1);
  kit_close(&k);
}

/* By what they point to: names are text, and devices numbers. */
static void attributes_are_told_apart(void **state) {
  static const char text[] = "(Tensor x, *, Dimname d, Dimname[] l, Device[] v) -> Tensor y";
  char one[] = "rows", same[] = "rows", other[] = "cols";
  struct {
    tn_str d;
    tn_strs l;
    tn_ints v;
  } attrs;
  tn_arena arena;
  tn_schema s;
  (void)state;
  tn_arena_init(&arena, tn_default_allocator());
  assert_int_equal(tn_schema_parse(text, &arena, "op", NULL, &s), TN_OK);
  assert_int_equal(s.attrs_size, sizeof attrs);
  const tn_str a = {one, 4}, b = {same, 4}, c = {other, 4};
  const int64_t devices[] = {1, 2}, more[] = {1, 3};
  attrs.d = a, attrs.l = (tn_strs){&a, 1}, attrs.v = (tn_ints){devices, 2};
  const uint64_t hash = tn_attrs_hash(&s, &attrs, 0);
  attrs.d = b, attrs.l.data = &b;
  assert_true(tn_attrs_hash(&s, &attrs, 0) == hash);
  attrs.d = c;
  assert_true(tn_attrs_hash(&s, &attrs, 0) != hash);
  attrs.d = a, attrs.l.data = &c;
  assert_true(tn_attrs_hash(&s, &attrs, 0) != hash);
  attrs.l.data = &a, attrs.v.data = more;
  assert_true(tn_attrs_hash(&s, &attrs, 0) != hash);
  tn_arena_clear(&arena);
}

/* Other weights, other state: the key holds the constant. */
static void states_differ_by_constants(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  float w[3] = {1, 2, 3}, v[3] = {4, 4, 4}, x[2] = {1, 1};
  tn_tensor weights = vector(3, w), others = vector(3, v), in = vector(2, x);
  tn_callable *c = kit_callable(&k, pack_graph(&k, &in, &weights)),
              *d = kit_callable(&k, pack_graph(&k, &in, &others));
  tn_frame *f = kit_run(&k, c, &in), *h = kit_run(&k, d, &in);
  assert_int_equal(kit_prepared, 2);
  assert_true(tn_load_f64(TN_F32, tn_frame_output(f, 0)->data, 0) == 6);
  assert_true(tn_load_f64(TN_F32, tn_frame_output(h, 0)->data, 0) == 12);
  tn_frame_destroy(f);
  tn_frame_destroy(h);
  tn_callable_destroy(c);
  tn_callable_destroy(d);
  kit_close(&k);
}

static void constants_are_folded_and_outputs_may_be_constant(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = kit_graph(&k);
  float w[3] = {1, 2, 3};
  tn_tensor weights = vector(3, w), x = vector(3, w);
  kit_input(g, "x", &x);
  kit_const(g, "w", &weights);
  kit_node(g, "Any", "w", "c");
  kit_output(g, "c");
  kit_output(g, "x"); /* and an input may be handed on */
  tn_callable *c = kit_callable(&k, g);
  tn_plan *plan = kit_plan(&k, c, &x);
  assert_int_equal(plan->n_steps, 0);
  assert_int_equal(plan->slots[plan->outputs[0]].place, TN_PLACE_CONST);
  assert_int_equal(plan->slots[plan->outputs[1]].place, TN_PLACE_INPUT);
  tn_frame *f = kit_run(&k, c, &x);
  assert_true(tn_load_f64(TN_F32, tn_frame_output(f, 0)->data, 2) == 9);
  assert_true(tn_load_f64(TN_F32, tn_frame_output(f, 1)->data, 2) == 3);
  tn_frame_destroy(f);
  tn_plan_release(plan);
  tn_callable_destroy(c);
  kit_close(&k);
}

static void passes_can_be_stopped(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_tensor t = vector(5, NULL);
  tn_callable *c = kit_callable(&k, scale_graph(&k, &t));
  const tn_tensor *in = &t;
  for (int32_t pass = 2; pass <= 8; pass++) {
    tn_plan *plan = NULL;
    kit_ok(&k, tn_callable_plan(c, &in, pass, k.diag, &plan));
    assert_int_equal(plan->graph->order.n, 1);
    assert_int_equal(tn_graph_node(plan->graph, plan->graph->order.data[0])->choice != NULL,
                     pass >= 7);
    assert_int_equal(plan->n_steps, pass == 8);
    tn_plan_release(plan);
  }
  assert_int_equal(c->plans.n, 0);
  tn_callable_destroy(c);
  kit_close(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_are_kept_up_to_the_limit),
      cmocka_unit_test(least_recently_used_goes_first),
      cmocka_unit_test(inputs_are_checked),
      cmocka_unit_test(data_of_inputs_can_be_part_of_the_key),
      cmocka_unit_test(data_dependent_shapes_cut_the_plan),
      cmocka_unit_test(shapes_computed_by_the_head_feed_the_continuation),
      cmocka_unit_test(states_are_shared_by_plans),
      cmocka_unit_test(states_differ_by_constants),
      cmocka_unit_test(attributes_are_told_apart),
      cmocka_unit_test(constants_are_folded_and_outputs_may_be_constant),
      cmocka_unit_test(passes_can_be_stopped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
