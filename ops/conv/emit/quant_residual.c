/* What is added to the outputs of a convolution: both have scales of their own, and so has their
 * sum. */
struct quant_residual {
  int32_t y_zero, z_zero, zero, least, most;
  double y_scale, z_scale, scale;
};

/* The code of y + z. */
static int32_t quant_residual_sum(const struct quant_residual *s, int32_t y, int32_t z) {
  const double sum = (double)(y - s->y_zero) * s->y_scale + (double)(z - s->z_zero) * s->z_scale;
  const double code = nearbyint(sum / s->scale) + (double)s->zero;
  const double least = (double)s->least, most = (double)s->most;
  return (int32_t)(!(code > least) ? least : code > most ? most : code);
}
