/* FixedSoftmax, the portable kernel. An item is a row. */
#include "fixed_softmax.h"

tn_status fixed_softmax_plan(const tn_call *call, tn_kernel_plan *out) {
  fixed_softmax p;
  const tn_status s = fixed_softmax_make(call, &p);
  if (s) return s;
  const double row = 12.0 * (double)p.width + 20;
  out->items[0] = p.rows;
  out->cost_ns = row * (double)p.rows + 50;
  out->grain[0] = tn_grain(TN_THREAD_NS, row);
  return TN_OK;
}

/* Exponentials stand in the output until their sum is known. */
static void row_run(const fixed_softmax *p, const int16_t *x, int16_t *y) {
  int16_t top = INT16_MIN;
  int64_t sum = 0;
  int bits;
  for (int64_t k = 0; k < p->width; k++) top = x[k] > top ? x[k] : top;
  for (int64_t k = 0; k < p->width; k++) sum += y[k] = fixed_softmax_exp(p, x[k] - top);
  const int16_t factor = fixed_softmax_factor(p, tn_max_i64(1, sum), &bits);
  for (int64_t k = 0; k < p->width; k++) y[k] = fixed_softmax_code(y[k], factor, bits);
}

tn_status fixed_softmax_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  fixed_softmax p;
  const tn_status s = fixed_softmax_make(call, &p);
  (void)stage, (void)worker;
  for (int64_t r = begin; !s && r < end; r++)
    row_run(&p, (const int16_t *)call->inputs[0]->data + r * p.width,
            (int16_t *)call->outputs[0]->data + r * p.width);
  return s;
}
