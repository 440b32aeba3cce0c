/* Operators that become others of ai.onnx before anything is known of their inputs. */
#include "aliases.gen.h"

#include "activation.h"

/* The node by another name. */
static tn_status rename_to(const tn_call *call, tn_graph *graph, int32_t node, const char *domain,
                           const char *op, uint32_t n_inputs) {
  builder b = build_begin(call, graph, node);
  int32_t inputs[3], y;
  for (uint32_t k = 0; k < n_inputs; k++) inputs[k] = build_input(&b, k);
  build_like(&b, domain, op, NULL, inputs, n_inputs, &y, 1);
  return build_end(&b, &y, 1);
}

tn_status quantize_linear_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return rename_to(call, graph, node, "", "QuantizeLinear", 3);
}

tn_status dequantize_linear_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return rename_to(call, graph, node, "", "DequantizeLinear", 3);
}

tn_status trilu_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return rename_to(call, graph, node, "", "Trilu", 2);
}

tn_status grid_sample_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return rename_to(call, graph, node, "", "GridSample", 2);
}

tn_status transpose_mat_mul_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return rename_to(call, graph, node, "com.microsoft", "FusedMatMul", 2);
}

tn_status pad_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  int32_t inputs[3] = {build_input(&b, 0),
                       build_reshape(&b, build_input(&b, 1), (int64_t[]){-1}, 1),
                       build_input(&b, 2)},
          y;
  if (inputs[2] >= 0) inputs[2] = build_scalar_of(&b, inputs[2]);
  build_like(&b, "", "Pad", NULL, inputs, 3, &y, 1);
  return build_end(&b, &y, 1);
}

tn_status unique_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const tn_attr sorted = tn_attr_int("sorted", 0);
  const int32_t x = build_input(&b, 0);
  int32_t y[4]; /* values, where they stood first, where each element went, counts */
  build_node(&b, "Unique", &x, 1, &sorted, 1, y, 4);
  return build_end(&b, (int32_t[]){y[0], y[2], y[3]}, 3);
}

tn_status expand_dims_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const int32_t axes = build_reshape(&b, build_cast(&b, build_input(&b, 1), TN_I64), (int64_t[]){1},
                                     1),
                y = build_binary(&b, "Unsqueeze", build_input(&b, 0), axes);
  return build_end(&b, &y, 1);
}

tn_status range_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const int32_t start = build_scalar_of(&b, build_input(&b, 0)),
                limit = build_scalar_of(&b, build_input(&b, 1));
  const int32_t delta = build_input(&b, 2) >= 0
                            ? build_scalar_of(&b, build_input(&b, 2))
                            : build_binary(&b, "CastLike", build_scalar(&b, TN_I64, 1), start);
  int32_t y;
  build_node(&b, "Range", (int32_t[]){start, limit, delta}, 3, NULL, 0, &y, 1);
  return build_end(&b, &y, 1);
}

tn_status gather_nd_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  const int32_t indices = build_cast(&b, build_input(&b, 1), TN_I64),
                y = build_binary(&b, "GatherND", build_input(&b, 0), indices);
  return build_end(&b, &y, 1);
}

/* Parameters of the activation, and which of them the file gives. */
static uint32_t activation_params(const builder *b, double *out) {
  static const char *const names[ACTIVATION_PARAMS] = {"activation_alpha", "activation_beta",
                                                       "activation_gamma"};
  uint32_t given = 0;
  for (uint32_t k = 0; k < ACTIVATION_PARAMS; k++) {
    const tn_attr *a = build_find_attr(b, names[k]);
    out[k] = a ? a->f : 0;
    if (a) given |= 1u << k;
  }
  return given;
}

tn_status fused_gemm_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_fused_gemm_attrs *a = call->attrs;
  const activation *f = activation_find(a->activation);
  builder b = build_begin(call, graph, node);
  double params[ACTIVATION_PARAMS];
  int32_t y;
  if (!f && a->activation.size)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: activation '%.*s'",
                            (int)tn_min_i64(a->activation.size, 40), a->activation.data);
  const tn_attr attrs[4] = {tn_attr_float("alpha", a->alpha), tn_attr_float("beta", a->beta),
                            tn_attr_int("transA", a->transA), tn_attr_int("transB", a->transB)};
  build_node(&b, "Gemm", (int32_t[]){build_input(&b, 0), build_input(&b, 1), build_input(&b, 2)}, 3,
             attrs, 4, &y, 1);
  const uint32_t given = activation_params(&b, params);
  if (f) y = activation_build(&b, f, params, given, y);
  return build_end(&b, &y, 1);
}
