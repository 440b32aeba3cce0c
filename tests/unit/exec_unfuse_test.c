/* Fused steps that no kernel takes in the end become steps of their own again. */
#include "exec_parts.h"

enum { TAKES = 0, PLAN_FAILS = 1 };

/* test::Lead (x) -> y = 3 x, and then its epilogue, unless `how` makes plan() fail for one. */
static tn_status plan_lead(const tn_call *c, tn_kernel_plan *out) {
  (void)out;
  if (c->n_epilogue && *(const int64_t *)c->attrs == PLAN_FAILS)
    return (c->host->fail)(c->ctx, TN_ERR_UNSUPPORTED, "no epilogue after all");
  return TN_OK;
}

static tn_status run_lead(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const float *x = c->inputs[0]->data;
  float *y = c->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < tn_tensor_elements(c->outputs[0]); k++) {
    y[k] = 3 * x[k];
    for (uint32_t e = 0; e < c->n_epilogue; e++) {
      const tn_epilogue *step = c->epilogue[e];
      if (step->kind == TN_EPILOGUE_RELU) y[k] = y[k] > 0 ? y[k] : 0;
      if (step->kind == TN_EPILOGUE_ADD) y[k] += ((const float *)c->inputs[step->input]->data)[k];
    }
  }
  return TN_OK;
}

static tn_status run_ramp(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const float *x = c->inputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) ((float *)c->outputs[0]->data)[k] = x[k] > 0 ? x[k] : 0;
  return TN_OK;
}

static tn_status as_relu(const tn_call *c, tn_epilogue *out) {
  (void)c;
  out->kind = TN_EPILOGUE_RELU;
  return TN_OK;
}

static tn_status as_add(const tn_call *c, tn_epilogue *out) {
  (void)c;
  out->kind = TN_EPILOGUE_ADD;
  return TN_OK;
}

#define ELEMENTWISE (TN_OP_ELEMENTWISE | TN_OP_SAME_AS_INPUT)
PART_OP(op_lead, "Lead", "(Tensor x, *, int how) -> Tensor y", TN_OP_SAME_AS_INPUT, NULL);
PART_OP_WITH(op_ramp, "Ramp", "(Tensor x) -> Tensor y", .flags = ELEMENTWISE, .epilogue = as_relu);
PART_OP_WITH(op_plus, "Plus", "(Tensor a, Tensor b) -> Tensor y", .flags = ELEMENTWISE,
             .epilogue = as_add);
PART_KERNEL_WITH(lead_c, "Lead", PART_ANY, .flags = TN_KERNEL_EPILOGUE, .plan = plan_lead,
                 .run = run_lead);
PART_KERNEL(lead_plain_c, "Lead", NULL, run_lead); /* takes no epilogue: for pins */
PART_KERNEL(ramp_c, "Ramp", plan_elements, run_ramp);
PART_KERNEL(plus_c, "Plus", plan_elements, run_add);
static const tn_op *const ops[] = {&op_lead, &op_plus, &op_ramp};
static const tn_kernel *const kernels[] = {&lead_c, &lead_plain_c, &plus_c, &ramp_c};
PART_PLUGIN(plugin, ops, kernels);

/* y = t + max(3 x + t, 0), the operands once on either side. */
static void check(int64_t how, const char *pin, int32_t n_steps, const char *kernel) {
  bench b;
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY | TN_RUNTIME_NO_BUILTINS;
  options.pins = &pin;
  options.n_pins = pin != NULL;
  bench_open_with(&b, &options, plugin_query);
  tn_attr attr = {.head = TN_HEAD(tn_attr), .name = "how", .kind = TN_ATTR_INT, .i = how};
  add_input(b.graph, "x", TN_F32, 3);
  add_input(b.graph, "t", TN_F32, 3);
  add_node(b.graph, "Lead", "x", NULL, "a", &attr, NULL);
  add_node(b.graph, "Plus", "a", "t", "b", NULL, NULL);
  add_node(b.graph, "Ramp", "b", NULL, "c", NULL, NULL);
  add_node(b.graph, "Plus", "t", "c", "y", NULL, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  float x[3] = {1, -2, 3}, t[3] = {10, 1, -20};
  set_input(&b, 0, TN_F32, 3, x);
  set_input(&b, 1, TN_F32, 3, t);
  bench_run(&b);
  check_output(&b, 0, (float[]){23, 1, -20}, 3);
  tn_plan_info plan = {.head = TN_HEAD(tn_plan_info)};
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  assert_int_equal(tn_session_plan(b.session, &plan), TN_OK);
  assert_int_equal(plan.n_steps, n_steps);
  assert_int_equal(tn_session_step(b.session, 0, &step), TN_OK);
  assert_string_equal(step.kernel, kernel);
  assert_int_equal(step.n_epilogue, n_steps == 1 ? 3 : 0);
  assert_int_equal(step.n_inputs, n_steps == 1 ? 3 : 1);
  bench_close(&b);
}

static void test_fused(void **state) {
  (void)state;
  check(TAKES, NULL, 1, "lead_c");
}

static void test_plan_fails(void **state) {
  (void)state;
  check(PLAN_FAILS, NULL, 4, "lead_c");
}

/* The pinned kernel takes no epilogue: nothing is fused onto its node. */
static void test_pinned(void **state) {
  (void)state;
  check(TAKES, "Lead=lead_plain_c", 4, "lead_plain_c");
}

/* A pinned element-wise node stays one. */
static void test_pinned_step(void **state) {
  (void)state;
  check(PLAN_FAILS, "Ramp=ramp_c", 4, "lead_c");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fused),
      cmocka_unit_test(test_plan_fails),
      cmocka_unit_test(test_pinned),
      cmocka_unit_test(test_pinned_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
