/* Portable transposed convolution: every thread owns whole output channels, so that scattering
 * needs no locks. For each input channel and tap a row of the input, times one weight, is added to
 * a strided row of the output. Any rank. */
#include "conv_transpose.h"

tn_status conv_transpose_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  tn_status s = conv_transpose_shape(call, &c);
  if (s) return s;
  out->items[0] = c.batch * c.filters;
  out->elements_per_item = c.out_size;
  return TN_OK;
}

/* Input rows run along the last spatial dim. Where row `row` of the input goes through tap t: the
 * output offset of its first element (which may be outside in the last dim), and false if the row
 * is outside in another dim. */
static bool row_target(const tn_window *w, int64_t row, int64_t t, int64_t *out_row) {
  int64_t at = 0, stride = 1;
  t /= w->kernel[w->n - 1];
  for (int32_t k = w->n - 2; k >= 0; k--) {
    int64_t o = row % w->in[k] * w->stride[k] + t % w->kernel[k] * w->dilation[k] - w->pad_lo[k];
    if (o < 0 || o >= w->out[k]) return false;
    row /= w->in[k];
    t /= w->kernel[k];
    at += o * stride;
    stride *= w->out[k];
  }
  *out_row = at;
  return true;
}

/* Range of input positions in a row whose target start + i*stride lies in [0, n_out). */
static void row_range(int64_t start, int64_t stride, int64_t n_in, int64_t n_out, int64_t *lo,
                      int64_t *hi) {
  *lo = start < 0 ? tn_ceil_div(-start, stride) : 0;
  *hi = start >= n_out ? 0 : tn_min_i64(n_in, (n_out - start + stride - 1) / stride);
}

#define CONV_TRANSPOSE(T, name)                                                                   \
  static void add_channel_##T(const tn_window *w, int64_t taps, int64_t in_size, const T *x,      \
                              const T *k, T *y) {                                                 \
    int64_t last = w->n - 1, width = w->in[last], step = w->stride[last];                         \
    for (int64_t t = 0; t < taps; t++) {                                                          \
      int64_t start = t % w->kernel[last] * w->dilation[last] - w->pad_lo[last], lo, hi, out_row; \
      row_range(start, step, width, w->out[last], &lo, &hi);                                      \
      for (int64_t row = 0; row * width < in_size; row++) {                                       \
        if (!row_target(w, row, t, &out_row)) continue;                                           \
        T *to = y + out_row * w->out[last];                                                       \
        for (int64_t i = lo; i < hi; i++) to[start + i * step] += x[row * width + i] * k[t];      \
      }                                                                                           \
    }                                                                                             \
  }                                                                                               \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,                 \
                 uint32_t worker) {                                                               \
    (void)stage, (void)worker;                                                                    \
    conv_shape c;                                                                                 \
    tn_status s = conv_transpose_shape(call, &c);                                                 \
    if (s) return s;                                                                              \
    const T *x = call->inputs[0]->data, *w = call->inputs[1]->data;                               \
    const T *bias = call->inputs[2] ? call->inputs[2]->data : NULL;                               \
    int64_t out_group = c.filters / c.groups, in_group = c.channels / c.groups;                   \
    for (int64_t item = begin; item < end; item++) {                                              \
      int64_t m = item % c.filters, n = item / c.filters, first = m / out_group * in_group;       \
      T *y = (T *)call->outputs[0]->data + item * c.out_size;                                     \
      for (int64_t i = 0; i < c.out_size; i++) y[i] = bias ? bias[m] : 0;                         \
      for (int64_t k = first; k < first + in_group && c.w.n > 0; k++)                             \
        add_channel_##T(&c.w, c.taps, c.in_size, x + (n * c.channels + k) * c.in_size,            \
                        w + (k * out_group + m % out_group) * c.taps, y);                         \
    }                                                                                             \
    return TN_OK;                                                                                 \
  }

CONV_TRANSPOSE(float, conv_transpose_f32_c)
CONV_TRANSPOSE(double, conv_transpose_f64_c)
