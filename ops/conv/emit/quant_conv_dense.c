#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>

/* Cortex-M4 and larger have instructions that add two products of 16 bits. They unpack the weights
 * 0 and 2, 1 and 3 of four together, so elements 1 and 2 of each four change places. */
static void quant_order(int16_t *panel, int32_t n) {
  for (int32_t k = 0; k + 4 <= n; k += 4) {
    const int16_t second = panel[k + 1];
    panel[k + 1] = panel[k + 2];
    panel[k + 2] = second;
  }
}

static void quant_four(const int8_t *w, const int16_t *x0, const int16_t *x1, int32_t sum[2]) {
  uint32_t four;
  int32_t a, b;
  memcpy(&four, w, 4);
  const int16x2_t even = __sxtb16((int8x4_t)four), odd = __sxtb16((int8x4_t)(four >> 8));
  memcpy(&a, x0, 4);
  memcpy(&b, x0 + 2, 4);
  sum[0] = __smlad(odd, b, __smlad(even, a, sum[0]));
  memcpy(&a, x1, 4);
  memcpy(&b, x1 + 2, 4);
  sum[1] = __smlad(odd, b, __smlad(even, a, sum[1]));
}

/* Sums of two filters for two pixels. */
static void quant_tile(const int8_t *w0, const int8_t *w1, const int16_t *x0, const int16_t *x1,
                       int32_t n, int32_t sum[4]) {
  int32_t s0[2] = {0, 0}, s1[2] = {0, 0};
  const int32_t even = n / 4 * 4;
  for (int32_t k = 0; k < even; k += 4) {
    quant_four(w0 + k, x0 + k, x1 + k, s0);
    quant_four(w1 + k, x0 + k, x1 + k, s1);
  }
  for (int32_t k = even; k < n; k++) {
    s0[0] += w0[k] * x0[k];
    s0[1] += w0[k] * x1[k];
    s1[0] += w1[k] * x0[k];
    s1[1] += w1[k] * x1[k];
  }
  sum[0] = s0[0];
  sum[1] = s0[1];
  sum[2] = s1[0];
  sum[3] = s1[1];
}
#else
static void quant_order(int16_t *panel, int32_t n) {
  (void)panel;
  (void)n;
}

/* Sums of two filters for two pixels. */
static void quant_tile(const int8_t *w0, const int8_t *w1, const int16_t *x0, const int16_t *x1,
                       int32_t n, int32_t sum[4]) {
  int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0;
  for (int32_t k = 0; k < n; k++) {
    const int32_t a = w0[k], b = w1[k], c = x0[k], d = x1[k];
    s00 += a * c;
    s01 += a * d;
    s10 += b * c;
    s11 += b * d;
  }
  sum[0] = s00;
  sum[1] = s01;
  sum[2] = s10;
  sum[3] = s11;
}
#endif

/* What the zero point of the weights adds to the sums of a pixel. */
static int32_t quant_zero(const struct quant_conv *c, const int16_t *panel, int32_t depth) {
  int32_t sum = 0;
  for (int32_t k = 0; k < depth && c->w_zero != 0; k++) {
    sum += panel[k];
  }
  return -c->w_zero * sum;
}

/* How quant_conv() reads its input. */
typedef void quant_gather(const struct quant_conv *c, const void *x, int32_t pixel, int16_t *to);

/* Two pixels from `pixel` on, or the last one, of all filters of a group. */
static void quant_pixels(const struct quant_conv *c, const struct rescale *r, quant_gather *gather,
                         const uint8_t *x, const int8_t *weights, int32_t pixel, uint8_t *y,
                         int16_t *panel) {
  const int32_t out_size = c->w.out_h * c->w.out_w;
  const int32_t depth = c->channels * c->w.kernel_h * c->w.kernel_w;
  const int32_t last = pixel + 1 < out_size ? pixel + 1 : pixel;
  int32_t sum[4];
  gather(c, x, pixel, panel);
  gather(c, x, last, panel + depth);
  const int32_t zero = quant_zero(c, panel, depth), zero_last = quant_zero(c, panel + depth, depth);
  quant_order(panel, depth);
  quant_order(panel + depth, depth);
  for (int32_t m = 0; m < c->filters; m += 2) {
    const int32_t next = m + 1 < c->filters ? m + 1 : m;
    quant_tile(weights + m * depth, weights + next * depth, panel, panel + depth, depth, sum);
    y[m * out_size + pixel] = quant_output(c, &r[m], sum[0] + zero);
    y[m * out_size + last] = quant_output(c, &r[m], sum[1] + zero_last);
    y[next * out_size + pixel] = quant_output(c, &r[next], sum[2] + zero);
    y[next * out_size + last] = quant_output(c, &r[next], sum[3] + zero_last);
  }
}

/* panel: twice as many elements as a filter has weights. */
static void quant_conv(const struct quant_conv *c, const struct rescale *r, quant_gather *gather,
                       const void *input, const int8_t *weights, void *output, int16_t *panel) {
  const uint8_t *x = input;
  uint8_t *y = output;
  const int32_t out_size = c->w.out_h * c->w.out_w;
  const int32_t depth = c->channels * c->w.kernel_h * c->w.kernel_w;
  for (int32_t image = 0; image < c->images; image++) {
    for (int32_t group = 0; group < c->groups; group++) {
      const int32_t filter = group * c->filters;
      for (int32_t pixel = 0; pixel < out_size; pixel += 2) {
        quant_pixels(c, r + filter, gather, x, weights + filter * depth, pixel, y, panel);
      }
      x += c->channels * c->w.in_h * c->w.in_w;
      y += c->filters * out_size;
    }
  }
}
