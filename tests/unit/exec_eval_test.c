/* Running one node on constants: strings, prepared states, shapes that only the run can tell, and
 * refusals. */
#include "exec_parts.h"

#include "exec/exec.h"

static void add_const(tn_graph *g, const char *name, tn_tensor t) {
  const tn_graph_api *api = tn_graph_functions();
  assert_int_equal(api->value_set_const(g, api->value(g, name), &t, 1), TN_OK);
}

static void test_folding(void **state) {
  bench b;
  float x[] = {1, 2, 3};
  tn_str s[] = {{"some", 4}, {"text", 4}};
  (void)state;
  bench_open(&b, NULL, 1);
  add_const(b.graph, "x", vector(TN_F32, 3, x));
  add_const(b.graph, "s", vector(TN_STRING, 2, s));
  add_node(b.graph, "Count", "x", NULL, "c", NULL, NULL);
  add_node(b.graph, "Add", "c", "x", "y", NULL, NULL);
  add_node(b.graph, "Upper", "s", NULL, "u", NULL, NULL);
  add_output(b.graph, "y");
  add_output(b.graph, "u");
  bench_start(&b);
  bench_run(&b);
  check_output(&b, 0, (float[]){2, 4, 6}, 3);
  const tn_str *u = tn_session_output(b.session, 1)->data;
  assert_memory_equal(u[1].data, "TEXT", 4);
  tn_plan_info info = {.head = TN_HEAD(tn_plan_info)};
  assert_int_equal(tn_session_plan(b.session, &info), TN_OK);
  assert_int_equal(info.n_steps, 0);
  bench_close(&b);
}

/* The node of the checked graph whose operator is `op`. */
static const tn_gnode *find_node(const tn_graph *g, const char *op) {
  for (int64_t k = 0; k < g->nodes.n; k++)
    if (g->nodes.data[k].alive && !strcmp(g->nodes.data[k].node.op, op)) return &g->nodes.data[k];
  fail_msg("no node %s", op);
  return NULL;
}

static tn_status eval_one(bench *b, const char *op, tn_tensor *in, tn_tensor *out,
                          tn_const **made) {
  const tn_tensor *ins[] = {in, in};
  tn_tensor *outs[] = {out};
  const tn_gnode *node = find_node(b->model->main->graph, op);
  return tn_eval_node(&b->model->planner, node, ins, outs, made, b->diag);
}

static void test_one_node(void **state) {
  bench b;
  float x[] = {0, 5, 0, 6};
  tn_attr how = {.head = TN_HEAD(tn_attr), .name = "how", .kind = TN_ATTR_INT, .i = BAD_TEXT};
  tn_tensor in = vector(TN_F32, 4, x), out = vector(TN_I64, TN_DIM_UNKNOWN, NULL);
  tn_const *made = NULL;
  (void)state;
  bench_open(&b, NULL, 2);
  add_input(b.graph, "x", TN_F32, 4);
  add_node(b.graph, "NonZero", "x", NULL, "i", NULL, NULL);
  add_node(b.graph, "Pack", "x", "x", "list", NULL, NULL);
  add_node(b.graph, "Bad", "x", NULL, "bad", &how, NULL);
  add_output(b.graph, "i");
  add_output(b.graph, "list");
  add_output(b.graph, "bad");
  bench_start(&b);
  assert_int_equal(eval_one(&b, "NonZero", &in, &out, &made), TN_OK);
  assert_int_equal(tn_tensor_elements(&out), 2);
  assert_ptr_equal(out.data, made->data);
  assert_int_equal(((const int64_t *)out.data)[1], 3);
  tn_const_release(made);

  out = vector(TN_F32, 4, NULL);
  assert_int_equal(eval_one(&b, "Bad", &in, &out, &made), TN_ERR_UNSUPPORTED);
  assert_null(made);
  assert_null(out.data);
  assert_non_null(
      strstr(tn_diag_text(b.diag), "node 'bad' (Bad), kernel 'bad_c': I will not do 5"));

  out = (tn_tensor){.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .kind = TN_KIND_SEQUENCE};
  assert_int_equal(eval_one(&b, "Pack", &in, &out, &made), TN_ERR_UNSUPPORTED); /* no constant */
  bench_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_folding),
                                     cmocka_unit_test(test_one_node)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
