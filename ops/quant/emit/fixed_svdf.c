/* What one SVDF asks for; scales are a multiplier, a shift to the left and one to the right. */
struct fixed_svdf {
  int32_t batch, width, units, rank, memory, x_zero, state_zero, y_zero, lo, hi;
  int32_t feature[3], sum[3];
};

/* The sum of (x - zero) * w, which wraps. */
static int32_t fixed_svdf_dot(const int8_t *x, int32_t zero, const int8_t *w, int32_t n) {
  uint32_t sum = 0;
  for (int32_t k = 0; k < n; k++) sum += (uint32_t)((x[k] - zero) * w[k]);
  return (int32_t)sum;
}
