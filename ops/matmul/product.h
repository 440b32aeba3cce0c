/* Shape of one matrix product, for MatMul and Gemm alike: Y[b] = alpha * A[b] B[b] + beta * C. */
#ifndef TN_OPS_MATMUL_PRODUCT_H
#define TN_OPS_MATMUL_PRODUCT_H

#include <stdbool.h>

#include "matmul.gen.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"

typedef struct product {
  int64_t m, n, k, batch; /* batch: matrices of Y */
  bool trans_a, trans_b;
  double alpha, beta;         /* MatMul: 1, 0 */
  const tn_tensor *a, *b, *c; /* c: NULL if absent */
  int64_t c_row, c_col;       /* strides of c over rows and columns of Y; 0 where it broadcasts */
  int32_t rank;               /* leading dims of Y */
  int64_t dims[TN_MAX_RANK], a_stride[TN_MAX_RANK],
      b_stride[TN_MAX_RANK]; /* of the leading dims, in matrices */
} product;

/* a times b as numpy.matmul. Says what does not fit. */
tn_status product_make(const tn_call *call, const tn_tensor *a, const tn_tensor *b, product *out);
typedef enum product_kind { MATMUL, GEMM, HALF_MATMUL } product_kind;
/* From the call of a MatMul, a Gemm or a tenon::HalfMatMul. */
tn_status product_of(const tn_call *call, product_kind kind, product *out);
/* Rank and dims of output 0. */
tn_status product_infer(const tn_call *call, const product *p);
/* Index of the matrix of A (strides a_stride) or B that belongs to matrix `index` of Y. */
int64_t product_matrix(const product *p, const int64_t *strides, int64_t index);
#endif
