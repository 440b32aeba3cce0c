/* FixedSvdf: what one call asks for. */
#ifndef TN_OPS_QUANT_FIXED_SVDF_H
#define TN_OPS_QUANT_FIXED_SVDF_H

#include "quant.gen.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

enum { SVDF_X, SVDF_FEATURES, SVDF_TIMES, SVDF_BIAS, SVDF_STATE };

typedef struct fixed_svdf {
  const tn_fixed_svdf_attrs *a;
  int64_t batch, width, units, filters, memory; /* filters: units * rank */
} fixed_svdf;

tn_status fixed_svdf_make(const tn_call *call, fixed_svdf *out);

#endif
