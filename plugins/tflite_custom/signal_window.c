/* What comes before and after the transform of a frame: the window, the scale that uses all 16
 * bits, and the energy of a spectrum. */
#include "signal.gen.h"
#include "signal_call.h"

/* ---- SignalWindow ---- */

tn_status signal_window_infer(const tn_call *call) {
  const tn_signal_window_attrs *a = call->attrs;
  tn_status s = check_int(call, "shift", a->shift, 0, 31);
  if (!s) s = check_row(call, 1, "weights");
  if (s) return s;
  const tn_tensor *x = call->inputs[0];
  const int64_t n = call->inputs[1]->shape[0], whole = tn_elements(x);
  if (x->rank < 1 || !n || whole % n)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "input has %lld elements, which are no rows of %lld weights",
                            (long long)whole, (long long)n);
  return tn_infer_like(call, 0, 0);
}

tn_status signal_window_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = tn_elements(call->outputs[0]);
  out->grain[0] = 8000;
  out->in_place[0] = 0;
  out->elements_per_item = 1;
  return TN_OK;
}

tn_status signal_window_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const tn_signal_window_attrs *a = call->attrs;
  const int16_t *x = call->inputs[0]->data, *w = call->inputs[1]->data;
  int16_t *y = call->outputs[0]->data;
  const int64_t n = call->inputs[1]->shape[0];
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) {
    const int32_t v = x[k] * w[k % n] >> a->shift;
    y[k] = (int16_t)(v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v);
  }
  return TN_OK;
}

/* ---- SignalFftAutoScale ---- */

tn_status signal_fft_auto_scale_infer(const tn_call *call) {
  tn_status s = check_outputs(call, 2);
  if (!s) s = check_row(call, 0, "input");
  if (s) return s;
  tn_infer_shape(call, 1, TN_I32, 0, NULL);
  return tn_infer_like(call, 0, 0);
}

/* The largest magnitude in 16 bits: that of -32768 is -32768 again, so that any later number but
 * itself is larger. */
static int16_t largest(const int16_t *x, int64_t n) {
  int16_t most = 0;
  for (int64_t k = 0; k < n; k++)
    if (x[k] > most)
      most = x[k];
    else if (-x[k] > most)
      most = wrap_i16(-x[k]);
  return most;
}

tn_status signal_fft_auto_scale_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                  uint32_t worker) {
  const int16_t *x = call->inputs[0]->data;
  const int64_t n = call->inputs[0]->shape[0];
  const int16_t most = largest(x, n);
  const int32_t bits = most > 0 ? 15 - bit_length((uint32_t)most) : 0;
  int16_t *y = call->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < n; k++) y[k] = wrap_i16(x[k] * ((int64_t)1 << bits));
  *(int32_t *)call->outputs[1]->data = bits;
  return TN_OK;
}

/* ---- SignalEnergy ---- */

tn_status signal_energy_infer(const tn_call *call) {
  const tn_signal_energy_attrs *a = call->attrs;
  tn_status s = check_row(call, 0, "input");
  if (s) return s;
  const int64_t n = call->inputs[0]->shape[0], half = n / 2;
  if (n % 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "input has %lld elements, which are no pairs of real and imaginary",
                            (long long)n);
  s = check_int(call, "end_index", a->end_index, 0, half);
  if (!s) s = check_int(call, "start_index", a->start_index, 0, a->end_index);
  if (!s) tn_infer_shape(call, 0, TN_U32, 1, &half);
  return s;
}

tn_status signal_energy_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const tn_signal_energy_attrs *a = call->attrs;
  const int16_t *x = call->inputs[0]->data;
  uint32_t *y = call->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < call->outputs[0]->shape[0]; k++) {
    const int64_t re = x[2 * k], im = x[2 * k + 1];
    y[k] = k < a->start_index || k >= a->end_index ? 0 : (uint32_t)(re * re + im * im);
  }
  return TN_OK;
}
