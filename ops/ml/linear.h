/* What LinearRegressor and LinearClassifier say of a product and its scores. */
#ifndef TN_OPS_ML_LINEAR_H
#define TN_OPS_ML_LINEAR_H

#include "ml.gen.h"
#include "scores.h"

typedef struct linear {
  tn_floats coefficients, intercepts; /* [rows][width], [rows] or none */
  int64_t rows, n_scores;             /* one row of coefficients may stand for two classes */
  int64_t width;                      /* features of X */
  transform how;
} linear;

linear linear_of_regressor(const tn_call *call);
linear linear_of_classifier(const tn_call *call);

#endif
