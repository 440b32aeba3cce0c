/* Which outputs may lie in the caller's memory, and which on an input's: plans by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "exec/bindings.h"

/* N steps y_k = f(x_k), in place. Slots: the inputs, then the outputs. */
enum { N = 1000 };
static tn_tensor type;
static tn_slot slots[2 * N];
static int32_t root[2 * N], outputs[N];
static tn_gnode nodes[N];
static tn_step steps[N];
static tn_choice in_place;
static tn_use uses[2 * N];
static tn_plan plan;

static int set_up(void **state) {
  (void)state;
  type = (tn_tensor){.dtype = TN_F32};
  in_place = (tn_choice){.plan = {.in_place = {0}}};
  plan = (tn_plan){.slots = slots,
                   .steps = steps,
                   .outputs = outputs,
                   .n_slots = 2 * N,
                   .n_steps = N,
                   .n_inputs = N,
                   .n_outputs = N};
  for (int32_t k = 0; k < 2 * N; k++) {
    root[k] = k;
    slots[k] = (tn_slot){.type = &type,
                         .place = k < N ? TN_PLACE_INPUT : TN_PLACE_ARENA,
                         .index = k < N ? k : -1,
                         .alias_of = -1};
  }
  static int32_t ids[2 * N];
  for (int32_t k = 0; k < N; k++) {
    ids[k] = k;
    ids[N + k] = outputs[k] = N + k;
    nodes[k] = (tn_gnode){
        .node = {.n_inputs = 1, .n_outputs = 1, .inputs = &ids[k], .outputs = &ids[N + k]}};
    steps[k] = (tn_step){.node = &nodes[k], .choice = &in_place};
  }
  return 0;
}

static tn_output_binding binding(int32_t k) {
  tn_uses_note(&plan, root, uses);
  return tn_output_binding_of(&plan, root, uses, k);
}

/* One walk over the steps serves all outputs: they are answered when the plan has none any more. */
static void all_outputs_in_one_walk(void **state) {
  (void)state;
  tn_uses_note(&plan, root, uses);
  plan.n_steps = 0;
  for (int32_t k = 0; k < N; k++) {
    const tn_output_binding b = tn_output_binding_of(&plan, root, uses, k);
    assert_true(b.allowed);
    assert_int_equal(b.over, k);
  }
}

static void inputs_that_others_read(void **state) {
  (void)state;
  const int32_t both[] = {0, 1};
  nodes[1].node.n_inputs = 2;
  nodes[1].node.inputs = both;
  assert_true(binding(0).allowed);
  assert_int_equal(binding(0).over, -1);
  assert_int_equal(binding(1).over, -1); /* in place on input 0, which step 0 reads as well */
  assert_int_equal(binding(2).over, 2);
  root[2] = 3; /* a view of another input, which is read twice then */
  assert_int_equal(binding(2).over, -1);
  assert_int_equal(binding(3).over, -1);
  plan.n_continuation_inputs = 1;
  plan.continuation_inputs = (int32_t[]){4};
  assert_int_equal(binding(4).over, -1);
  outputs[0] = 5; /* the caller sees it */
  assert_false(binding(0).allowed);
  assert_int_equal(binding(5).over, -1);
}

static void followers(void **state) {
  (void)state;
  const tn_step reads_4 = {.node = &nodes[4]};
  steps[3].followers = &reads_4;
  steps[3].n_followers = 1;
  assert_true(binding(3).allowed);
  assert_int_equal(binding(3).over, -1);
  assert_int_equal(binding(4).over, -1);
  in_place.plan.in_place[0] = -1;
  assert_true(binding(5).allowed);
  assert_int_equal(binding(5).over, -1);
}

static void outputs_without_memory_of_their_own(void **state) {
  (void)state;
  outputs[1] = outputs[0];
  assert_true(binding(0).allowed);
  assert_false(binding(1).allowed);
  slots[N + 2].alias_of = N + 3;
  assert_false(binding(2).allowed);
  slots[N + 3].device = 1;
  assert_false(binding(3).allowed);
  slots[N + 4].place = TN_PLACE_CONST;
  assert_false(binding(4).allowed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(all_outputs_in_one_walk, set_up),
      cmocka_unit_test_setup(inputs_that_others_read, set_up),
      cmocka_unit_test_setup(followers, set_up),
      cmocka_unit_test_setup(outputs_without_memory_of_their_own, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
