/* y[k] = x[k]. */
static void store_scores(const double *x, float *y, int32_t n) {
  for (int32_t k = 0; k < n; k++) {
    y[k] = (float)x[k];
  }
}
