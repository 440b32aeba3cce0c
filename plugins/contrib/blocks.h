/* The right side of a product: N rows of K numbers of a few bits, with scales per block. */
#ifndef CONTRIB_BLOCKS_H
#define CONTRIB_BLOCKS_H

#include "blocks.gen.h"
#include "elements.h"

typedef struct blocks {
  int64_t n, k, m;    /* m: rows of the left side */
  int64_t block;      /* numbers per scale */
  int64_t row_blocks; /* scales per row; 0: they run on from row to row */
  int64_t row_bytes;  /* of B; 0: rows begin where the row before ended */
  int64_t row_zeros;  /* bytes of packed zero points per row */
  uint32_t bits;
  const float *table; /* what the 4 bits stand for; NULL: themselves */
  const uint8_t *b;
  const tn_tensor *scales, *zeros, *groups, *bias; /* NULL: left out */
} blocks;

tn_status blocks_of_bits(const tn_call *call, blocks *out);
tn_status blocks_of_table(const tn_call *call, blocks *out);

/* Number k of the row as it stands in B. */
static inline uint32_t blocks_raw(const blocks *w, int64_t row, int64_t k) {
  if (w->table) {
    const int64_t at = row * w->k + k;
    return (uint32_t)w->b[at / 2] >> (at % 2 ? 0 : 4) & 15u;
  }
  const int64_t bit = k * w->bits;
  return (uint32_t)w->b[row * w->row_bytes + bit / 8] >> (bit % 8) & ((1u << w->bits) - 1);
}

/* Zero point of a block of the row. */
static inline double blocks_zero(const blocks *w, int64_t row, int64_t block) {
  if (!w->zeros) return (double)(1u << (w->bits - 1));
  if (w->zeros->dtype != TN_U8) return load(w->zeros, row * w->row_blocks + block);
  const int64_t bit = block * w->bits;
  const uint8_t *z = w->zeros->data;
  return (double)((uint32_t)z[row * w->row_zeros + bit / 8] >> (bit % 8) & ((1u << w->bits) - 1));
}

/* The block of column k; its number is checked beforehand. */
static inline int64_t blocks_group(const blocks *w, int64_t k) {
  return w->groups ? ((const int32_t *)w->groups->data)[k] : k / w->block;
}

/* Number k of the row. */
static inline double blocks_value(const blocks *w, int64_t row, int64_t k) {
  const uint32_t q = blocks_raw(w, row, k);
  if (w->table) return (double)w->table[q] * load(w->scales, (row * w->k + k) / w->block);
  const int64_t g = blocks_group(w, k);
  return ((double)q - blocks_zero(w, row, g)) * load(w->scales, row * w->row_blocks + g);
}

/* g_idx names blocks that there are. */
tn_status blocks_check_groups(const tn_call *call, const blocks *w);

#endif
