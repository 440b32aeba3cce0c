/* How the sum of a filter becomes an output: (sum << bits) + bias, times multiplier, over
 * 2^(33 + shift), rounded to the nearest whole number, ties to even. */
struct rescale {
  int32_t bias, multiplier, shift;
};

/* A convolution of 8-bit values: groups of `filters` filters that see `channels` channels each. */
struct quant_conv {
  int32_t images, groups, channels, filters;
  int32_t x_zero, w_zero, y_zero, least, most; /* zero points; bounds of the output */
  int32_t bits;                                /* that sums have behind the point */
  struct window w;
};

/* The bits of outputs of i8 or u8 from their sums: of `filters` filters, n each, `step` apart. */
static void quant_outputs(const struct quant_conv *c, const struct rescale *r, int32_t filters,
                          const int32_t *sum, int32_t n, uint8_t *y, int32_t step) {
  const int32_t times = 1 << c->bits, zero = c->y_zero, least = c->least, most = c->most;
  for (int32_t m = 0; m < filters; m++) {
    const int32_t half = (int32_t)1 << r->shift;
    for (int32_t k = 0; k < n; k++) {
      const int64_t product = (int64_t)(sum[k] * times + r->bias) * r->multiplier;
      const int32_t high = (int32_t)(product >> 32) + half;
      int32_t out = high >> r->shift >> 1;
      if ((uint32_t)product == 0 && out * 2 * half == high) {
        out -= out & 1; /* of two neighbours that are as near, the even one */
      }
      out += zero;
      y[k] = (uint8_t)(out < least ? least : out > most ? most : out);
    }
    r++;
    sum += n;
    y += step;
  }
}
