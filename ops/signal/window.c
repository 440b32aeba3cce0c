/* HannWindow, HammingWindow, BlackmanWindow: sums of cosines. */
#include <math.h>

#include "signal.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/onnx_dtype.h"

static const double two_pi = 6.28318530717958647692528676655900577;

/* All three attribute structs are the same. */
tn_status window_infer(const tn_call *call) {
  const tn_hann_window_attrs *a = call->attrs;
  int64_t size = 0, n = 0;
  tn_status s = tn_const_ints(call, 0, &size, 1, &n);
  if (s) return s;
  uint32_t dtype = tn_dtype_of_onnx(a->output_datatype);
  if (n != 1 || size < 0)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the size must be one number that is not negative");
  if (dtype == TN_NONE)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'output_datatype' is %lld, which is no type",
                            (long long)a->output_datatype);
  tn_infer_shape(call, 0, dtype, 1, &size);
  return TN_OK;
}

tn_status window_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = call->outputs[0]->shape[0];
  out->grain[0] = 500;
  return TN_OK;
}

/* Values begin .. end of c[0] - c[1] cos x + c[2] cos 2x. The only value of a symmetric window of
 * size 1 is its top. */
static tn_status fill(const tn_call *call, int64_t begin, int64_t end, const double *c) {
  const tn_tensor *y = call->outputs[0];
  const int64_t n = y->shape[0] - (((const tn_hann_window_attrs *)call->attrs)->periodic ? 0 : 1);
  for (int64_t k = begin; k < end; k++) {
    double x = n ? two_pi * (double)k / (double)n : two_pi / 2;
    tn_store_f64(y->dtype, y->data, k, c[0] - c[1] * cos(x) + c[2] * cos(2 * x));
  }
  return TN_OK;
}

#define WINDOW(name, ...)                                                             \
  tn_status name##_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                     uint32_t worker) {                                               \
    static const double c[3] = {__VA_ARGS__};                                         \
    (void)stage, (void)worker;                                                        \
    return fill(call, begin, end, c);                                                 \
  }
WINDOW(hann_window, 0.5, 0.5, 0)
WINDOW(hamming_window, 25.0 / 46, 21.0 / 46, 0)
WINDOW(blackman_window, 0.42, 0.5, 0.08)

/* ---- references: with powers of q, the squared sine of half the angle ---- */

static tn_status reference(const tn_call *call, double base, double square, double fourth) {
  const tn_tensor *y = call->outputs[0];
  bool periodic = ((const tn_hann_window_attrs *)call->attrs)->periodic != 0;
  double steps = (double)(periodic ? y->shape[0] : y->shape[0] - 1);
  for (int64_t k = 0; k < y->shape[0]; k++) {
    double q = steps > 0 ? (1 - cos(2 * acos(-1.0) * (double)k / steps)) / 2 : 1;
    tn_store_f64(y->dtype, y->data, k, base + square * q + fourth * q * q);
  }
  return TN_OK;
}

tn_status hann_window_reference(const tn_call *call) { return reference(call, 0, 1, 0); }
tn_status hamming_window_reference(const tn_call *call) {
  return reference(call, 4.0 / 46, 42.0 / 46, 0);
}
/* cos x = 1 - 2q, cos 2x = 1 - 8q + 8q^2 */
tn_status blackman_window_reference(const tn_call *call) {
  return reference(call, 0.42 - 0.5 + 0.08, 1 - 0.64, 0.64);
}
