/* tenon::QuantAveragePool: averages of 8-bit codes, in integers. */
#include "pool_shape.h"
#include "tenon/kit/element.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lowering.h"

tn_status quant_average_shape(const tn_call *call, pool_shape *out) {
  const tn_quant_average_pool_attrs *a = call->attrs;
  return pool_shape_make(call,
                         &(tn_window_attrs){.dilations = a->dilations,
                                            .kernel_shape = a->kernel_shape,
                                            .pads = a->pads,
                                            .strides = a->strides},
                         out);
}

tn_status quant_average_infer(const tn_call *call) {
  const tn_quant_average_pool_attrs *a = call->attrs;
  const uint32_t dtype = call->inputs[0]->dtype;
  const int64_t lowest = dtype == TN_I16  ? INT16_MIN
                         : dtype == TN_I8 ? INT8_MIN
                                          : 0,
                highest = dtype == TN_I16 ? INT16_MAX : lowest + 255,
                most_taps = dtype == TN_I16 ? 1 << 14 : 1 << 22; /* twice a sum is an int32_t */
  pool_shape p;
  const tn_status s = quant_average_shape(call, &p);
  if (s) return s;
  if (a->lo < lowest || a->lo > a->hi || a->hi > highest)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attributes 'lo', 'hi' are %lld and %lld, not within %lld .. %lld",
                            (long long)a->lo, (long long)a->hi, (long long)lowest,
                            (long long)highest);
  if (p.taps > most_taps)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: windows of %lld taps",
                            (long long)p.taps);
  pool_infer(call, &p);
  return TN_OK;
}

tn_status quant_average_flops(const tn_call *call, double *out_flops) {
  pool_shape p;
  const tn_status s = quant_average_shape(call, &p);
  if (!s) *out_flops = (double)(p.channels * p.out_size) * (double)p.taps;
  return s;
}

tn_status quant_average_reference(const tn_call *call) {
  const tn_quant_average_pool_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  pool_shape p;
  const tn_status s = quant_average_shape(call, &p);
  for (int64_t k = 0; !s && k < p.channels * p.out_size; k++) {
    double sum = 0, count = 0;
    for (int64_t t = 0; t < p.taps; t++) {
      const int64_t i = pool_tap_index(&p, k % p.out_size, t);
      if (i >= 0) sum += tn_load_f64(x->dtype, x->data, k / p.out_size * p.in_size + i), count++;
    }
    const double mean = count > 0 ? round(sum / count) : 0;
    tn_store_f64(x->dtype, call->outputs[0]->data, k,
                 fmin(fmax(mean, (double)a->lo), (double)a->hi));
  }
  return s;
}

/* ---- kernel ---- */

/* An item is a place of the output of one image, of all channels. */
tn_status quant_average_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  pool_shape p;
  const tn_status s = quant_average_shape(call, &p);
  if (s) return s;
  const double item = (double)(x->shape[1] * p.taps) + 20 * (double)p.taps + 50;
  out->items[0] = x->shape[0] * p.out_size;
  out->grain[0] = tn_grain(8000, item);
  out->cost_ns = (double)out->items[0] * item / 4;
  return TN_OK;
}

/* Halves away from zero. */
static int32_t mean_of(int32_t sum, int32_t count, int32_t lo, int32_t hi) {
  const int32_t size = count ? (2 * (sum < 0 ? -sum : sum) + count) / (2 * count) : 0;
  const int32_t mean = sum < 0 ? -size : size;
  return mean < lo ? lo : mean > hi ? hi : mean;
}

/* Output place o of `channels` channels, whose elements are in_step and out_step apart; the next
 * place is `place` further. */
#define AVERAGE(T)                                                                                \
  static void average_##T(const pool_shape *p, const tn_quant_average_pool_attrs *a, const T *x,  \
                          int64_t o, int64_t place, int64_t in_step, int64_t n, int64_t out_step, \
                          T *y) {                                                                 \
    int32_t sum[BATCH] = {0}, count = 0;                                                          \
    for (int64_t t = 0; t < p->taps; t++) {                                                       \
      const int64_t i = pool_tap_index(p, o, t);                                                  \
      const T *from = x + i * place;                                                              \
      if (i < 0) continue;                                                                        \
      count++;                                                                                    \
      if (in_step == 1)                                                                           \
        for (int64_t c = 0; c < n; c++) sum[c] += from[c];                                        \
      else                                                                                        \
        for (int64_t c = 0; c < n; c++) sum[c] += from[c * in_step];                              \
    }                                                                                             \
    for (int64_t c = 0; c < n; c++)                                                               \
      y[c * out_step] = (T)mean_of(sum[c], count, (int32_t)a->lo, (int32_t)a->hi);                \
  }
enum { BATCH = 64 }; /* channels at a time */
AVERAGE(int8_t)
AVERAGE(uint8_t)
AVERAGE(int16_t)

#define AVERAGE_ITEM(T)                                                                         \
  average_##T(&p, a, (const T *)x->data + image * channels * p.in_size + c * in_step, o, place, \
              in_step, tn_min_i64(BATCH, channels - c), out_step,                               \
              (T *)y->data + image * channels * p.out_size + o * place + c * out_step)

tn_status quant_average_pool_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                               uint32_t worker) {
  (void)stage, (void)worker;
  const tn_quant_average_pool_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t channels = x->shape[1];
  const bool is_last = x->layout == TN_CHANNELS_LAST;
  pool_shape p;
  const tn_status s = quant_average_shape(call, &p);
  if (s) return s;
  const int64_t place = is_last ? channels : 1, in_step = is_last ? 1 : p.in_size,
                out_step = is_last ? 1 : p.out_size;
  for (int64_t item = begin; item < end; item++) {
    const int64_t image = item / p.out_size, o = item % p.out_size;
    for (int64_t c = 0; c < channels; c += BATCH) {
      if (x->dtype == TN_I16)
        AVERAGE_ITEM(int16_t);
      else if (x->dtype == TN_I8)
        AVERAGE_ITEM(int8_t);
      else
        AVERAGE_ITEM(uint8_t);
    }
  }
  return TN_OK;
}

/* In ai.onnx, for files: the mean of codes as numbers, rounded half to even. */
tn_status quant_average_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_quant_average_pool_attrs *a = call->attrs;
  const uint32_t dtype = call->inputs[0]->dtype;
  const tn_attr attrs[] = {tn_attr_ints("kernel_shape", a->kernel_shape),
                           tn_attr_ints("strides", a->strides), tn_attr_ints("pads", a->pads),
                           tn_attr_ints("dilations", a->dilations)};
  if (!tn_low_for_onnx(&l)) return TN_ERR_UNSUPPORTED;
  const int32_t x = tn_low_dequantize(&l, tn_low_in(&l, 0), dtype, 1, 0);
  const int32_t y = tn_low_emit(&l, "AveragePool", &x, 1, attrs, 4);
  return tn_low_done(&l, tn_low_quantize_within(&l, y, dtype, 1, 0, a->lo, a->hi));
}
