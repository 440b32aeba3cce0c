/* How the sum of a filter becomes an output: (sum + bias) * multiplier / 2^shift, rounded to the
 * nearest whole number. */
struct rescale {
  int32_t bias, multiplier, shift;
};

/* A convolution of 8-bit values: groups of `filters` filters that see `channels` channels each. */
struct quant_conv {
  int32_t images, groups, channels, filters;
  int32_t x_zero, y_zero, least, most; /* zero points; bounds of the output */
  struct window w;
};

static int8_t quant_output(const struct quant_conv *c, const struct rescale *r, int32_t sum) {
  const int64_t unit = INT64_C(1) << r->shift;
  const int64_t moved = ((int64_t)sum + r->bias) * r->multiplier + unit / 2;
  const int32_t even = (moved & (unit - 1)) == 0 ? -2 : -1; /* of ties, the even neighbour */
  const int32_t y = ((int32_t)(moved >> r->shift) & even) + c->y_zero;
  return (int8_t)(y < c->least ? c->least : y > c->most ? c->most : y);
}
