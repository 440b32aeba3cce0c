/* How the sum of a filter becomes an output: (sum + bias) * multiplier / 2^(32 + shift), rounded to
 * the nearest whole number, ties to even. */
struct rescale {
  int32_t bias, multiplier, shift;
};

/* A convolution of 8-bit values: groups of `filters` filters that see `channels` channels each. */
struct quant_conv {
  int32_t images, groups, channels, filters;
  int32_t x_zero, w_zero, y_zero, least, most; /* zero points; bounds of the output */
  struct window w;
};

/* The bits of an output of i8 or u8. */
static uint8_t quant_output(const struct quant_conv *c, const struct rescale *r, int32_t sum) {
  const int32_t unit = (int32_t)1 << r->shift;
  const int64_t moved = (int64_t)(sum + r->bias) * r->multiplier + (int64_t)unit * 0x80000000;
  const int32_t high = (int32_t)(moved >> 32);
  const int32_t is_tie = (uint32_t)moved == 0 && (high & (unit - 1)) == 0;
  const int32_t y = ((high >> r->shift) & ~is_tie) + c->y_zero; /* of ties, the even neighbour */
  return (uint8_t)(y < c->least ? c->least : y > c->most ? c->most : y);
}
