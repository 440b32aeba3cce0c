/* MatMulInteger and QLinearMatMul as one: quantised factors, and either the i32 product or its
 * requantised form. */
#ifndef TN_OPS_MATMUL_INTEGER_H
#define TN_OPS_MATMUL_INTEGER_H

#include "product.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

typedef struct product_quant {
  product p;
  const tn_tensor *a_zero, *b_zero;                      /* NULL where left out */
  const tn_tensor *a_scale, *b_scale, *y_scale, *y_zero; /* QLinearMatMul only */
} product_quant;

tn_status matmul_integer_make(const tn_call *call, product_quant *out);
tn_status qlinear_matmul_make(const tn_call *call, product_quant *out);

/* Zero point of row i of A or column j of B. */
static inline int64_t product_zero(const tn_tensor *zero, int64_t k) {
  if (!zero) return 0;
  return tn_load_i64(zero->dtype, zero->data, tn_elements(zero) == 1 ? 0 : k);
}

static inline double product_scale(const tn_tensor *scale, int64_t k) {
  return tn_load_f64(scale->dtype, scale->data, tn_elements(scale) == 1 ? 0 : k);
}

#endif
