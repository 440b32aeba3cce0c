/* What the kernels of products on GPUs share. */
#ifndef TN_OPS_MATMUL_PRODUCT_GPU_H
#define TN_OPS_MATMUL_PRODUCT_GPU_H

#include "product.h"
#include "tenon/experimental/gpu.h"

enum { PRODUCT_FEW_ROWS = 8 }; /* fewer are no tiles */

/* From one row or column of a matrix to the next. */
typedef struct product_steps {
  int64_t a_row, a_col, b_row, b_col;
} product_steps;

product_steps product_steps_of(const product *p);

const char *product_gpu_refuse(const tn_call *call, product_kind kind);
/* Their buffers, and the constant HAS_C. parts > 1: the sums go to scratch. */
void product_gpu_buffers(tn_gpu *g, const product *p, int32_t parts);
/* Their params, from m to beta. */
void product_gpu_params(tn_gpu *g, const product *p, const product_steps *s);
/* Adds the parts, then does what is left to do. */
tn_status product_gpu_sum(const tn_call *call, tn_recorder *r, const product *p, int32_t parts);
#endif
