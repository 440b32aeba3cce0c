/* Shape of one product with weights of 4 or 8 bits, and how to read them: for all kernels and the
 * reference of tenon::BlockMatMul. */
#ifndef TN_OPS_BLOCK_MATMUL_BLOCKS_H
#define TN_OPS_BLOCK_MATMUL_BLOCKS_H

#include "block_matmul.gen.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"

/* Y[m][n] = sum over k of A[m][k] * W[n][k] + bias[n] */
typedef struct blocks {
  int64_t m, n, k;
  int32_t bits;
  int64_t block, n_blocks;                        /* numbers of a block; blocks of a row */
  const tn_tensor *a, *b, *scales, *zeros, *bias; /* NULL: left out */
} blocks;

/* Says what does not fit. */
tn_status blocks_of(const tn_call *call, blocks *out);

/* Bytes of a row of B, and of zero points. */
static inline int64_t blocks_row_bytes(const blocks *w) {
  return w->n_blocks * (w->block * w->bits / 8);
}
static inline int64_t blocks_zero_bytes(const blocks *w) { return (w->n_blocks * w->bits + 7) / 8; }

/* Number k of those that begin at a byte. */
static inline int32_t blocks_number(const uint8_t *packed, int32_t bits, int64_t k) {
  return bits == 8 ? packed[k] : packed[k / 2] >> (k % 2 * 4) & 15;
}

/* Half of the range: the zero point if there is none. */
static inline int32_t blocks_middle(const blocks *w) { return 1 << (w->bits - 1); }

static inline int32_t blocks_zero(const blocks *w, int64_t row, int64_t block) {
  if (!w->zeros) return blocks_middle(w);
  const uint8_t *packed = (const uint8_t *)w->zeros->data + row * blocks_zero_bytes(w);
  return blocks_number(packed, w->bits, block);
}

#endif
