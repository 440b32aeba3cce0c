/* QLinearSoftmax: exp((q - largest) * scale) comes from a table of 256 entries. */
#include "base/axis.h"
#include "qlinear.h"

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

tn_status q_linear_softmax_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_axis_view v = view_of(call);
  out->n_stages = 2;
  out->items[1] = v.n ? tn_axis_rows(v) : 0;
  out->grain[1] = 1 + 2000 / (1 + v.n);
  out->scratch_bytes = 256 * sizeof(float);
  out->in_place[0] = 0;
  out->cost_ns = 2000 + 3 * (double)elements(call->inputs[0]);
  return TN_OK;
}

/* e[k]: exp of k steps below the largest. Flipping the highest bit of i8 makes it a u8 in the same
 * order. */
static void softmax_row(const float *e, const uint8_t *x, uint8_t *y, const tn_axis_view *v,
                        uint32_t dtype, quantised to) {
  const uint8_t flip = dtype == TN_I8 ? 0x80 : 0;
  uint8_t top = 0;
  double sum = 0;
  for (int64_t j = 0; j < v->n; j++)
    top = (x[j * v->inner] ^ flip) > top ? x[j * v->inner] ^ flip : top;
  for (int64_t j = 0; j < v->n; j++) sum += (double)e[top - (x[j * v->inner] ^ flip)];
  for (int64_t j = 0; j < v->n; j++)
    y[j * v->inner] = quantise(dtype, to, (double)e[top - (x[j * v->inner] ^ flip)] / sum);
}

tn_status q_linear_softmax_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  (void)worker;
  const tn_axis_view v = view_of(call);
  const quantised from = quantised_of(call, 1), to = quantised_of(call, 3);
  float *e = call->scratch;
  for (int k = 0; stage == 0 && k < 256; k++) e[k] = (float)exp(-k * from.scale);
  for (int64_t k = begin; stage == 1 && k < end; k++) {
    const int64_t base = tn_axis_row(v, k);
    softmax_row(e, (const uint8_t *)call->inputs[0]->data + base,
                (uint8_t *)call->outputs[0]->data + base, &v, call->outputs[0]->dtype, to);
  }
  return TN_OK;
}
