/* MatMulInteger and QLinearMatMul: shapes, inference, FLOPs and references. */
#include <math.h>

#include "matmul_integer.h"
#include "tenon/kit/infer.h"

/* Parameters per tensor, per row of A, or per column of B. */
static tn_status check_count(const tn_call *call, const tn_tensor *t, const char *name, int64_t n) {
  int64_t got = t ? tn_elements(t) : 1;
  if (got == 1 || got == n) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: '%s' with %lld values",
                          name, (long long)got);
}

tn_status matmul_integer_make(const tn_call *call, product_quant *out) {
  product_quant q = {.a_zero = tn_input(call, 2), .b_zero = tn_input(call, 3)};
  tn_status s = product_make(call, tn_input(call, 0), tn_input(call, 1), &q.p);
  if (!s) s = check_count(call, q.a_zero, "a_zero_point", q.p.m);
  if (!s) s = check_count(call, q.b_zero, "b_zero_point", q.p.n);
  if (!s) *out = q;
  return s;
}

tn_status qlinear_matmul_make(const tn_call *call, product_quant *out) {
  product_quant q = {.a_scale = tn_input(call, 1),
                     .a_zero = tn_input(call, 2),
                     .b_scale = tn_input(call, 4),
                     .b_zero = tn_input(call, 5),
                     .y_scale = tn_input(call, 6),
                     .y_zero = tn_input(call, 7)};
  tn_status s = product_make(call, tn_input(call, 0), tn_input(call, 3), &q.p);
  const struct {
    const tn_tensor *t;
    const char *name;
    int64_t n;
  } counts[] = {{q.a_scale, "a_scale", q.p.m}, {q.a_zero, "a_zero_point", q.p.m},
                {q.b_scale, "b_scale", q.p.n}, {q.b_zero, "b_zero_point", q.p.n},
                {q.y_scale, "y_scale", 1},     {q.y_zero, "y_zero_point", 1}};
  for (size_t k = 0; k < sizeof counts / sizeof *counts && !s; k++)
    s = check_count(call, counts[k].t, counts[k].name, counts[k].n);
  if (!s) *out = q;
  return s;
}

#define BOTH(name)                                                                                \
  tn_status name##_infer(const tn_call *call) {                                                   \
    product_quant q;                                                                              \
    tn_status s = name##_make(call, &q);                                                          \
    return s ? s : product_infer(call, &q.p);                                                     \
  }                                                                                               \
  tn_status name##_flops(const tn_call *call, double *out_flops) {                                \
    product_quant q;                                                                              \
    tn_status s = name##_make(call, &q);                                                          \
    if (!s) *out_flops = 2.0 * (double)q.p.batch * (double)q.p.m * (double)q.p.n * (double)q.p.k; \
    return s;                                                                                     \
  }
BOTH(matmul_integer)
BOTH(qlinear_matmul)

/* ---- what kernels on the integer tiles leave out ---- */

enum { MAX_K = INT32_MAX / (255 * 128) }; /* sums of a row's bytes are exact in f32 */

static const char *refuse(const tn_call *call, bool quantises) {
  const tn_tensor *a = call->inputs[0], *zero = tn_input(call, 2),
                  *scale = quantises ? tn_input(call, 1) : NULL;
  if (a->rank < 1 || a->shape[a->rank - 1] > MAX_K) return "takes sums of up to 65793 products";
  if (zero && tn_elements(zero) != 1) return "takes one zero point of A";
  if (scale && tn_elements(scale) != 1) return "takes one scale of A";
  return NULL;
}

const char *matmul_integer_refuse(const tn_call *call) { return refuse(call, false); }
const char *qlinear_matmul_refuse(const tn_call *call) { return refuse(call, true); }

/* ---- references ---- */

static int64_t reference_sum(const product_quant *q, int64_t matrix, int64_t i, int64_t j) {
  const product *p = &q->p;
  int64_t a = product_matrix(p, p->a_stride, matrix) * p->m * p->k + i * p->k,
          b = product_matrix(p, p->b_stride, matrix) * p->k * p->n + j, sum = 0;
  for (int64_t k = 0; k < p->k; k++)
    sum += (tn_load_i64(p->a->dtype, p->a->data, a + k) - product_zero(q->a_zero, i)) *
           (tn_load_i64(p->b->dtype, p->b->data, b + k * p->n) - product_zero(q->b_zero, j));
  return sum;
}

tn_status matmul_integer_reference(const tn_call *call) {
  product_quant q;
  tn_status s = matmul_integer_make(call, &q);
  for (int64_t k = 0; !s && k < tn_elements(call->outputs[0]); k++)
    tn_store_i64(TN_I32, call->outputs[0]->data, k,
                 reference_sum(&q, k / q.p.n / q.p.m, k / q.p.n % q.p.m, k % q.p.n));
  return s;
}

tn_status qlinear_matmul_reference(const tn_call *call) {
  product_quant q;
  tn_status s = qlinear_matmul_make(call, &q);
  const tn_tensor *y = call->outputs[0];
  double lo = y->dtype == TN_I8 ? -128 : 0, hi = y->dtype == TN_I8 ? 127 : 255;
  for (int64_t k = 0; !s && k < tn_elements(y); k++) {
    int64_t i = k / q.p.n % q.p.m, j = k % q.p.n;
    double scale =
        product_scale(q.a_scale, i) * product_scale(q.b_scale, j) / product_scale(q.y_scale, 0);
    double v = nearbyint((double)reference_sum(&q, k / q.p.n / q.p.m, i, j) * scale) +
               (double)product_zero(q.y_zero, 0);
    tn_store_f64(y->dtype, y->data, k, fmin(fmax(v, lo), hi));
  }
  return s;
}
