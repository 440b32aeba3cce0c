/* tenon::QuantMatMul: the shape of one product, for inference, references and kernels. */
#ifndef TN_OPS_MATMUL_QUANT_MATMUL_H
#define TN_OPS_MATMUL_QUANT_MATMUL_H

#include <stdbool.h>

#include "quant_matmul.gen.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

/* More products of u8 and i8, or of differences of bytes, might not sum up within 32 bits. */
enum {
  QUANT_MATMUL_MAX_K = INT32_MAX / (255 * 128),
  QUANT_MATMUL_MAX_K_ZEROS = INT32_MAX / (255 * 255)
};

typedef struct quant_matmul {
  int64_t m, n, k;
  bool trans_b;
  const tn_tensor *a, *a_scale, *a_zero, *b, *b_scale, *b_zero, *bias, *y_scale, *y_zero;
} quant_matmul; /* NULL: left out */

enum {
  QUANT_MATMUL_A,
  QUANT_MATMUL_A_SCALE,
  QUANT_MATMUL_A_ZERO,
  QUANT_MATMUL_B,
  QUANT_MATMUL_B_SCALE,
  QUANT_MATMUL_B_ZERO,
  QUANT_MATMUL_BIAS,
  QUANT_MATMUL_Y_SCALE,
  QUANT_MATMUL_Y_ZERO,
  QUANT_MATMUL_INPUTS
};

tn_status quant_matmul_make(const tn_call *call, quant_matmul *out);

/* Zero point `index` of an optional tensor of one or several. */
static inline int64_t quant_zero(const tn_tensor *zero, int64_t index) {
  if (!zero) return 0;
  return tn_load_i64(zero->dtype, zero->data, tn_elements(zero) == 1 ? 0 : index);
}

static inline double quant_scale(const tn_tensor *scale, int64_t index) {
  return tn_load_f64(scale->dtype, scale->data, tn_elements(scale) == 1 ? 0 : index);
}

/* Bounds of the code of Y: those of its type and of the attributes. */
static inline void quant_matmul_bounds(const tn_call *call, int64_t *out_min, int64_t *out_max) {
  const tn_quant_mat_mul_attrs *a = call->attrs;
  const int64_t least = call->outputs[0]->dtype == TN_I8 ? -128 : 0, most = least + 255;
  *out_min = tn_min_i64(tn_max_i64(a->y_min, least), most);
  *out_max = tn_min_i64(tn_max_i64(a->y_max, least), most);
}

/* Zero point of column j once B is i8: its codes less 128 if it is u8. */
static inline int64_t quant_matmul_b_zero(const tn_tensor *b, const tn_tensor *zero, int64_t j) {
  return quant_zero(zero, j) - (b->dtype == TN_U8 ? 128 : 0);
}

/* Has some column such a zero point? */
static inline bool quant_matmul_has_zeros(const tn_tensor *b, const tn_tensor *zero) {
  const int64_t n = zero ? tn_elements(zero) : 1;
  for (int64_t j = 0; j < n; j++)
    if (quant_matmul_b_zero(b, zero, j)) return true;
  return false;
}

#endif
