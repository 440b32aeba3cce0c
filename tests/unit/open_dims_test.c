/* Inputs whose dims are open: what they can never be is an error when the model is loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/tenon.h"

typedef struct shape {
  int32_t rank;
  int64_t dims[4];
} shape;

/* y = a + b; answers the status of loading. */
static tn_status load_sum(shape a, shape b, tn_diag *diag) {
  const tn_graph_api *api = tn_graph_functions();
  const tn_runtime_options options = {
      .head = TN_HEAD(tn_runtime_options), .n_threads = 1, .flags = TN_RUNTIME_NO_DISCOVERY};
  tn_runtime *rt = NULL;
  tn_graph *g = NULL;
  tn_model *m = NULL;
  assert_int_equal(tn_runtime_create(&options, diag, &rt), TN_OK);
  assert_int_equal(tn_graph_create(rt, &g), TN_OK);
  assert_int_equal(api->set_opset(g, "", 17), TN_OK);
  const int32_t inputs[] = {api->value(g, "a"), api->value(g, "b")}, output = api->value(g, "y");
  for (int k = 0; k < 2; k++) {
    const shape *s = k ? &b : &a;
    const tn_tensor type = tn_tensor_make(TN_F32, s->rank, s->dims, NULL);
    assert_int_equal(api->value_set_type(g, inputs[k], &type), TN_OK);
    assert_int_equal(api->add_input(g, inputs[k]), TN_OK);
  }
  const tn_node n = {.head = TN_HEAD(tn_node),
                     .domain = "",
                     .op = "Add",
                     .name = "sum",
                     .n_inputs = 2,
                     .n_outputs = 1,
                     .inputs = inputs,
                     .outputs = &output,
                     .offset = -1};
  assert_true(api->add_node(g, &n) >= 0);
  assert_int_equal(api->add_output(g, output), TN_OK);
  const tn_status status = tn_model_from_graph_take(rt, g, NULL, diag, &m);
  tn_model_destroy(m);
  tn_runtime_destroy(rt);
  return status;
}

static void test_broadcast(void **state) {
  static const struct {
    shape a, b;
    const char *text; /* NULL: there are dims with which it runs */
  } cases[] = {
      {{2, {-1, 3}},
       {2, {-1, 4}},
       "node 'sum' (Add): inputs do not broadcast: input 1 has 4 at dim 1"},
      {{2, {-1, 3}}, {1, {4}}, "input 1 has 4 at dim 0, another has 3"},
      {{3, {-1, 5, -1}}, {3, {-1, 4, -1}}, "input 1 has 4 at dim 1, another has 5"},
      {{2, {-1, 3}}, {2, {-1, 0}}, "input 1 has 0 at dim 1, another has 3"},
      {{2, {-1, 3}}, {2, {-1, 3}}, NULL},
      {{2, {-1, 3}}, {2, {4, 1}}, NULL},
      {{2, {-1, 1}}, {2, {-1, 4}}, NULL},
      {{2, {-1, 3}}, {2, {4, -1}}, NULL},
      {{2, {-1, 3}}, {1, {-1}}, NULL},
      {{2, {-1, 3}}, {0, {0}}, NULL},
      {{TN_RANK_UNKNOWN, {0}}, {1, {4}}, NULL},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tn_diag *diag = tn_diag_create();
    const tn_status status = load_sum(cases[k].a, cases[k].b, diag);
    const char *text = tn_diag_text(diag);
    if (status != (cases[k].text ? TN_ERR_SHAPE : TN_OK) ||
        (cases[k].text && !strstr(text, cases[k].text)))
      fail_msg("case %d: status %d, text: %s", (int)k, (int)status, text);
    tn_diag_destroy(diag);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_broadcast),
  };
  return cmocka_run_group_tests_name("open_dims", tests, NULL, NULL);
}
