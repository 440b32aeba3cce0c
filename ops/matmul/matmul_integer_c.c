/* Portable integer matrix products: a row of Y per item; i32 sums of products of widened factors,
 * which wrap. */
#include <math.h>

#include "matmul_integer.h"

static tn_status plan(const product_quant *q, tn_kernel_plan *out) {
  out->items[0] = q->p.batch * q->p.m;
  out->grain[0] = tn_grain(10000, (double)(q->p.n * q->p.k));
  out->worker_scratch_bytes = (uint64_t)q->p.n * sizeof(int32_t);
  return TN_OK;
}

/* sums[j] += x * (B[k][j] - b_zero[j]) */
#define ADD_ROW(T)                                                       \
  for (int64_t j = 0; j < n; j++)                                        \
    sums[j] += (uint32_t)(x * ((int32_t)((const T *)b)[at + j] - zero)); \
  break

static void add_row(const product_quant *q, int32_t x, int64_t at, uint32_t *sums) {
  const void *b = q->p.b->data;
  int64_t n = q->p.n;
  const int32_t zero =
      q->b_zero && tn_elements(q->b_zero) == 1 ? (int32_t)product_zero(q->b_zero, 0) : 0;
  switch (q->p.b->dtype) {
    case TN_I8: ADD_ROW(int8_t);
    default: ADD_ROW(uint8_t);
  }
}

static void sum_row(const product_quant *q, int64_t item, uint32_t *sums) {
  const product *p = &q->p;
  int64_t matrix = item / p->m, i = item % p->m, total = 0;
  int64_t a = product_matrix(p, p->a_stride, matrix) * p->m * p->k + i * p->k,
          b = product_matrix(p, p->b_stride, matrix) * p->k * p->n;
  const int32_t zero = (int32_t)product_zero(q->a_zero, i);
  for (int64_t j = 0; j < p->n; j++) sums[j] = 0;
  for (int64_t k = 0; k < p->k; k++) {
    int32_t x = (p->a->dtype == TN_I8 ? ((const int8_t *)p->a->data)[a + k]
                                      : ((const uint8_t *)p->a->data)[a + k]) -
                zero;
    total += x;
    add_row(q, x, b + k * p->n, sums);
  }
  if (!q->b_zero || tn_elements(q->b_zero) == 1) return;
  for (int64_t j = 0; j < p->n; j++)
    sums[j] -= (uint32_t)(total * product_zero(q->b_zero, j)); /* one zero point per column */
}

static void store_sums(const tn_call *call, const product_quant *q, int64_t item,
                       const uint32_t *sums) {
  for (int64_t j = 0; j < q->p.n; j++)
    ((uint32_t *)call->outputs[0]->data)[item * q->p.n + j] = sums[j];
}

static void store_quantised(const tn_call *call, const product_quant *q, int64_t item,
                            const uint32_t *sums) {
  bool is_signed = call->outputs[0]->dtype == TN_I8;
  const double zero = (double)product_zero(q->y_zero, 0), lo = is_signed ? -128 : 0,
               hi = is_signed ? 127 : 255;
  double row = product_scale(q->a_scale, item % q->p.m) / product_scale(q->y_scale, 0);
  for (int64_t j = 0; j < q->p.n; j++) {
    double v = nearbyint((double)(int32_t)sums[j] * (row * product_scale(q->b_scale, j))) + zero;
    v = !(v > lo) ? lo : v > hi ? hi : v; /* NaN: lo */
    if (is_signed)
      ((int8_t *)call->outputs[0]->data)[item * q->p.n + j] = (int8_t)v;
    else
      ((uint8_t *)call->outputs[0]->data)[item * q->p.n + j] = (uint8_t)v;
  }
}

#define RUN(name, STORE)                                                                          \
  tn_status name##_plan(const tn_call *call, tn_kernel_plan *out) {                               \
    product_quant q;                                                                              \
    tn_status s = name##_make(call, &q);                                                          \
    return s ? s : plan(&q, out);                                                                 \
  }                                                                                               \
  tn_status name##_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,             \
                     uint32_t worker) {                                                           \
    (void)stage;                                                                                  \
    product_quant q;                                                                              \
    tn_status s = name##_make(call, &q);                                                          \
    if (s) return s;                                                                              \
    uint32_t *sums =                                                                              \
        (uint32_t *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes); \
    for (int64_t item = begin; item < end; item++) {                                              \
      sum_row(&q, item, sums);                                                                    \
      STORE(call, &q, item, sums);                                                                \
    }                                                                                             \
    return TN_OK;                                                                                 \
  }
RUN(matmul_integer, store_sums)
RUN(qlinear_matmul, store_quantised)
