/* Convolutions of 8-bit values whose sums become f32: groups of `filters` filters that see
 * `channels` channels each. A bias is part of the sum, or of the value. */
struct quant_filter {
  int32_t first;
  float scale, bias;
};

struct quant_sums {
  int32_t images, groups, channels, filters, x_zero, w_zero;
  float x_scale;
  struct window w;
};

/* A sum as f32. */
static float quant_sum_value(const struct quant_sums *c, const struct quant_filter *filter,
                             int32_t sum) {
  return (float)((double)sum * (double)c->x_scale * (double)filter->scale + (double)filter->bias);
}
