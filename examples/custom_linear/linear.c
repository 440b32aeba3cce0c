/* The layer itself: shapes, FLOPs, reference, the kernel for everything, and packing. */
#include "linear.h"

static tn_status refuse(const tn_call *call, const char *rule) {
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s", rule);
}

tn_status linear_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
  const tn_tensor *bias = call->n_inputs > 2 ? call->inputs[2] : NULL;
  tn_tensor *y = call->outputs[0];
  if (x->rank < 1) return refuse(call, "input must have rank 1 or more");
  if (w->rank != 2) return refuse(call, "weight must have rank 2: [outputs, inputs]");
  if (x->shape[x->rank - 1] != w->shape[1])
    return refuse(call, "the last dims of input and weight must be equal");
  if (bias && (bias->rank != 1 || bias->shape[0] != w->shape[0]))
    return refuse(call, "bias must have one element per row of weight");
  y->rank = x->rank;
  for (int32_t d = 0; d < x->rank; d++) y->shape[d] = x->shape[d];
  y->shape[y->rank - 1] = w->shape[0];
  return TN_OK;
}

tn_status linear_flops(const tn_call *call, double *out_flops) {
  const linear l = linear_of(call);
  *out_flops = 2.0 * (double)l.rows * (double)l.in * (double)l.out;
  return TN_OK;
}

tn_status linear_reference(const tn_call *call) {
  const linear l = linear_of(call);
  for (int64_t r = 0; r < l.rows; r++)
    for (int64_t o = 0; o < l.out; o++) {
      double sum = l.bias ? l.bias[o] : 0;
      for (int64_t i = 0; i < l.in; i++) sum += (double)l.x[r * l.in + i] * l.weight[o * l.in + i];
      l.y[r * l.out + o] = (float)sum;
    }
  return TN_OK;
}

/* ---- the kernel for everything: an item is a row ---- */

tn_status linear_plan(const tn_call *call, tn_kernel_plan *out) {
  const linear l = linear_of(call);
  out->items[0] = l.rows;
  out->grain[0] = 1 + 20000 / (l.in * l.out + 1);
  return TN_OK;
}

tn_status custom_linear_out(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  const linear l = linear_of(call);
  (void)stage, (void)worker;
  for (int64_t r = begin; r < end; r++)
    for (int64_t o = 0; o < l.out; o++) {
      float sum = l.bias ? l.bias[o] : 0;
      for (int64_t i = 0; i < l.in; i++) sum += l.x[r * l.in + i] * l.weight[o * l.in + i];
      l.y[r * l.out + o] = sum;
    }
  return TN_OK;
}

/* ---- packed: an item is a panel ---- */

tn_status linear_packed_plan(const tn_call *call, tn_kernel_plan *out) {
  const linear l = linear_of(call);
  out->state_bytes = (uint64_t)(l.panels * PANEL * l.in) * sizeof(float);
  out->items[0] = l.panels;
  out->grain[0] = 1 + 100000 / (l.rows * l.in * PANEL + 1);
  return TN_OK;
}

/* The state is zero at first: so are the outputs that the last panel has too many. */
tn_status linear_packed_prepare(const tn_call *call) {
  const linear l = linear_of(call);
  float *packed = call->state;
  for (int64_t o = 0; o < l.out; o++)
    for (int64_t i = 0; i < l.in; i++)
      packed[(o / PANEL * l.in + i) * PANEL + o % PANEL] = l.weight[o * l.in + i];
  return TN_OK;
}
