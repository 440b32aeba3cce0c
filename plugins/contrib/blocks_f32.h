/* The kernels of MatMulNBits and MatMulBnb4, compiled once for any machine and once for AVX2.
 *
 * Four rows of B at a time become f32; then all rows of A meet them, two at a time. The file that
 * includes this one says before what decode_4bit_wide and decode_table_wide are: they take back the
 * first numbers of a block, as many as they like, and answer how many. MULTIPLY_ADD is a * b + c of
 * vectors. */
#ifndef CONTRIB_BLOCKS_F32_H
#define CONTRIB_BLOCKS_F32_H

#include <string.h>

#include "blocks.h"

enum { LANES = 8, COLUMNS = 4 };
typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static void decode_4bit(const uint8_t *b, int64_t n, float zero, float scale, float *y) {
  const int64_t done = decode_4bit_wide(b, n, zero, scale, y);
  for (int64_t i = done / 2; i < n / 2; i++) {
    y[2 * i] = ((float)(b[i] & 15) - zero) * scale;
    y[2 * i + 1] = ((float)(b[i] >> 4) - zero) * scale;
  }
  if (n % 2) y[n - 1] = ((float)(b[n / 2] & 15) - zero) * scale;
}

static void decode_8bit(const uint8_t *b, int64_t n, float zero, float scale, float *y) {
  for (int64_t i = 0; i < n; i++) y[i] = ((float)b[i] - zero) * scale;
}

/* n numbers that the table names, from an even one on; the first of two is in the high half. */
static void decode_table(const float *table, const uint8_t *b, int64_t n, float scale, float *y) {
  const int64_t done = decode_table_wide(table, b, n, scale, y);
  for (int64_t i = done / 2; i < n / 2; i++) {
    y[2 * i] = table[b[i] >> 4] * scale;
    y[2 * i + 1] = table[b[i] & 15] * scale;
  }
}

static void decode_row(const blocks *w, int64_t row, float *y) {
  const float *scales = (const float *)w->scales->data + row * w->row_blocks;
  if (w->table && w->k % w->block == 0) {
    const int64_t at = row * w->k;
    for (int64_t k = 0; k < w->k; k += w->block)
      decode_table(w->table, w->b + (at + k) / 2, w->block,
                   ((const float *)w->scales->data)[(at + k) / w->block], y + k);
    return;
  }
  if (w->table || w->groups || w->bits == 2) {
    for (int64_t k = 0; k < w->k; k++) y[k] = (float)blocks_value(w, row, k);
    return;
  }
  for (int64_t g = 0; g < w->row_blocks; g++) {
    const int64_t begin = g * w->block, n = tn_min_i64(w->block, w->k - begin);
    const uint8_t *b = w->b + row * w->row_bytes + begin * w->bits / 8;
    const float zero = (float)blocks_zero(w, row, g);
    (w->bits == 4 ? decode_4bit : decode_8bit)(b, n, zero, scales[g], y + begin);
  }
}

static inline float sum_of(lanes v) {
  float half[LANES / 2];
  for (int k = 0; k < LANES / 2; k++) half[k] = v[k] + v[k + LANES / 2];
  return (half[0] + half[2]) + (half[1] + half[3]);
}

/* y[r][c] = a[r] . w[c] for so many rows of A. */
static inline __attribute__((always_inline)) void tile(const int rows, const float *a,
                                                       const float *w, int64_t depth,
                                                       float y[2][COLUMNS]) {
  lanes sum[2][COLUMNS] = {{{0}}};
  int64_t k = 0;
  for (; k + LANES <= depth; k += LANES)
    for (int c = 0; c < COLUMNS; c++)
      for (int r = 0; r < rows; r++)
        sum[r][c] = MULTIPLY_ADD(*(const lanes *)(a + r * depth + k),
                                 *(const lanes *)(w + c * depth + k), sum[r][c]);
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < COLUMNS; c++) {
      y[r][c] = sum_of(sum[r][c]);
      for (int64_t i = k; i < depth; i++) y[r][c] += a[r * depth + i] * w[c * depth + i];
    }
  }
}

static void columns(const tn_call *call, const blocks *w, int64_t first, float *room) {
  const int64_t n = tn_min_i64(COLUMNS, w->n - first);
  const float *a = call->inputs[0]->data, *bias = w->bias ? w->bias->data : NULL;
  float *y = call->outputs[0]->data;
  for (int64_t c = 0; c < n; c++) decode_row(w, first + c, room + c * w->k);
  memset(room + n * w->k, 0, (size_t)((COLUMNS - n) * w->k) * sizeof *room);
  for (int64_t i = 0; i < w->m; i += 2) {
    const int rows = i + 1 < w->m ? 2 : 1;
    float part[2][COLUMNS];
    if (rows == 2)
      tile(2, a + i * w->k, room, w->k, part);
    else
      tile(1, a + i * w->k, room, w->k, part);
    for (int r = 0; r < rows; r++)
      for (int64_t c = 0; c < n; c++)
        y[(i + r) * w->n + first + c] = part[r][c] + (bias ? bias[first + c] : 0);
  }
}

#define BLOCKS_KERNEL(name, make)                                                                \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,                \
                 uint32_t worker) {                                                              \
    float *room =                                                                                \
        (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);   \
    blocks w = {0};                                                                              \
    tn_status s = make(call, &w);                                                                \
    (void)stage;                                                                                 \
    if (!s) s = blocks_check_groups(call, &w);                                                   \
    for (int64_t item = begin; !s && item < end; item++) columns(call, &w, item *COLUMNS, room); \
    return s;                                                                                    \
  }

#endif
