/* If keep_zeros is set, scores of 0 stay 0 and do not count. */
static void softmax_scores(double *x, int32_t n, int32_t keep_zeros) {
  double top = -(double)INFINITY, sum = 0.0;
  for (int32_t k = 0; k < n; k++) {
    top = fmax(top, x[k]);
  }
  for (int32_t k = 0; k < n; k++) {
    x[k] = keep_zeros != 0 && x[k] == 0.0 ? 0.0 : exp(x[k] - top);
    sum += x[k];
  }
  for (int32_t k = 0; k < n && sum > 0.0; k++) {
    x[k] /= sum;
  }
}
