/* Scores of classes and targets: what post_transform does to them. */
#ifndef TN_OPS_ML_SCORES_H
#define TN_OPS_ML_SCORES_H

#include "tenon/kit/infer.h"
#include "tenon/kit/text.h"

typedef enum transform {
  TRANSFORM_NONE,
  TRANSFORM_SOFTMAX,
  TRANSFORM_LOGISTIC,
  TRANSFORM_SOFTMAX_ZERO,
  TRANSFORM_PROBIT,
  TRANSFORM_COUNT
} transform;

/* TRANSFORM_COUNT: there is none of that name. */
transform transform_of(tn_str name);
/* The same, failing. */
tn_status transform_check(const tn_call *call, tn_str name);
void transform_apply(transform how, double *scores, int64_t n);

double score_logistic(double x);

/* Index of the largest score, the first of equal ones. */
int64_t score_best(const double *scores, int64_t n);

/* Element `index` of output 0 becomes class `c` of the labels: texts if there are any, else
 * numbers. */
tn_status score_label(const tn_call *call, int64_t index, tn_ints numbers, tn_strs texts,
                      int64_t c);

#endif
