/* Portable losses. Stage 0: blocks of neighbouring labels of one batch entry, so that the scores
 * are read in order; each leaves its sums in scratch. Stage 1 adds these, always in the same
 * order. */
#include <math.h>

#include "loss.h"

enum { BLOCK = 64 };

typedef struct sums {
  double loss, weight;
} sums;

static int64_t blocks_per_batch(const loss_shape *s) { return tn_ceil_div(s->inner, BLOCK); }

tn_status loss_plan(const tn_call *call, tn_kernel_plan *out) {
  loss_shape s = loss_shape_of(call);
  out->n_stages = 2;
  out->items[0] = s.batch * blocks_per_batch(&s);
  out->items[1] = s.how == REDUCE_NONE ? 0 : 1;
  out->grain[0] = 1 + 1000 / (1 + s.classes);
  out->scratch_bytes = (uint64_t)out->items[0] * sizeof(sums);
  out->cost_ns = (double)(s.batch * s.classes) * (double)s.inner * 5 + 200;
  return TN_OK;
}

/* Labels first .. first+n of batch entry b. */
typedef struct block {
  const loss_shape *s;
  int64_t b, first, n;
} block;

static tn_status finish(const tn_call *call, const loss_shape *s, double *out) {
  const sums *parts = call->scratch;
  sums all = {0, 0};
  for (int64_t k = 0; k < s->batch * blocks_per_batch(s); k++) {
    all.loss += parts[k].loss;
    all.weight += parts[k].weight;
  }
  *out = s->how == REDUCE_MEAN ? all.loss / all.weight : all.loss;
  return TN_OK;
}

#define LOSS(T)                                                                             \
  /* norm[i]: what the logarithm of softmax takes off the scores of label i */              \
  static void norms_##T(const T *x, const block *k, double *norm) {                         \
    const int64_t step = k->s->inner;                                                       \
    double sum[BLOCK] = {0};                                                                \
    for (int64_t i = 0; i < k->n; i++) norm[i] = -(double)INFINITY;                         \
    for (int64_t c = 0; c < k->s->classes; c++)                                             \
      for (int64_t i = 0; i < k->n; i++)                                                    \
        if ((double)x[c * step + i] > norm[i]) norm[i] = (double)x[c * step + i];           \
    for (int64_t c = 0; c < k->s->classes; c++)                                             \
      for (int64_t i = 0; i < k->n; i++) sum[i] += exp((double)x[c * step + i] - norm[i]);  \
    for (int64_t i = 0; i < k->n; i++) norm[i] += log(sum[i]);                              \
  }                                                                                         \
  static tn_status block_##T(const tn_call *call, const block *k, int softmax, sums *out) { \
    const loss_shape *s = k->s;                                                             \
    const int64_t place = k->b * s->classes * s->inner + k->first;                          \
    const T *x = (const T *)call->inputs[0]->data + place;                                  \
    const T *weight = tn_has_input(call, 2) ? call->inputs[2]->data : NULL;                 \
    T *y = call->outputs[0]->data,                                                          \
      *log_prob = tn_has_output(call, 1) ? call->outputs[1]->data : NULL;                   \
    double norm[BLOCK] = {0};                                                               \
    if (softmax) norms_##T(x, k, norm);                                                     \
    for (int64_t c = 0; log_prob && c < s->classes; c++)                                    \
      for (int64_t i = 0; i < k->n; i++)                                                    \
        log_prob[place + c * s->inner + i] = (T)((double)x[c * s->inner + i] - norm[i]);    \
    *out = (sums){0, 0};                                                                    \
    for (int64_t i = 0; i < k->n; i++) {                                                    \
      int64_t c, label = k->b * s->inner + k->first + i;                                    \
      tn_status status = loss_class(call, label, &c);                                       \
      if (status) return status;                                                            \
      double w = c < 0 ? 0 : weight ? (double)weight[c] : 1;                                \
      double loss = c < 0 ? 0 : -w * ((double)x[c * s->inner + i] - norm[i]);               \
      if (s->how == REDUCE_NONE) y[label] = (T)loss;                                        \
      out->loss += loss;                                                                    \
      out->weight += w;                                                                     \
    }                                                                                       \
    return TN_OK;                                                                           \
  }                                                                                         \
  static tn_status run_##T(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                           int softmax) {                                                   \
    loss_shape s = loss_shape_of(call);                                                     \
    double all = 0;                                                                         \
    tn_status status = TN_OK;                                                               \
    if (stage == 1) {                                                                       \
      status = finish(call, &s, &all);                                                      \
      *(T *)call->outputs[0]->data = (T)all;                                                \
      return status;                                                                        \
    }                                                                                       \
    const int64_t per_batch = blocks_per_batch(&s);                                         \
    for (int64_t k = begin; k < end && !status; k++) {                                      \
      block b = {&s, k / per_batch, k % per_batch * BLOCK, 0};                              \
      b.n = tn_min_i64(BLOCK, s.inner - b.first);                                           \
      status = block_##T(call, &b, softmax, (sums *)call->scratch + k);                     \
    }                                                                                       \
    return status;                                                                          \
  }
LOSS(float)
LOSS(double)

#define RUN(name, T, softmax)                                                     \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)worker;                                                                 \
    return run_##T(call, stage, begin, end, softmax);                             \
  }
RUN(loss_f32_c, float, 0)
RUN(loss_f64_c, double, 0)
RUN(softmax_loss_f32_c, float, 1)
RUN(softmax_loss_f64_c, double, 1)
