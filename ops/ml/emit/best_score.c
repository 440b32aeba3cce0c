/* The place of the largest, the first of equal ones. */
static int32_t best_score(const double *x, int32_t n) {
  int32_t best = 0;
  for (int32_t k = 1; k < n; k++) {
    best = x[k] > x[best] ? k : best;
  }
  return best;
}
