/* Rewrites of plug-ins that touch what was there before them: done right, or refused with the
 * rule. */
#include "exec_kit.h"

/* test::Twice (x) -> 2 x; a rewrite starts from it that does what `edit` says. */
static enum { NOTHING, REGION, OTHER_REGION, SAME_TYPE, OTHER_TYPE } edit;

static tn_status plan_one(const tn_call *c, tn_kernel_plan *out) {
  (void)c;
  out->items[0] = 1;
  return TN_OK;
}

static tn_status run_twice(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < tn_tensor_elements(c->inputs[0]); k++)
    ((float *)c->outputs[0]->data)[k] = 2 * ((const float *)c->inputs[0]->data)[k];
  return TN_OK;
}

/* The node becomes a copy of its input, backwards. */
static tn_status become_copy(const tn_graph_api *api, tn_graph *g, int32_t node) {
  const tn_region all = {.head = TN_HEAD(tn_region),
                         .rank = 1,
                         .size = {3},
                         .src_offset = 2,
                         .src_stride = {-1},
                         .dst_stride = {1}};
  const tn_region *const regions[] = {&all};
  const int32_t from = api->node(g, node)->inputs[0];
  return api->set_regions(g, node, &from, 1, regions, 1, -1);
}

static tn_status rewrite_twice(const tn_call *c, tn_graph *g, int32_t node) {
  const tn_graph_api *api = c->host->graph;
  const int32_t y = api->node(g, node)->outputs[0];
  tn_tensor type = *api->value_type(g, y);
  if (edit == REGION) return become_copy(api, g, node);
  if (edit == OTHER_REGION) return become_copy(api, g, api->value_user(g, y, 0));
  if (edit == OTHER_TYPE) type.dtype = TN_I8;
  return edit == NOTHING ? TN_OK : api->value_set_type(g, y, &type);
}

PART_OP(twice, "Twice", "(Tensor x) -> Tensor y", TN_OP_SAME_AS_INPUT, NULL);
PART_KERNEL(twice_c, "Twice", plan_one, run_twice);
static const tn_op *const ops[] = {&twice};
static const tn_kernel *const kernels[] = {&twice_c};
static const tn_rewrite rewrite = {
    .head = TN_HEAD(tn_rewrite), .name = "twice", .root = "test::Twice", .apply = rewrite_twice};
static const tn_rewrite *const rewrites[] = {&rewrite};
PART_PLUGIN(plain, ops, kernels);

static const tn_plugin *query(uint32_t major, uint32_t minor) {
  static tn_plugin plugin;
  plugin = *plain_query(major, minor);
  plugin.n_rewrites = 1;
  plugin.rewrites = rewrites;
  return &plugin;
}

static tn_status run_model(bench *b, float *x) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  bench_open_with(b, &options, query);
  add_input(b->graph, "x", TN_F32, 3);
  add_node(b->graph, "Twice", "x", NULL, "y", NULL, NULL);
  add_node(b->graph, "Twice", "y", NULL, "z", NULL, NULL);
  add_output(b->graph, "z");
  tn_graph *graph = b->graph;
  b->graph = NULL;
  tn_status s = tn_model_from_graph_take(b->runtime, graph, NULL, b->diag, &b->model);
  if (!s) s = tn_session_create(b->model, b->diag, &b->session);
  if (s) return s;
  set_input(b, 0, TN_F32, 3, x);
  return tn_session_run(b->session, b->diag);
}

static void says(bench *b, const char *rule) {
  if (!strstr(tn_diag_text(b->diag), rule)) fail_msg("%s", tn_diag_text(b->diag));
  bench_close(b);
}

static void edits(void **state) {
  (void)state;
  bench b;
  float x[] = {1, -2, 3}, four[] = {4, -8, 12};
  edit = NOTHING;
  assert_int_equal(run_model(&b, x), TN_OK);
  check_output(&b, 0, four, 3);
  bench_close(&b);
  edit = REGION; /* two copies backwards */
  assert_int_equal(run_model(&b, x), TN_OK);
  check_output(&b, 0, x, 3);
  bench_close(&b);
  edit = SAME_TYPE;
  assert_int_equal(run_model(&b, x), TN_OK);
  check_output(&b, 0, four, 3);
  bench_close(&b);
  edit = OTHER_REGION;
  assert_int_equal(run_model(&b, x), TN_ERR_STATE);
  says(&b,
       "rewrite 'twice' failed: TN_ERR_STATE: called in the wrong order, or the object is in "
       "use; set_regions: only the node that the edit is asked for");
  edit = OTHER_TYPE;
  assert_int_equal(run_model(&b, x), TN_ERR_STATE);
  says(&b, "; value_set_type: of values that were there before the edit");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(edits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
