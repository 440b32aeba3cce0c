/* 1 / (1 + e^-x), of no number that is too large for e^x. */
static double score_logistic(double x) {
  return x >= 0.0 ? 1.0 / (1.0 + exp(-x)) : exp(x) / (1.0 + exp(x));
}
