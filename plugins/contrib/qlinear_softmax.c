/* QLinearSoftmax. */
#include "builder.h"
#include "qlinear.h"
#include "tenon/kit/axis.h"

static tn_axis_view view_of(const tn_call *call) {
  const tn_q_linear_softmax_attrs *a = call->attrs;
  return a->opset < 13 ? tn_axis_view_to_end(call->inputs[0], a->axis)
                       : tn_axis_view_of(call->inputs[0], a->axis);
}

tn_status q_linear_softmax_infer(const tn_call *call) {
  static const uint32_t scalars[] = {1, 2, 3, 4};
  int32_t axis = 0;
  tn_status s = tn_axis_normalize(call, ((const tn_q_linear_softmax_attrs *)call->attrs)->axis,
                                  call->inputs[0]->rank, &axis);
  if (!s) s = tn_infer_like(call, 0, 0);
  return s ? s : check_scalars(call, scalars, 4);
}

tn_status q_linear_softmax_reference(const tn_call *call) {
  const tn_axis_view v = view_of(call);
  const quantised from = quantised_of(call, 1), to = quantised_of(call, 3);
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  for (int64_t k = 0; v.n && k < tn_axis_rows(v); k++) {
    const int64_t base = tn_axis_row(v, k);
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < v.n; j++)
      top = fmax(top, dequantise(from, load(x, base + j * v.inner)));
    for (int64_t j = 0; j < v.n; j++)
      sum += exp(dequantise(from, load(x, base + j * v.inner)) - top);
    for (int64_t j = 0; j < v.n; j++) {
      const int64_t at = base + j * v.inner;
      ((uint8_t *)y->data)[at] =
          quantise(y->dtype, to, exp(dequantise(from, load(x, at)) - top) / sum);
    }
  }
  return TN_OK;
}

/* Softmax of before operator set 13 took all dims from axis on as one. */
tn_status q_linear_softmax_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_q_linear_softmax_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const tn_axis_view v = view_of(call);
  builder b = build_begin(call, graph, node);
  const bool flat = a->opset < 13;
  const tn_attr axis = tn_attr_int("axis", flat ? 1 : a->axis);
  int32_t from = build_dequantised(&b, 0, 1, 2), y;
  if (flat) from = build_reshape(&b, from, (int64_t[]){v.outer, v.n}, 2);
  build_node(&b, "Softmax", &from, 1, &axis, 1, &y, 1);
  if (flat) y = build_reshape(&b, y, x->shape, x->rank);
  y = build_quantised(&b, y, 3, 4, build_input(&b, 0));
  return build_end(&b, &y, 1);
}
