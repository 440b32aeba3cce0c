/* Pins that leave kernels out: what runs instead, lowering where none is left, and names that no
 * kernel has. */
#include "exec_kit.h"

/* test::Quad (x) -> max(4 x, 0): two kernels, and a lowering to test::Four and test::Ramp, whose
 * kernel for the first takes the second as its epilogue. */
static tn_status plan_elements(const tn_call *c, tn_kernel_plan *out) {
  out->items[0] = tn_tensor_elements(c->outputs[0]);
  return TN_OK;
}

static tn_status run_four(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const float *x = c->inputs[0]->data;
  float *y = c->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) {
    y[k] = 4 * x[k];
    if (c->n_epilogue) y[k] = y[k] > 0 ? y[k] : 0;
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

static tn_status run_quad(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const float *x = c->inputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) ((float *)c->outputs[0]->data)[k] = x[k] > 0 ? 4 * x[k] : 0;
  return TN_OK;
}

static tn_status lower_quad(const tn_call *c, tn_graph *g, int32_t node) {
  const tn_graph_api *api = c->host->graph;
  const int32_t ids[] = {api->node(g, node)->inputs[0], api->value(g, NULL), api->value(g, NULL)};
  for (int k = 0; k < 2; k++) {
    const tn_node made = {.head = TN_HEAD(tn_node),
                          .domain = "test",
                          .op = k ? "Ramp" : "Four",
                          .name = k ? "second" : "first",
                          .n_inputs = 1,
                          .n_outputs = 1,
                          .inputs = &ids[k],
                          .outputs = &ids[k + 1],
                          .offset = -1};
    if (api->add_node(g, &made) < 0) return TN_ERR_MEMORY;
  }
  return api->replace_node(g, node, &ids[2], 1);
}

static tn_status as_relu(const tn_call *c, tn_epilogue *out) {
  (void)c;
  out->kind = TN_EPILOGUE_RELU;
  return TN_OK;
}

PART_OP_WITH(op_quad, "Quad", "(Tensor x) -> Tensor y", .flags = TN_OP_SAME_AS_INPUT,
             .lower = lower_quad);
PART_OP(op_four, "Four", "(Tensor x) -> Tensor y", TN_OP_SAME_AS_INPUT, NULL);
PART_OP_WITH(op_ramp, "Ramp", "(Tensor x) -> Tensor y",
             .flags = TN_OP_ELEMENTWISE | TN_OP_SAME_AS_INPUT, .epilogue = as_relu);
PART_KERNEL(quad_a, "Quad", plan_elements, run_quad);
PART_KERNEL(quad_b, "Quad", plan_elements, run_quad);
PART_KERNEL_WITH(four_c, "Four", PART_ANY, .flags = TN_KERNEL_EPILOGUE, .plan = plan_elements,
                 .run = run_four);
PART_KERNEL(ramp_c, "Ramp", plan_elements, run_ramp);
static const tn_op *const ops[] = {&op_quad, &op_four, &op_ramp};
static const tn_kernel *const kernels[] = {&quad_a, &quad_b, &four_c, &ramp_c};
PART_PLUGIN(plugin, ops, kernels);

/* A node "y" of Quad as a model. */
static tn_status load(bench *b, const char *pin) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY | TN_RUNTIME_NO_BUILTINS;
  options.pins = &pin;
  options.n_pins = pin != NULL;
  bench_open_with(b, &options, plugin_query);
  add_input(b->graph, "x", TN_F32, 3);
  add_node(b->graph, "Quad", "x", NULL, "y", NULL, NULL);
  add_output(b->graph, "y");
  tn_graph *graph = b->graph;
  b->graph = NULL;
  const tn_status status = tn_model_from_graph_take(b->runtime, graph, NULL, b->diag, &b->model);
  return status ? status : tn_session_create(b->model, b->diag, &b->session);
}

static void runs_with(const char *pin, const char *kernel, int32_t n_epilogue) {
  bench b;
  float x[] = {1, -2, 3};
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  if (load(&b, pin)) fail_msg("%s", tn_diag_text(b.diag));
  set_input(&b, 0, TN_F32, 3, x);
  bench_run(&b);
  check_output(&b, 0, (float[]){4, 0, 12}, 3);
  assert_int_equal(tn_session_step(b.session, 0, &step), TN_OK);
  assert_string_equal(step.kernel, kernel);
  assert_int_equal(step.n_epilogue, n_epilogue);
  bench_close(&b);
}

static void fails_with(const char *pin, const char *text) {
  bench b;
  assert_int_equal(load(&b, pin), TN_ERR_UNSUPPORTED);
  if (!strstr(tn_diag_text(b.diag), text)) fail_msg("%s", tn_diag_text(b.diag));
  bench_close(&b);
}

/* text: NULL: of nothing. */
static void warns_of(const char *pin, const char *text) {
  bench b;
  assert_int_equal(load(&b, pin), TN_OK);
  assert_int_equal(tn_diag_count(b.diag), text != NULL);
  const char *told = text ? tn_diag_message(b.diag, 0, NULL) : NULL;
  if (text && !strstr(told, text)) fail_msg("%s", told);
  bench_close(&b);
}

static void another_kernel_runs(void **state) {
  (void)state;
  runs_with(NULL, "quad_a", 0);
  runs_with("Quad!=quad_a", "quad_b", 0);
  runs_with("y!=quad_a", "quad_b", 0);
  runs_with("Sub!=quad_a", "quad_a", 0);
}

/* Early enough for what comes of it to be fused. */
static void without_any_the_node_is_lowered(void **state) {
  (void)state;
  runs_with("Quad!=quad_*", "four_c", 1);
  runs_with("y!=quad_*", "four_c", 1);
}

static void a_kernel_that_is_not_there_is_told(void **state) {
  (void)state;
  fails_with("Quad!=quad_c",
             "pin 'Quad!=quad_c': no kernel of this operator has the name 'quad_c'; it has quad_a, "
             "quad_b");
  fails_with("test::Quad=quat_a", "pin 'test::Quad=quat_a': no kernel of this operator");
  fails_with("test::Quad!=quat_*", "has the name 'quat_*'");
  fails_with("Quad!=four_c", "no kernel of this operator has the name");
  fails_with("Four=quad_a", "it has four_c"); /* also where the model has no such node yet */
  fails_with("y!=quad_c", "pin 'y!=quad_c': no kernel has the name 'quad_c'");
  fails_with("y=quad_c", "no kernel has the name 'quad_c'");
  runs_with("y!=four_c", "quad_a", 0); /* what a node becomes keeps its name, as a rule */
}

static void a_pin_of_nothing_is_told(void **state) {
  (void)state;
  warns_of("Sub!=quad_c", "pin 'Sub!=quad_c' has no effect");
  warns_of("test::Sub=quad_c", "of the name 'test::Sub'");
  warns_of("est::Quad=quad_b", "of the name 'est::Quad'");
  warns_of("Quad=quad_a", NULL);
  warns_of("y!=quad_a", NULL);
  warns_of("Ramp!=ramp_c", NULL); /* known, if not in this model */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(another_kernel_runs),
                                     cmocka_unit_test(without_any_the_node_is_lowered),
                                     cmocka_unit_test(a_kernel_that_is_not_there_is_told),
                                     cmocka_unit_test(a_pin_of_nothing_is_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
