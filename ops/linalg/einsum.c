/* Einsum: inference, kernel, reference. The kernel sums over one index in an inner loop and counts
 * through the others. */
#include "equation.h"

tn_status einsum_infer(const tn_call *call) {
  equation e;
  tn_status s = equation_parse(call, &e);
  if (!s) tn_infer_shape(call, 0, call->inputs[0]->dtype, e.n_kept, e.size);
  return s;
}

tn_status einsum_flops(const tn_call *call, double *out_flops) {
  equation e;
  tn_status s = equation_parse(call, &e);
  *out_flops = s ? 0 : (double)e.kept * (double)e.summed * e.n;
  return s;
}

tn_status einsum_plan(const tn_call *call, tn_kernel_plan *out) {
  equation e;
  tn_status s = equation_parse(call, &e);
  if (s) return s;
  out->items[0] = e.kept;
  out->elements_per_item = 1;
  out->grain[0] = tn_grain(5000, (double)e.summed);
  return TN_OK;
}

/* Place of each input at element `index` of the output, or of the sum (first: index of its
 * outermost loop). */
static void places(const equation *e, int32_t first, int32_t end, int64_t index, int64_t *at) {
  for (int32_t k = end - 1; k >= first; k--) {
    for (uint32_t i = 0; i < e->n; i++) at[i] += index % e->size[k] * e->stride[i][k];
    index /= e->size[k];
  }
}

#define EINSUM(T, ACC)                                                                           \
  /* Sum over n steps of the innermost index. */                                                 \
  static ACC line_##T(const equation *e, const T *const *x, const int64_t *at, int64_t n,        \
                      int32_t inner) {                                                           \
    ACC sum = 0;                                                                                 \
    const int64_t s0 = e->stride[0][inner], s1 = e->n > 1 ? e->stride[1][inner] : 0;             \
    const T *a = x[0] + at[0], *b = e->n > 1 ? x[1] + at[1] : NULL;                              \
    if (e->n == 1) {                                                                             \
      for (int64_t k = 0; k < n; k++) sum += (ACC)a[k * s0];                                     \
      return sum;                                                                                \
    }                                                                                            \
    if (e->n == 2) {                                                                             \
      for (int64_t k = 0; k < n; k++) sum += (ACC)a[k * s0] * (ACC)b[k * s1];                    \
      return sum;                                                                                \
    }                                                                                            \
    for (int64_t k = 0; k < n; k++) {                                                            \
      ACC product = (ACC)a[k * s0];                                                              \
      for (uint32_t i = 1; i < e->n; i++) product *= (ACC)x[i][at[i] + k * e->stride[i][inner]]; \
      sum += product;                                                                            \
    }                                                                                            \
    return sum;                                                                                  \
  }                                                                                              \
  static void run_##T(const tn_call *call, const equation *e, int64_t begin, int64_t end) {      \
    const T *x[EQUATION_OPERANDS];                                                               \
    T *y = call->outputs[0]->data;                                                               \
    const int32_t inner = e->n_indices - 1;                                                      \
    const bool sums = e->n_indices > e->n_kept;                                                  \
    const int64_t n = sums ? e->size[inner] : 1, lines = n ? e->summed / n : 0;                  \
    for (uint32_t i = 0; i < e->n; i++) x[i] = call->inputs[i]->data;                            \
    for (int64_t k = begin; k < end; k++) {                                                      \
      ACC sum = 0;                                                                               \
      for (int64_t j = 0; j < lines; j++) {                                                      \
        int64_t at[EQUATION_OPERANDS] = {0};                                                     \
        places(e, 0, e->n_kept, k, at);                                                          \
        if (sums) places(e, e->n_kept, inner, j, at);                                            \
        sum += line_##T(e, x, at, n, inner < 0 ? 0 : inner);                                     \
      }                                                                                          \
      y[k] = (T)sum;                                                                             \
    }                                                                                            \
  }
EINSUM(float, double)
EINSUM(double, double)
EINSUM(int8_t, uint64_t)
EINSUM(int16_t, uint64_t)
EINSUM(int32_t, uint64_t)
EINSUM(int64_t, uint64_t)
EINSUM(uint8_t, uint64_t)
EINSUM(uint16_t, uint64_t)
EINSUM(uint32_t, uint64_t)
EINSUM(uint64_t, uint64_t)

tn_status einsum_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker) {
  typedef void (*runner)(const tn_call *, const equation *, int64_t, int64_t);
  static const runner runners[TN_DTYPE_COUNT] = {
      [TN_F32] = run_float,   [TN_F64] = run_double,   [TN_I8] = run_int8_t,
      [TN_I16] = run_int16_t, [TN_I32] = run_int32_t,  [TN_I64] = run_int64_t,
      [TN_U8] = run_uint8_t,  [TN_U16] = run_uint16_t, [TN_U32] = run_uint32_t,
      [TN_U64] = run_uint64_t};
  equation e;
  (void)stage, (void)worker;
  tn_status s = equation_parse(call, &e);
  if (!s) runners[call->outputs[0]->dtype](call, &e, begin, end);
  return s;
}

tn_status einsum_reference(const tn_call *call) {
  const tn_tensor *y = call->outputs[0];
  equation e;
  tn_status s = equation_parse(call, &e);
  for (int64_t k = 0; !s && k < e.kept; k++) {
    double sum = 0;
    uint64_t whole = 0;
    for (int64_t j = 0; j < e.summed; j++) {
      int64_t at[EQUATION_OPERANDS] = {0};
      double product = 1;
      uint64_t whole_product = 1;
      places(&e, 0, e.n_kept, k, at);
      places(&e, e.n_kept, e.n_indices, j, at);
      for (uint32_t i = 0; i < e.n; i++) {
        product *= tn_load_f64(y->dtype, call->inputs[i]->data, at[i]);
        whole_product *= (uint64_t)tn_load_i64(y->dtype, call->inputs[i]->data, at[i]);
      }
      sum += product;
      whole += whole_product;
    }
    if (tn_dtype_exact_i64(y->dtype))
      tn_store_i64(y->dtype, y->data, k, (int64_t)whole);
    else
      tn_store_f64(y->dtype, y->data, k, sum);
  }
  return s;
}
