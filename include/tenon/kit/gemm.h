/* The portable matrix kernel that convolutions and matrix products share: a tile of MR rows by NR
 * columns in registers.
 *
 *   for i < m, j < n:  C[i*ldc + j] = (first ? bias[i] or 0 : C[i*ldc + j])
 *                                     + sum over k of A[i*lda + k] * B(k, j)
 *
 * B comes in panels of NR columns, [panel][k][NR], b_panel elements apart, zero in the columns
 * beyond n. GNU vectors keep gcc and clang from spilling the accumulators; they compile for every
 * target. */
#ifndef TN_KIT_GEMM_H
#define TN_KIT_GEMM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { TN_GEMM_MR = 4, TN_GEMM_NR = 8, TN_GEMM_KC = 384 };

typedef float tn_v4f __attribute__((vector_size(16), aligned(4), may_alias));

typedef struct tn_gemm {
  const float *a, *b, *bias; /* bias: one per row; NULL: none */
  float *c;
  int64_t lda, ldc, b_panel, m, n, k;
  bool first; /* C is written, not added to */
} tn_gemm;

static inline void tn_gemm_store(float *c, const tn_v4f *acc, int64_t n, bool first, float bias) {
  float row[TN_GEMM_NR];
  memcpy(row, acc, sizeof row);
  for (int64_t j = 0; j < n; j++) c[j] = row[j] + (first ? bias : c[j]);
}

/* One tile of ROWS rows. The loop over k is all that counts: 2 loads, ROWS broadcasts, 2*ROWS
 * multiply-adds. */
#define TN_GEMM_TILE(ROWS)                                                                       \
  static inline void tn_gemm_tile_##ROWS(const tn_gemm *g, int64_t i, const float *b, int64_t j, \
                                         int64_t n) {                                            \
    tn_v4f acc[ROWS][2];                                                                         \
    const float *a = g->a + i * g->lda;                                                          \
    for (int r = 0; r < ROWS; r++) acc[r][0] = acc[r][1] = (tn_v4f){0, 0, 0, 0};                 \
    for (int64_t k = 0; k < g->k; k++, b += TN_GEMM_NR) {                                        \
      tn_v4f b0 = *(const tn_v4f *)b, b1 = *(const tn_v4f *)(b + 4);                             \
      for (int r = 0; r < ROWS; r++) {                                                           \
        float x = a[r * g->lda + k];                                                             \
        acc[r][0] += x * b0;                                                                     \
        acc[r][1] += x * b1;                                                                     \
      }                                                                                          \
    }                                                                                            \
    for (int r = 0; r < ROWS; r++)                                                               \
      tn_gemm_store(g->c + (i + r) * g->ldc + j, acc[r], n, g->first,                            \
                    g->bias ? g->bias[i + r] : 0);                                               \
  }
TN_GEMM_TILE(1)
TN_GEMM_TILE(2)
TN_GEMM_TILE(3)
TN_GEMM_TILE(4)
#undef TN_GEMM_TILE

static inline void tn_gemm_run(const tn_gemm *g) {
  for (int64_t j = 0; j < g->n; j += TN_GEMM_NR) {
    const float *b = g->b + j / TN_GEMM_NR * g->b_panel;
    int64_t n = g->n - j < TN_GEMM_NR ? g->n - j : (int64_t)TN_GEMM_NR, i = 0;
    for (; i + 4 <= g->m; i += 4) tn_gemm_tile_4(g, i, b, j, n);
    if (g->m - i == 3)
      tn_gemm_tile_3(g, i, b, j, n);
    else if (g->m - i == 2)
      tn_gemm_tile_2(g, i, b, j, n);
    else if (g->m - i == 1)
      tn_gemm_tile_1(g, i, b, j, n);
  }
}

#endif
