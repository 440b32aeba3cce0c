/* How quant_conv() reads its input. */
typedef void quant_gather(const struct quant_conv *c, const void *x, int32_t pixel, int16_t *to);

/* Weights of a filter, of which it has a multiple of eight. */
static int32_t quant_depth(const struct quant_conv *c) {
  return (c->channels * c->w.kernel_h * c->w.kernel_w + 7) / 8 * 8;
}

/* What the zero point of the weights adds to the sums of a pixel. */
static int32_t quant_zero(const struct quant_conv *c, const int16_t *panel, int32_t depth) {
  int32_t sum = 0;
  for (int32_t k = 0; k < depth && c->w_zero != 0; k++) {
    sum += panel[k];
  }
  return -c->w_zero * sum;
}

/* `pixels` of them, 1 or 2, from `pixel` on, of all filters of a group. scratch: two pixels, eight
 * elements of each in turn, and one by itself. */
static void quant_pixels(const struct quant_conv *c, const struct rescale *r, quant_gather *gather,
                         const uint8_t *x, const int8_t *weights, int32_t pixel, int32_t pixels,
                         uint8_t *y, int16_t *scratch) {
  const int32_t out_size = c->w.out_h * c->w.out_w, depth = quant_depth(c);
  int16_t *one = scratch + 2 * depth;
  int32_t sum[4], zero[2];
  for (int32_t k = 0; k < pixels; k++) {
    gather(c, x, pixel + k, one);
    zero[k] = quant_zero(c, one, depth);
    for (int32_t i = 0; i < depth && pixels == 2; i += 8) {
      memcpy(scratch + 2 * i + 8 * k, one + i, 8 * sizeof *one);
    }
  }
  for (int32_t m = 0; m < c->filters; m += 2) {
    if (pixels == 2) {
      quant_dots_2(weights, scratch, depth, sum);
    } else {
      quant_dots_1(weights, one, depth, sum);
    }
    for (int32_t k = 0; k < pixels && c->w_zero != 0; k++) {
      sum[k] += zero[k];
      sum[pixels + k] += zero[k];
    }
    quant_outputs(c, r, m + 1 < c->filters ? 2 : 1, sum, pixels, y, out_size);
    weights += 2 * depth;
    r += 2;
    y += 2 * out_size;
  }
}

/* scratch: room for three pixels. */
static void quant_conv(const struct quant_conv *c, const struct rescale *r, quant_gather *gather,
                       const void *input, const int8_t *weights, void *output, int16_t *scratch) {
  const uint8_t *x = input;
  uint8_t *y = output;
  const int32_t out_size = c->w.out_h * c->w.out_w;
  const int32_t block = (c->filters + 1) / 2 * 2 * quant_depth(c);
  memset(scratch, 0, 3 * sizeof *scratch * (size_t)quant_depth(c));
  for (int32_t image = 0; image < c->images; image++) {
    for (int32_t group = 0; group < c->groups; group++) {
      for (int32_t pixel = 0; pixel < out_size; pixel += 2) {
        const int32_t pixels = pixel + 1 < out_size ? 2 : 1;
        quant_pixels(c, r + group * c->filters, gather, x, weights + group * block, pixel, pixels,
                     y + pixel, scratch);
      }
      x += c->channels * c->w.in_h * c->w.in_w;
      y += c->filters * out_size;
    }
  }
}
