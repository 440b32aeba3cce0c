/* Portable batch normalisation: a channel per item, since in training a channel's statistics come
 * from the whole batch. */
#include <math.h>

#include "norm.gen.h"
#include "tenon/kit/infer.h"

typedef struct planes {
  int64_t batch, channels, plane;
} planes;

static planes planes_of(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  planes p = {x->shape[0], x->rank > 1 ? x->shape[1] : 1, 1};
  for (int32_t k = 2; k < x->rank; k++) p.plane *= x->shape[k];
  return p;
}

tn_status batch_normalization_plan(const tn_call *call, tn_kernel_plan *out) {
  planes p = planes_of(call);
  out->items[0] = p.channels;
  out->grain[0] = tn_grain(10000, (double)(p.batch * p.plane));
  out->in_place[0] = 0;
  out->cost_ns = (double)(p.batch * p.channels * p.plane) / 2 + 200;
  return TN_OK;
}

#define BATCH_NORM(T)                                                                            \
  static void statistics_##T(const planes *p, const T *x, double *mean, double *var) {           \
    double sum = 0, squares = 0, n = (double)(p->batch * p->plane);                              \
    for (int64_t b = 0; b < p->batch; b++)                                                       \
      for (int64_t i = 0; i < p->plane; i++) sum += (double)x[b * p->channels * p->plane + i];   \
    *mean = sum / n;                                                                             \
    for (int64_t b = 0; b < p->batch; b++)                                                       \
      for (int64_t i = 0; i < p->plane; i++) {                                                   \
        double d = (double)x[b * p->channels * p->plane + i] - *mean;                            \
        squares += d * d;                                                                        \
      }                                                                                          \
    *var = squares / n;                                                                          \
  }                                                                                              \
  static void channel_##T(const tn_call *call, const planes *p, int64_t c) {                     \
    const tn_batch_normalization_attrs *a = call->attrs;                                         \
    const T *x = (const T *)call->inputs[0]->data + c * p->plane;                                \
    T *y = (T *)call->outputs[0]->data + c * p->plane;                                           \
    double mean = (double)((const T *)call->inputs[3]->data)[c],                                 \
           var = (double)((const T *)call->inputs[4]->data)[c];                                  \
    if (a->training_mode) {                                                                      \
      double old_mean = mean, old_var = var, keep = a->momentum;                                 \
      statistics_##T(p, x, &mean, &var);                                                         \
      if (tn_has_output(call, 1))                                                                \
        ((T *)call->outputs[1]->data)[c] = (T)(old_mean * keep + mean * (1 - keep));             \
      if (tn_has_output(call, 2))                                                                \
        ((T *)call->outputs[2]->data)[c] = (T)(old_var * keep + var * (1 - keep));               \
    }                                                                                            \
    double scale = (double)((const T *)call->inputs[1]->data)[c] / sqrt(var + a->epsilon);       \
    const T f = (T)scale, b = (T)((double)((const T *)call->inputs[2]->data)[c] - mean * scale); \
    for (int64_t n = 0; n < p->batch;                                                            \
         n++, x += p->channels * p->plane, y += p->channels * p->plane)                          \
      for (int64_t i = 0; i < p->plane; i++) y[i] = x[i] * f + b;                                \
  }
BATCH_NORM(float)
BATCH_NORM(double)

#define RUN(name, T)                                                              \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                    \
    planes p = planes_of(call);                                                   \
    for (int64_t c = begin; c < end; c++) channel_##T(call, &p, c);               \
    return TN_OK;                                                                 \
  }
RUN(batch_normalization_f32_c, float)
RUN(batch_normalization_f64_c, double)
