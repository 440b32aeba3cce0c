/* Shape of one product with weights of 4 bits, and how to read them: for all kernels and the
 * reference of tenon::BlockMatMul. */
#ifndef TN_OPS_BLOCK_MATMUL_BLOCKS_H
#define TN_OPS_BLOCK_MATMUL_BLOCKS_H

#include "base/checked.h"
#include "base/dtype.h"
#include "block_matmul.gen.h"

/* Y[m][n] = sum over k of A[m][k] * W[n][k] + bias[n] */
typedef struct blocks {
  int64_t m, n, k;
  int64_t block, n_blocks;                        /* numbers of a block; blocks of a row */
  const tn_tensor *a, *b, *scales, *zeros, *bias; /* NULL: left out */
} blocks;

/* Says what does not fit. */
tn_status blocks_of(const tn_call *call, blocks *out);

/* Bytes of a row of B, and of zero points. */
static inline int64_t blocks_row_bytes(const blocks *w) { return w->n_blocks * (w->block / 2); }
static inline int64_t blocks_zero_bytes(const blocks *w) { return (w->n_blocks + 1) / 2; }

static inline int32_t blocks_number(const uint8_t *packed, int64_t k) {
  return packed[k / 2] >> (k % 2 * 4) & 15;
}

static inline int32_t blocks_zero(const blocks *w, int64_t row, int64_t block) {
  if (!w->zeros) return 8;
  return blocks_number((const uint8_t *)w->zeros->data + row * blocks_zero_bytes(w), block);
}

#endif
