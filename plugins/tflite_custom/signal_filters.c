/* Channels of a filter bank: sums of energies, their roots, noise taken away, gains and logarithms,
 * in fixed point to the last bit. All are a few dozen numbers: one item of work. */
#include <math.h>

#include "signal.gen.h"
#include "signal_call.h"

/* ---- SignalFilterBank ---- */

tn_status signal_filter_bank_infer(const tn_call *call) {
  static const char *const names[] = {
      "input",         "weights", "unweights", "channel_frequency_starts", "channel_weight_starts",
      "channel_widths"};
  const tn_signal_filter_bank_attrs *a = call->attrs;
  tn_status s = check_int(call, "num_channels", a->num_channels, 1, INT16_MAX);
  for (uint32_t k = 0; k < 6 && !s; k++) s = check_row(call, k, names[k]);
  for (uint32_t k = 3; k < 6 && !s; k++)
    if (call->inputs[k]->shape[0] != a->num_channels + 1)
      s = call->host->fail(call->ctx, TN_ERR_SHAPE,
                           "%s has %lld elements, but attribute 'num_channels' %lld needs %lld",
                           names[k], (long long)call->inputs[k]->shape[0],
                           (long long)a->num_channels, (long long)a->num_channels + 1);
  if (!s && call->inputs[1]->shape[0] != call->inputs[2]->shape[0])
    s = call->host->fail(call->ctx, TN_ERR_SHAPE, "weights and unweights differ in length");
  if (!s) tn_infer_shape(call, 0, TN_U64, 1, &a->num_channels);
  return s;
}

/* start .. start + width - 1 are elements of a row of n. */
static tn_status check_span(const tn_call *call, const char *name, int64_t channel, int64_t start,
                            int64_t width, int64_t n) {
  if (start >= 0 && width >= 0 && start + width <= n) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "channel %lld takes %lld elements of %s from %lld on, but there are %lld",
                          (long long)channel, (long long)width, name, (long long)start,
                          (long long)n);
}

/* Sums of x with weights and with unweights: those are what the next channel begins with. The first
 * channel gives nothing else. */
tn_status signal_filter_bank_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                               uint32_t worker) {
  const uint32_t *x = call->inputs[0]->data;
  const int16_t *weights = call->inputs[1]->data, *others = call->inputs[2]->data,
                *from = call->inputs[3]->data, *from_weight = call->inputs[4]->data,
                *widths = call->inputs[5]->data;
  uint64_t *y = call->outputs[0]->data, carried = 0;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < call->inputs[3]->shape[0]; k++) {
    uint64_t sum = carried;
    tn_status s = check_span(call, "input", k, from[k], widths[k], call->inputs[0]->shape[0]);
    if (!s)
      s = check_span(call, "weights", k, from_weight[k], widths[k], call->inputs[1]->shape[0]);
    if (s) return s;
    carried = 0;
    for (int64_t i = 0; i < widths[k]; i++) {
      const uint64_t v = x[from[k] + i];
      sum += v * (uint64_t)weights[from_weight[k] + i];
      carried += v * (uint64_t)others[from_weight[k] + i];
    }
    if (k) y[k - 1] = sum;
  }
  return TN_OK;
}

/* ---- SignalFilterBankSquareRoot ---- */

tn_status signal_filter_bank_square_root_infer(const tn_call *call) {
  const tn_status s = check_row(call, 0, "input");
  if (s) return s;
  if (tn_elements(call->inputs[1]) != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "scale_bits is not one number");
  tn_infer_shape(call, 0, TN_U32, 1, call->inputs[0]->shape);
  return TN_OK;
}

/* The root, rounded; numbers of 32 bits have one of 16. */
static uint32_t root(uint64_t x) {
  const uint64_t most = x >> 32 ? UINT32_MAX : UINT16_MAX;
  uint64_t r = (uint64_t)sqrt((double)x);
  if (r > UINT32_MAX) r = UINT32_MAX;
  while (r * r > x) r--;
  while (r < UINT32_MAX && (r + 1) * (r + 1) <= x) r++;
  return (uint32_t)(x - r * r > r && r < most ? r + 1 : r);
}

tn_status signal_filter_bank_square_root_c(const tn_call *call, uint32_t stage, int64_t begin,
                                           int64_t end, uint32_t worker) {
  const uint64_t *x = call->inputs[0]->data;
  const int32_t bits = *(const int32_t *)call->inputs[1]->data;
  uint32_t *y = call->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  if (bits < 0 || bits > 31)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "scale_bits is %d, but must be 0 to 31",
                            bits);
  for (int64_t k = 0; k < call->inputs[0]->shape[0]; k++) y[k] = root(x[k]) >> bits;
  return TN_OK;
}

/* ---- SignalPCAN ---- */

enum { GAINS = 125, SNR_BITS = 12, PCAN_BITS = 6 };

