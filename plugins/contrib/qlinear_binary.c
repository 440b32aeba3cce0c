/* QLinearAdd and QLinearMul. */
#include "builder.h"
#include "qlinear.h"
#include "tenon/kit/coords.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C_SCALE, C_ZERO };

tn_status q_linear_binary_infer(const tn_call *call) {
  static const uint32_t scalars[] = {A_SCALE, A_ZERO, B_SCALE, B_ZERO, C_SCALE, C_ZERO};
  const tn_tensor *pair[2] = {call->inputs[A], call->inputs[B]};
  tn_tensor out = {.rank = 0};
  tn_status s = check_scalars(call, scalars, 6);
  if (s) return s;
  if (tn_broadcast_shape(2, pair, &out))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "A and B do not broadcast");
  tn_infer_shape(call, 0, pair[0]->dtype, out.rank, out.shape);
  return TN_OK;
}

static tn_status reference(const tn_call *call, bool product) {
  const quantised a = quantised_of(call, A_SCALE), b = quantised_of(call, B_SCALE),
                  c = quantised_of(call, C_SCALE);
  const tn_tensor *y = call->outputs[0], *pair[2] = {call->inputs[A], call->inputs[B]};
  for (int64_t k = 0; k < tn_elements(y); k++) {
    const double x0 = dequantise(a, load(pair[0], tn_index_broadcast(pair[0], y, k))),
                 x1 = dequantise(b, load(pair[1], tn_index_broadcast(pair[1], y, k)));
    ((uint8_t *)y->data)[k] = quantise(y->dtype, c, product ? x0 * x1 : x0 + x1);
  }
  return TN_OK;
}

tn_status q_linear_add_reference(const tn_call *call) { return reference(call, false); }
tn_status q_linear_mul_reference(const tn_call *call) { return reference(call, true); }

static tn_status lower(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  builder b = build_begin(call, graph, node);
  const int32_t x = build_dequantised(&b, A, A_SCALE, A_ZERO),
                y = build_binary(&b, op, x, build_dequantised(&b, B, B_SCALE, B_ZERO)),
                c = build_quantised(&b, y, C_SCALE, C_ZERO, build_input(&b, A));
  return build_end(&b, &c, 1);
}

tn_status q_linear_add_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return lower(call, graph, node, "Add");
}
tn_status q_linear_mul_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return lower(call, graph, node, "Mul");
}
