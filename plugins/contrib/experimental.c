/* Operators that ai.onnx had as experimental ones until operator set 9: old converters wrote
 * them. */
#include <string.h>

#include "aliases.gen.h"
#include "builder.h"

/* A constant of the type of `like`. */
static int32_t constant_like(builder *b, double value, int32_t like) {
  return build_binary(b, "CastLike", build_scalar(b, TN_F32, value), like);
}

static int32_t times(builder *b, int32_t x, double factor) {
  return factor == 1 ? x : build_binary(b, "Mul", x, constant_like(b, factor, x));
}

tn_status affine_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_affine_attrs *a = call->attrs;
  builder b = build_begin(call, graph, node);
  const int32_t x = build_input(&b, 0),
                y = build_binary(&b, "Add", times(&b, x, a->alpha), constant_like(&b, a->beta, x));
  return build_end(&b, &y, 1);
}

tn_status scale_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_scale_attrs *a = call->attrs;
  builder b = build_begin(call, graph, node);
  const int32_t x = build_input(&b, 0),
                y = build_binary(&b, "Mul", x, constant_like(&b, a->scale, x));
  return build_end(&b, &y, 1);
}

/* alpha f(beta x) */
static tn_status lower_scaled(const tn_call *call, tn_graph *graph, int32_t node, const char *f,
                              double alpha, double beta) {
  builder b = build_begin(call, graph, node);
  const int32_t y = times(&b, build_unary(&b, f, times(&b, build_input(&b, 0), beta)), alpha);
  return build_end(&b, &y, 1);
}

tn_status parametric_softplus_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_parametric_softplus_attrs *a = call->attrs;
  return lower_scaled(call, graph, node, "Softplus", a->alpha, a->beta);
}

tn_status scaled_tanh_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_scaled_tanh_attrs *a = call->attrs;
  return lower_scaled(call, graph, node, "Tanh", a->alpha, a->beta);
}

tn_status image_scaler_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_image_scaler_attrs *a = call->attrs;
  int32_t list[64];
  if (a->bias.size > 64)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: attribute 'bias' with more than 64 channels");
  builder b = build_begin(call, graph, node);
  const int32_t x = build_input(&b, 0);
  int32_t y = times(&b, x, a->scale);
  if (a->bias.size) {
    for (int64_t k = 0; k < a->bias.size; k++)
      list[k] =
          build_reshape(&b, build_scalar(&b, TN_F32, a->bias.data[k]), (int64_t[]){1, 1, 1}, 3);
    const int32_t bias = build_concat(&b, list, (uint32_t)a->bias.size, 0);
    y = build_binary(&b, "Add", y, build_binary(&b, "CastLike", bias, x));
  }
  if (y == x) y = build_unary(&b, "Identity", x);
  return build_end(&b, &y, 1);
}

static bool are_sizes(tn_ints list) {
  bool are = true;
  for (int64_t k = 0; k < list.size; k++) are = are && list.data[k] >= 0;
  return are;
}

tn_status crop_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_crop_attrs *a = call->attrs;
  builder b = build_begin(call, graph, node);
  if (a->border.size != 4 || (a->has_scale && a->scale.size != 2) || !are_sizes(a->border) ||
      (a->has_scale && !are_sizes(a->scale)))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'border' is not [left, top, right, bottom], or 'scale' is "
                            "not [height, width], none of them negative");
  const int64_t left = a->border.data[0], top = a->border.data[1];
  int64_t ends[2] = {-a->border.data[3], -a->border.data[2]};
  for (int k = 0; k < 2; k++) {
    if (ends[k] == 0) ends[k] = INT64_MAX;
    if (a->has_scale && tn_add_i64(k ? left : top, a->scale.data[k], &ends[k]))
      return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                              "attributes 'border' and 'scale' overflow when added");
  }
  int32_t y;
  const int32_t inputs[4] = {build_input(&b, 0), build_ints(&b, (int64_t[]){top, left}, 2),
                             build_ints(&b, ends, 2), build_ints(&b, (int64_t[]){2, 3}, 2)};
  build_node(&b, "Slice", inputs, 4, NULL, 0, &y, 1);
  return build_end(&b, &y, 1);
}