tn_status signal_pcan_infer(const tn_call *call) {
  const tn_signal_pcan_attrs *a = call->attrs;
  tn_status s = check_int(call, "snr_shift", a->snr_shift, 0, 63);
  if (!s) s = check_row(call, 0, "input");
  if (!s) s = check_row(call, 1, "noise_estimate");
  if (!s) s = check_row(call, 2, "gain_lut");
  if (s) return s;
  if (call->inputs[0]->shape[0] != call->inputs[1]->shape[0])
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE, "input has %lld channels and noise_estimate %lld",
        (long long)call->inputs[0]->shape[0], (long long)call->inputs[1]->shape[0]);
  if (call->inputs[2]->shape[0] < GAINS)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "gain_lut has %lld elements, but must have %d or more",
                            (long long)call->inputs[2]->shape[0], GAINS);
  return tn_infer_like(call, 0, 0);
}

/* The gain for a noise: a parabola for each power of 2, of three numbers, at the 10 bits behind the
 * highest. */
static int16_t gain_of(uint32_t noise, const int16_t *lut) {
  if (noise <= 2) return lut[noise];
  const int32_t bits = bit_length(noise);
  const int16_t *c = lut + 4 * bits - 6;
  const int64_t at = (bits < 11 ? noise << (11 - bits) : noise >> (bits - 11)) & 0x3ff;
  const int32_t slope = wrap_i32((c[2] * at >> 5) + c[1] * 32), rise = wrap_i32(slope * at);
  return wrap_i16((wrap_i32((int64_t)rise + (1 << 14)) >> 15) + c[0]);
}

/* x * x / 4 below 2, x - 1 from there on. */
static uint32_t shrunk(uint32_t x) {
  if (x < 2u << SNR_BITS) return x * x >> (2 + 2 * SNR_BITS - PCAN_BITS);
  return (x >> (SNR_BITS - PCAN_BITS)) - (1u << PCAN_BITS);
}

tn_status signal_pcan_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  const tn_signal_pcan_attrs *a = call->attrs;
  const uint32_t *x = call->inputs[0]->data, *noise = call->inputs[1]->data;
  uint32_t *y = call->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < call->inputs[0]->shape[0]; k++) {
    const uint32_t gain = (uint32_t)gain_of(noise[k], call->inputs[2]->data);
    y[k] = shrunk((uint32_t)((uint64_t)x[k] * gain >> a->snr_shift));
  }
  return TN_OK;
}

/* ---- SignalFilterBankLog ---- */

enum { SEGMENT_BITS = 7, SEGMENTS = 1 << SEGMENT_BITS, LOG_BITS = 16, LN_2 = 45426 };

tn_status signal_filter_bank_log_infer(const tn_call *call) {
  const tn_signal_filter_bank_log_attrs *a = call->attrs;
  tn_status s = check_int(call, "input_correction_bits", a->input_correction_bits, 0, 31);
  if (!s) s = check_int(call, "output_scale", a->output_scale, INT32_MIN, INT32_MAX);
  if (!s) s = check_row(call, 0, "input");
  if (!s) tn_infer_shape(call, 0, TN_I16, 1, call->inputs[0]->shape);
  return s;
}

tn_status signal_filter_bank_log_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->items[0] = 1;
  out->state_bytes = (SEGMENTS + 1) * sizeof(int32_t);
  return TN_OK;
}

/* How far log2(1 + x) lies above x, at the borders of the segments. */
tn_status signal_filter_bank_log_prepare(const tn_call *call) {
  int32_t *above = call->state;
  for (int32_t k = 0; k <= SEGMENTS; k++) {
    const double x = (double)k / SEGMENTS;
    above[k] = (int32_t)floor((log2(1 + x) - x) * (1 << LOG_BITS) + .5);
  }
  return TN_OK;
}

/* The natural logarithm of x > 1, of 16 bits behind the point. Between the borders of a segment the
 * reference moves by 1 / 128 of the way, and so does this. */
static uint32_t log_of(uint32_t x, const int32_t *above) {
  const int32_t whole = bit_length(x) - 1;
  const uint32_t rest = x - (1u << whole),
                 part = whole < LOG_BITS ? rest << (LOG_BITS - whole) : rest >> (whole - LOG_BITS);
  const uint32_t segment = part >> (LOG_BITS - SEGMENT_BITS),
                 behind = part & ((1u << (LOG_BITS - SEGMENT_BITS)) - 1);
  const int32_t low = above[segment],
                moved = (above[segment + 1] - low) * (int32_t)behind >> LOG_BITS;
  const uint32_t log2_x = ((uint32_t)whole << LOG_BITS) + part + (uint32_t)(low + moved);
  return (uint32_t)(((uint64_t)LN_2 * log2_x + (1 << (LOG_BITS - 1))) >> LOG_BITS);
}

tn_status signal_filter_bank_log_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                   uint32_t worker) {
  const tn_signal_filter_bank_log_attrs *a = call->attrs;
  const uint32_t *x = call->inputs[0]->data, scale = (uint32_t)(int32_t)a->output_scale;
  int16_t *y = call->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < call->inputs[0]->shape[0]; k++) {
    const uint32_t v = x[k] << a->input_correction_bits;
    const uint32_t log =
        v > 1 ? (scale * log_of(v, call->state) + (1 << (LOG_BITS - 1))) >> LOG_BITS : 0;
    y[k] = (int16_t)(log < INT16_MAX ? log : INT16_MAX);
  }
  return TN_OK;
}
