/* Portable deformable convolution. An item is a row of the output of one image, all filters: the
 * moved taps of all its pixels are gathered in worker scratch first, [channel][tap][pixel]; what
 * remains is a product with the weights. */
#include <math.h>
#include <string.h>

#include "deform.h"

tn_status deform_conv_plan(const tn_call *call, tn_kernel_plan *out) {
  const int64_t bytes = tn_dtype(call->inputs[0]->dtype)->bits / 8;
  deform d;
  int64_t room;
  tn_status s = deform_make(call, &d);
  if (s) return s;
  if (tn_mul_i64(d.c.channels, d.c.taps, &room) || tn_mul_i64(room, d.c.w.out[1], &room) ||
      tn_mul_i64(room, bytes, &room))
    return TN_ERR_OVERFLOW;
  out->items[0] = d.c.w.out[1] ? d.c.batch * d.c.w.out[0] : 0;
  out->worker_scratch_bytes = (uint64_t)room;
  out->cost_ns = (double)out->items[0] * (double)(d.c.w.out[1] * d.c.taps * d.c.channels) *
                     (5 + 0.3 * (double)d.c.filters / (double)d.c.groups) +
                 500;
  return TN_OK;
}

/* Where a moved tap lies: its four pixels, -1 outside of the image, and their weights. */
typedef struct corners {
  int64_t at[4];
  double weight[4];
} corners;

static corners corners_of(const tn_window *w, double y, double x) {
  const int64_t height = w->in[0], width = w->in[1];
  corners c = {{-1, -1, -1, -1}, {0}};
  if (!(y > -1 && y < (double)height && x > -1 && x < (double)width)) return c;
  const double top = floor(y), left = floor(x), dy = y - top, dx = x - left;
  for (int k = 0; k < 4; k++) {
    const int64_t row = (int64_t)top + k / 2, column = (int64_t)left + k % 2;
    if (row < 0 || row >= height || column < 0 || column >= width) continue;
    c.at[k] = row * width + column;
    c.weight[k] = (k / 2 ? dy : 1 - dy) * (k % 2 ? dx : 1 - dx);
  }
  return c;
}

#define DEFORM(T, name)                                                                            \
  static inline T corner_##T(const corners *c, int k, const T *plane) {                            \
    return c->at[k] < 0 ? 0 : (T)c->weight[k] * plane[c->at[k]];                                   \
  }                                                                                                \
  /* Tap t of all channels of offset group g, for the pixels of row `row`. */                      \
  static void gather_##T(const deform *d, const T *x, int64_t n, int64_t row, int64_t g,           \
                         int64_t t, T *columns) {                                                  \
    const tn_window *w = &d->c.w;                                                                  \
    const int64_t each = d->c.channels / d->n_offsets, out = w->out[1],                            \
                  slot = (n * d->n_offsets + g) * d->c.taps + t, at = row * out;                   \
    const T *down = (const T *)d->offsets->data + 2 * slot * d->c.out_size + at,                   \
            *across = down + d->c.out_size;                                                        \
    const T *mask = d->mask ? (const T *)d->mask->data + slot * d->c.out_size + at : NULL;         \
    const int64_t y = row * w->stride[0] - w->pad_lo[0] + t / w->kernel[1] * w->dilation[0];       \
    for (int64_t o = 0; o < out; o++) {                                                            \
      const int64_t from = o * w->stride[1] - w->pad_lo[1] + t % w->kernel[1] * w->dilation[1];    \
      const corners c =                                                                            \
          corners_of(w, (double)y + (double)down[o], (double)from + (double)across[o]);            \
      const T amount = mask ? mask[o] : 1;                                                         \
      for (int64_t k = g * each; k < (g + 1) * each; k++) {                                        \
        const T *p = d->c.in_size ? x + (n * d->c.channels + k) * d->c.in_size : x;                \
        columns[(k * d->c.taps + t) * out + o] =                                                   \
            amount * (corner_##T(&c, 0, p) + corner_##T(&c, 1, p) + corner_##T(&c, 2, p) +         \
                      corner_##T(&c, 3, p));                                                       \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static void multiply_##T(const deform *d, const T *weights, const T *columns, int64_t m, T *y) { \
    const int64_t out = d->c.w.out[1], depth = d->c.channels / d->c.groups * d->c.taps;            \
    const T *from = columns + m / (d->c.filters / d->c.groups) * depth * out;                      \
    for (int64_t o = 0; o < out; o++) y[o] = d->bias ? ((const T *)d->bias->data)[m] : 0;          \
    for (int64_t k = 0; k < depth; k++) {                                                          \
      const T weight = weights[m * depth + k], *c = from + k * out;                                \
      for (int64_t o = 0; o < out; o++) y[o] += weight * c[o];                                     \
    }                                                                                              \
  }                                                                                                \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,                  \
                 uint32_t worker) {                                                                \
    T *columns =                                                                                   \
        (T *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);         \
    deform d;                                                                                      \
    tn_status s = deform_make(call, &d);                                                           \
    (void)stage;                                                                                   \
    for (int64_t item = begin; !s && item < end; item++) {                                         \
      const int64_t n = item / d.c.w.out[0], row = item % d.c.w.out[0];                            \
      for (int64_t k = 0; k < d.n_offsets * d.c.taps; k++)                                         \
        gather_##T(&d, call->inputs[0]->data, n, row, k / d.c.taps, k % d.c.taps, columns);        \
      for (int64_t m = 0; m < d.c.filters; m++)                                                    \
        multiply_##T(&d, call->inputs[1]->data, columns, m,                                        \
                     (T *)call->outputs[0]->data + (n * d.c.filters + m) * d.c.out_size +          \
                         row * d.c.w.out[1]);                                                      \
    }                                                                                              \
    return s;                                                                                      \
  }

DEFORM(float, deform_conv_f32_c)
DEFORM(double, deform_conv_f64_c)
