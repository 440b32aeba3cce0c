/* Calls have an entry for every argument of the operator, also for those that a node leaves out at
 * the end of its lists; what subgraphs capture is never taken for one of them. */
#include "exec_parts.h"

/* test::Opt (x, a?, b?, c?) -> y, extra?: y = 2 x; with a body, which captures: y = body() */
static const char *wrong(const tn_call *c) {
  if (!c->inputs[0]) return "x is not there";
  for (uint32_t k = 1; k < 4; k++)
    if (c->inputs[k]) return "an input is there that was left out";
  return c->outputs[1] ? "an output is there that nobody asked for" : NULL;
}

static tn_status check(const tn_call *c, const char *where) {
  const char *reason = wrong(c);
  return reason ? (c->host->fail)(c->ctx, TN_ERR_INTERNAL, "%s: %s", where, reason) : TN_OK;
}

static tn_status infer_opt(const tn_call *c) {
  if (check(c, "infer")) return TN_ERR_INTERNAL;
  *c->outputs[0] = *c->inputs[0];
  c->outputs[0]->data = NULL;
  return TN_OK;
}

static tn_status flops_opt(const tn_call *c, double *out_flops) {
  *out_flops = wrong(c) ? -1 : 123;
  return TN_OK;
}

static const char *refuse_opt(const tn_call *c) { return wrong(c); }

static tn_status plan_opt(const tn_call *c, tn_kernel_plan *out) {
  out->state_bytes = 8;
  return check(c, "plan");
}

static tn_status prepare_opt(const tn_call *c) { return check(c, "prepare"); }

static tn_status run_opt(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  const int64_t *attrs = c->attrs; /* has_body, body */
  const tn_tensor *from = c->inputs[0];
  (void)stage, (void)begin, (void)end, (void)worker;
  tn_status status = check(c, "run");
  if (!status && attrs[0]) status = c->host->subgraph_run(c->ctx, attrs[1], 0, NULL, 1, &from);
  if (status) return status;
  for (int64_t k = 0; k < tn_tensor_elements(from); k++)
    ((float *)c->outputs[0]->data)[k] = 2 * ((const float *)from->data)[k];
  return TN_OK;
}

static const tn_op op_opt = {.head = TN_HEAD(tn_op),
                             .domain = "test",
                             .name = "Opt",
                             .since = 1,
                             .schema =
                                 "(Tensor x, Tensor? a=None, Tensor? b=None, Tensor? c=None, "
                                 "*, Graph? body=None) -> (Tensor y, Tensor? extra)",
                             .infer = infer_opt,
                             .flops = flops_opt,
                             .doc = "For tests."};
TN_ACCEPT(any, .arg = "*", .dtypes = TN_ANY_DTYPE);
TN_LIST(const tn_accept *, any_rows, &any);
static const tn_kernel opt_c = {.head = TN_HEAD(tn_kernel),
                                .name = "opt_c",
                                .op = "test::Opt",
                                .device = "cpu",
                                .rank = TN_RANK_PORTABLE,
                                TN_SET(accepts, any_rows),
                                .refuse = refuse_opt,
                                .plan = plan_opt,
                                .prepare = prepare_opt,
                                .run = run_opt};
static const tn_op *const ops[] = {&op_opt};
static const tn_kernel *const kernels[] = {&opt_c};
static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                 .name = "exec_entries",
                                 .version = "1",
                                 .license = "Apache-2.0",
                                 .build_id = "test",
                                 .flavour = TN_FLAVOUR,
                                 .n_ops = 1,
                                 .ops = ops,
                                 .n_kernels = 1,
                                 .kernels = kernels};

static const tn_plugin *query(uint32_t major, uint32_t minor) {
  (void)major, (void)minor;
  return &plugin;
}

static void open(bench *b) {
  bench_open(b, NULL, 1);
  if (tn_runtime_add_plugin(b->runtime, query, NULL, 0, b->diag))
    fail_msg("%s", tn_diag_text(b->diag));
  add_input(b->graph, "x", TN_F32, 2);
}

static void run(bench *b, const float *expected) {
  float x[2] = {1, -3};
  bench_start(b);
  set_input(b, 0, TN_F32, 2, x);
  bench_run(b);
  check_output(b, 0, expected, 2);
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  assert_int_equal(tn_session_step(b->session, 0, &step), TN_OK);
  assert_string_equal(step.kernel, "opt_c");
  assert_true(step.flops == 123);
  bench_close(b);
}

static void test_left_out_at_the_end(void **state) {
  bench b;
  (void)state;
  open(&b);
  add_node(b.graph, "Opt", "x", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  run(&b, (float[]){2, -6});
}

/* Inputs of a constant: the node is folded. */
static void test_left_out_of_a_folded_node(void **state) {
  bench b;
  (void)state;
  open(&b);
  float data[2] = {4, 5};
  tn_tensor t = vector(TN_F32, 2, data);
  const tn_graph_api *api = tn_graph_functions();
  assert_int_equal(api->value_set_const(b.graph, api->value(b.graph, "k"), &t, 1), TN_OK);
  add_node(b.graph, "Opt", "k", NULL, "folded", NULL, NULL);
  add_node(b.graph, "Add", "folded", "x", "sum", NULL, NULL);
  add_output(b.graph, "sum");
  bench_start(&b);
  float x[2] = {1, 1};
  set_input(&b, 0, TN_F32, 2, x);
  bench_run(&b);
  check_output(&b, 0, (float[]){9, 11}, 2);
  tn_plan_info plan = {.head = TN_HEAD(tn_plan_info)};
  assert_int_equal(tn_session_plan(b.session, &plan), TN_OK);
  assert_int_equal(plan.n_steps, 1);
  bench_close(&b);
}

/* The captured value z stands behind the place of c, not in that of a. */
static void test_captures_stand_behind(void **state) {
  bench b;
  (void)state;
  open(&b);
  const tn_graph_api *api = tn_graph_functions();
  tn_graph *body = api->subgraph_new(b.graph);
  tn_attr attr = tn_attr_graph("body", &body);
  add_node(b.graph, "Double", "x", NULL, "z", NULL, NULL);
  add_node(body, "Double", "z", NULL, "w", NULL, NULL);
  add_output(body, "w");
  add_node(b.graph, "Opt", "x", NULL, "y", &attr, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  float x[2] = {1, -3};
  set_input(&b, 0, TN_F32, 2, x);
  bench_run(&b);
  check_output(&b, 0, (float[]){8, -24}, 2);
  bench_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_left_out_at_the_end),
      cmocka_unit_test(test_left_out_of_a_folded_node),
      cmocka_unit_test(test_captures_stand_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
