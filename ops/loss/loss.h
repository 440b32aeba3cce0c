/* What the losses share: the shape of a problem, and reading labels. Both attribute structs are the
 * same. */
#ifndef TN_OPS_LOSS_LOSS_H
#define TN_OPS_LOSS_LOSS_H

#include "loss.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/text.h"

typedef enum reduction { REDUCE_MEAN, REDUCE_SUM, REDUCE_NONE } reduction;

/* input: [batch, classes, inner], target: [batch, inner]. */
typedef struct loss_shape {
  int64_t batch, classes, inner;
  reduction how;
} loss_shape;

static inline loss_shape loss_shape_of(const tn_call *call) {
  const tn_negative_log_likelihood_loss_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  loss_shape s = {x->shape[0], x->shape[1], 1, REDUCE_MEAN};
  for (int32_t k = 2; k < x->rank; k++) s.inner *= x->shape[k];
  if (tn_str_is(a->reduction, "sum")) s.how = REDUCE_SUM;
  if (tn_str_is(a->reduction, "none")) s.how = REDUCE_NONE;
  return s;
}

/* Class of label `index`; -1: it is to be ignored. */
static inline tn_status loss_class(const tn_call *call, int64_t index, int64_t *out_class) {
  const tn_negative_log_likelihood_loss_attrs *a = call->attrs;
  const tn_tensor *t = call->inputs[1];
  int64_t c =
      t->dtype == TN_I32 ? ((const int32_t *)t->data)[index] : ((const int64_t *)t->data)[index];
  *out_class = -1;
  if (a->has_ignore_index && c == a->ignore_index) return TN_OK;
  if (c < 0 || c >= call->inputs[0]->shape[1])
    return call->host->fail(call->ctx, TN_ERR_INVALID, "label %lld is %lld; there are %lld classes",
                            (long long)index, (long long)c, (long long)call->inputs[0]->shape[1]);
  *out_class = c;
  return TN_OK;
}

#endif
