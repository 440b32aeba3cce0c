/* Fusions for accelerators, as the nodes that they were made of. */
#include "fusions.gen.h"

#include "builder.h"

static int32_t sum_of(builder *b, int32_t x, int32_t y, int32_t z) {
  x = build_binary(b, "Add", x, y);
  return z < 0 ? x : build_binary(b, "Add", x, z);
}

tn_status bias_add_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const int32_t y = sum_of(&b, build_input(&b, 0), build_input(&b, 1), build_input(&b, 2));
  return build_end(&b, &y, 1);
}

tn_status bias_split_gelu_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const int32_t x = build_binary(&b, "Add", build_input(&b, 0), build_input(&b, 1));
  const tn_attr attrs[2] = {tn_attr_int("axis", -1), tn_attr_int("num_outputs", 2)};
  int32_t halves[2], y;
  build_node(&b, "Split", &x, 1, attrs, 2, halves, 2);
  y = build_binary(&b, "Mul", halves[0], build_unary(&b, "Gelu", halves[1]));
  return build_end(&b, &y, 1);
}

tn_status bias_dropout_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  if (build_input(&b, 4) >= 0 || (call->n_outputs > 1 && call->outputs[1]))
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: training_mode, and the mask that is for training");
  const int32_t y = sum_of(&b, build_input(&b, 0), build_input(&b, 1), build_input(&b, 2));
  return build_end(&b, &y, 1);
}

tn_status gemm_fast_gelu_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const tn_attr by_tanh = tn_attr_str("approximate", "tanh");
  int32_t x = build_binary(&b, "MatMul", build_input(&b, 0), build_input(&b, 1)), y;
  if (build_input(&b, 2) >= 0) x = build_binary(&b, "Add", x, build_input(&b, 2));
  build_node(&b, "Gelu", &x, 1, &by_tanh, 1, &y, 1);
  return build_end(&b, &y, 1);
}

tn_status scaled_silu_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const int32_t x = build_input(&b, 0);
  int32_t scale = build_input(&b, 1);
  if (scale < 0) {
    const double alpha = ((const tn_scaled_si_lu_attrs *)call->attrs)->alpha;
    scale = build_binary(&b, "CastLike", build_scalar(&b, TN_F32, alpha), x);
  }
  const int32_t y = build_unary(&b, "Swish", build_binary(&b, "Mul", x, scale));
  return build_end(&b, &y, 1);
}

tn_status gated_add_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const int32_t product = build_binary(&b, "Mul", build_input(&b, 1), build_input(&b, 2)),
                y = build_binary(&b, "Add", build_input(&b, 0), product);
  return build_end(&b, &y, 1);
}

tn_status q_linear_reduce_mean_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_q_linear_reduce_mean_attrs *a = call->attrs;
  builder b = build_begin(call, graph, node);
  const tn_attr keep = tn_attr_int("keepdims", a->keepdims);
  const int32_t inputs[2] = {build_dequantised(&b, 0, 1, 2),
                             build_ints(&b, a->axes.data, a->axes.size)};
  int32_t y;
  build_node(&b, "ReduceMean", inputs, 2, &keep, 1, &y, 1);
  y = build_quantised(&b, y, 3, 4, build_input(&b, 0));
  return build_end(&b, &y, 1);
}

/* Conv or a relative with the channels last; n: its inputs, of which 0 and 3 are images. */
static tn_status lower_nhwc(const tn_call *call, tn_graph *graph, int32_t node, const char *domain,
                            const char *op, tn_ints kernel_shape, uint32_t n) {
  const int64_t rank = kernel_shape.size + 2;
  builder b = build_begin(call, graph, node);
  int32_t inputs[4], y;
  if (rank < 3 || rank > TN_MAX_RANK)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: no kernel_shape, or one of too many dims");
  for (uint32_t k = 0; k < n; k++) {
    inputs[k] = build_input(&b, k);
    if ((k == 0 || k == 3) && inputs[k] >= 0)
      inputs[k] = build_move_channels(&b, inputs[k], rank, false);
  }
  build_like(&b, domain, op, NULL, inputs, n, &y, 1);
  y = build_move_channels(&b, y, rank, true);
  return build_end(&b, &y, 1);
}

tn_status nhwc_conv_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_nhwc_conv_attrs *a = call->attrs;
  return lower_nhwc(call, graph, node, "", "Conv", a->kernel_shape, 3);
}

tn_status nhwc_fused_conv_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_nhwc_fused_conv_attrs *a = call->attrs;
  return lower_nhwc(call, graph, node, "com.microsoft", "FusedConv", a->kernel_shape, 4);
}
