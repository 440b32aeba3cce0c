/* For tests of rewrites: makes a graph of standard operators around one input, runs it as it is
 * prepared and as it stands, and compares the steps and the answers. */
#ifndef TENON_TESTS_FUSE_KIT_H
#define TENON_TESTS_FUSE_KIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/kit/lower.h"
#include "tenon/tenon.h"

enum { KIT_MAX_ELEMENTS = 256, KIT_MAX_TEXT = 512 };

typedef struct maker {
  const tn_graph_api *api;
  tn_graph *graph;
  int32_t x, also; /* the input; a value that is an output, too, or -1 */
} maker;

typedef int32_t (*make_fn)(maker *); /* answers the value that is the output */

static const char *kit_pin;           /* of the runtime: "Conv=kernel"; NULL: none */
static tn_plugin_query_fn kit_plugin; /* in the runtime; NULL: none */
static bool kit_open;                 /* the model leaves the input's first dim open */
static uint32_t kit_precision;        /* of weights; 0: as they are */
static const char *kit_device;        /* of the model; NULL: the CPU */

static inline int32_t constant(maker *m, uint32_t dtype, int32_t rank, const int64_t *dims,
                               const void *data) {
  const tn_tensor t = tn_tensor_make(dtype, rank, dims, (void *)(uintptr_t)data);
  const int32_t id = m->api->value(m->graph, NULL);
  assert_int_equal(m->api->value_set_const(m->graph, id, &t, 1), TN_OK);
  return id;
}
static inline int32_t number(maker *m, float value) { return constant(m, TN_F32, 0, NULL, &value); }

static inline int32_t node_of(maker *m, const char *op, const int32_t *inputs, uint32_t n,
                              const tn_attr *const *attrs, uint32_t n_attrs) {
  const int32_t out = m->api->value(m->graph, NULL);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = op,
                        .name = "",
                        .inputs = inputs,
                        .n_inputs = n,
                        .outputs = &out,
                        .n_outputs = 1,
                        .attrs = attrs,
                        .n_attrs = n_attrs,
                        .offset = -1};
  assert_true(m->api->add_node(m->graph, &node) >= 0);
  return out;
}
/* b: -1 for an operator of one input. attr: NULL for none. */
static inline int32_t op_with(maker *m, const char *op, int32_t a, int32_t b, const tn_attr *attr) {
  return node_of(m, op, (const int32_t[]){a, b}, b < 0 ? 1 : 2, &attr, attr != NULL);
}
static inline int32_t op(maker *m, const char *name, int32_t a, int32_t b) {
  return op_with(m, name, a, b, NULL);
}

/* Runs the graph with an input of this type and these data; gives its operators in the order of the
 * steps, and output 0, which has as many elements as the input. */
static inline void kit_run(make_fn make, const tn_tensor *in, uint32_t flags,
                           char ops[KIT_MAX_TEXT], float *y) {
  tn_runtime *runtime = NULL;
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_diag *diag = tn_diag_create();
  tn_runtime_options runtime_options = TN_RUNTIME_OPTIONS_INIT;
  runtime_options.pins = &kit_pin;
  runtime_options.n_pins = kit_pin != NULL;
  assert_int_equal(tn_runtime_create(&runtime_options, diag, &runtime), TN_OK);
  if (kit_plugin && tn_runtime_add_plugin(runtime, kit_plugin, NULL, 0, diag))
    fail_msg("%s", tn_diag_text(diag));
  maker m = {.api = tn_graph_functions(), .also = -1};
  assert_int_equal(tn_graph_create(runtime, &m.graph), TN_OK);
  assert_int_equal(m.api->set_opset(m.graph, "", 23), TN_OK);
  m.x = m.api->value(m.graph, "x");
  tn_tensor declared = tn_tensor_make(in->dtype, in->rank, in->shape, NULL);
  if (kit_open) declared.shape[0] = TN_DIM_UNKNOWN;
  assert_int_equal(m.api->value_set_type(m.graph, m.x, &declared), TN_OK);
  assert_int_equal(m.api->add_input(m.graph, m.x), TN_OK);
  assert_int_equal(m.api->add_output(m.graph, make(&m)), TN_OK);
  if (m.also >= 0) assert_int_equal(m.api->add_output(m.graph, m.also), TN_OK);
  const tn_model_options options = {.head = TN_HEAD(tn_model_options),
                                    .flags = flags,
                                    .precision = kit_precision,
                                    .devices = &kit_device,
                                    .n_devices = kit_device != NULL};
  if (tn_model_from_graph_take(runtime, m.graph, &options, diag, &model))
    fail_msg("%s", tn_diag_text(diag));
  assert_int_equal(tn_session_create(model, diag, &session), TN_OK);
  assert_int_equal(tn_session_set_input(session, 0, in, diag), TN_OK);
  if (tn_session_run(session, diag)) fail_msg("%s", tn_diag_text(diag));
  const tn_tensor *out = tn_session_output(session, 0);
  assert_int_equal(tn_tensor_elements(out), tn_tensor_elements(in));
  memcpy(y, out->data, (size_t)tn_tensor_elements(in) * sizeof *y);
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  ops[0] = 0;
  for (int32_t k = 0; !tn_session_step(session, k, &step); k++)
    snprintf(ops + strlen(ops), KIT_MAX_TEXT - strlen(ops), "%s%s", k ? " " : "", step.op);
  tn_session_destroy(session);
  tn_model_destroy(model);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
}

/* Prepared and as it stands, the graph answers the same; prepared, its steps (in `ops` afterwards)
 * hold `op_name` if `fuses`, else they do not. */
static inline void kit_check(make_fn make, const tn_tensor *in, const char *op_name, bool fuses,
                             char ops[KIT_MAX_TEXT]) {
  char spelt[KIT_MAX_TEXT];
  float y[KIT_MAX_ELEMENTS], want[KIT_MAX_ELEMENTS];
  assert_in_range(tn_tensor_elements(in), 1, KIT_MAX_ELEMENTS);
  kit_run(make, in, 0, ops, y);
  kit_run(make, in, TN_MODEL_NO_OPTIMIZE, spelt, want);
  assert_null(strstr(spelt, op_name));
  if (!strstr(ops, op_name) == fuses) fail_msg("the steps are %s", ops);
  for (int64_t i = 0; i < tn_tensor_elements(in); i++)
    if (!(fabsf(y[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))))
      fail_msg("%s, element %d: %g, not %g", ops, (int)i, (double)y[i], (double)want[i]);
}

#endif
