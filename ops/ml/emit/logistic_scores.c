/* x[k] = score_logistic(x[k]). */
static void logistic_scores(double *x, int32_t n) {
  for (int32_t k = 0; k < n; k++) {
    x[k] = score_logistic(x[k]);
  }
}
