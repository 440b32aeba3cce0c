/* post_transform of the classifiers and regressors. */
#include "scores.h"

#include <math.h>

transform transform_of(tn_str name) {
  static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  int k = 0;
  while (k < TRANSFORM_COUNT && !tn_str_is(name, names[k])) k++;
  return (transform)k;
}

tn_status transform_check(const tn_call *call, tn_str name) {
  if (transform_of(name) != TRANSFORM_COUNT) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "attribute 'post_transform' is '%.*s'; it may be NONE, SOFTMAX, "
                          "LOGISTIC, SOFTMAX_ZERO or PROBIT",
                          (int)tn_min_i64(name.size, 60), name.data);
}

double score_logistic(double x) { return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x)); }

/* zeros: scores of 0 stay 0 and do not count. */
static void softmax(double *x, int64_t n, bool zeros) {
  double top = -(double)INFINITY, sum = 0;
  for (int64_t k = 0; k < n; k++) top = fmax(top, x[k]);
  for (int64_t k = 0; k < n; k++) {
    x[k] = zeros && x[k] == 0 ? 0 : exp(x[k] - top);
    sum += x[k];
  }
  for (int64_t k = 0; sum > 0 && k < n; k++) x[k] /= sum;
}

/* The x with probability p below it in the normal distribution: bisection down to neighbours. */
static double probit(double p) {
  double low = -40, high = 40;
  if (!(p > 0 && p < 1))
    return p == 0 ? -(double)INFINITY : p == 1 ? (double)INFINITY : (double)NAN;
  for (int k = 0; k < 100; k++) {
    double middle = (low + high) / 2;
    if (erfc(-middle / sqrt(2.0)) / 2 < p)
      low = middle;
    else
      high = middle;
  }
  return (low + high) / 2;
}

void transform_apply(transform how, double *scores, int64_t n) {
  if (how == TRANSFORM_SOFTMAX || how == TRANSFORM_SOFTMAX_ZERO)
    softmax(scores, n, how == TRANSFORM_SOFTMAX_ZERO);
  for (int64_t k = 0; k < n; k++) {
    if (how == TRANSFORM_LOGISTIC) scores[k] = score_logistic(scores[k]);
    if (how == TRANSFORM_PROBIT) scores[k] = probit(scores[k]);
  }
}

int64_t score_best(const double *scores, int64_t n) {
  int64_t best = 0;
  for (int64_t k = 1; k < n; k++)
    if (scores[k] > scores[best]) best = k;
  return best;
}

tn_status score_label(const tn_call *call, int64_t index, tn_ints numbers, tn_strs texts,
                      int64_t c) {
  if (texts.size)
    return call->host->string_set(call->ctx, 0, index, texts.data[c].data, texts.data[c].size);
  ((int64_t *)call->outputs[0]->data)[index] = numbers.data[c];
  return TN_OK;
}
