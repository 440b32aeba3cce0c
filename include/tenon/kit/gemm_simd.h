/* The matrix tile of matrix products and convolutions: 14 x 32 for AVX-512, 6 x 16 for AVX2, NEON.
 *
 *   for i < m, j < n:  C[i*ldc + j] = (first ? bias[i] or 0 : C[i*ldc + j])
 *                                     + sum over k of A(i, k) * B(k, j)
 *
 * A comes in strips of MR rows, [strip][k][MR], B in panels of NR columns, [panel][k][NR], zero
 * beyond m and n: tn_pack_rows and tn_pack_columns make one strip or panel. Even strips hold as
 * many rows as the others or one less: a strip of a few rows takes as long as one of four. */
#ifndef TN_KIT_GEMM_SIMD_H
#define TN_KIT_GEMM_SIMD_H

#include <stdbool.h>
#include <string.h>

#include "tenon/kit/linkage.h"
#include "tenon/kit/simd.h"

enum {
  TN_TILE_MR = TN_VF_REGISTERS == 32 ? 14 : 6, /* 28 or 12 accumulators */
  TN_TILE_NR = 2 * TN_VF_LANES,
  TN_TILE_KC = 768,   /* depth of a block: a strip fits in L1, some panels in L2 */
  TN_TILE_PANELS = 4, /* panels that one strip meets while it is in L1 */
  TN_TILE_COLUMNS = TN_TILE_PANELS * TN_TILE_NR
};

typedef struct tn_tiles {
  const float *a, *bias; /* bias: one per row; NULL: none */
  const void *b;         /* f32, or what the tiles read */
  float *c;
  int64_t a_strip, b_panel, ldc; /* elements between strips, panels, rows of C */
  int64_t m, n, k;
  bool first; /* C is written, not added to */
  bool even;  /* strip s begins at row tn_strip_row(m, s), not s*MR */
  /* Optional: the panels that come after these, b_panel apart. They are fetched into L2 meanwhile,
   * so that weights from memory arrive during all of the work and not at its beginning. */
  const void *next;
} tn_tiles;

/* First row of strip s of m rows in even strips, ceil(m / MR) of them; m for the one after. */
static inline int64_t tn_strip_row(int64_t m, int64_t s) {
  const int64_t strips = (m + TN_TILE_MR - 1) / TN_TILE_MR;
  return s * m / strips;
}

static inline void tn_tile_store(float *c, tn_vf lo, tn_vf hi, const float *bias) {
  const tn_vf b = tn_vf_set1(bias ? *bias : 0);
  tn_vf_store(c, tn_vf_add(lo, b));
  tn_vf_store(c + TN_VF_LANES, tn_vf_add(hi, b));
}

static inline void tn_tile_add(float *c, tn_vf lo, tn_vf hi) {
  tn_vf_store(c, tn_vf_add(lo, tn_vf_load(c)));
  tn_vf_store(c + TN_VF_LANES, tn_vf_add(hi, tn_vf_load(c + TN_VF_LANES)));
}

/* A row that ends within the tile. */
static inline void tn_tile_store_part(float *c, tn_vf lo, tn_vf hi, int64_t n, bool first,
                                      const float *bias) {
  const int64_t n_lo = n < TN_VF_LANES ? n : TN_VF_LANES;
  const tn_vf_mask m_lo = tn_vf_mask_first(n_lo), m_hi = tn_vf_mask_first(n - n_lo);
  const tn_vf b = tn_vf_set1(first && bias ? *bias : 0);
  const tn_vf c_lo = first ? b : tn_vf_load_mask(m_lo, c);
  const tn_vf c_hi = first ? b : tn_vf_load_mask(m_hi, c + TN_VF_LANES);
  tn_vf_store_mask(c, m_lo, tn_vf_add(lo, c_lo));
  tn_vf_store_mask(c + TN_VF_LANES, m_hi, tn_vf_add(hi, c_hi));
}

/* Fewer instructions per multiply-add. Clang would move accumulators from register to register. */
#if defined(__clang__)
#define TN_TILE_UNROLL
#else
#define TN_TILE_UNROLL _Pragma("GCC unroll 4")
#endif

/* What a tile fetches into L2 on its way: `step` bytes for each k from `at` on, and as many from
 * `second` bytes behind it, since memory answers two streams sooner than one. A tile of MR rows has
 * time for one only. near: elements of B from which on L1 gets two lines for each k; 0 where
 * nothing may lie behind the panel: to fetch what is not mapped takes far longer than to wait. */
typedef struct tn_ahead {
  const char *at;
  int64_t step, second, near;
} tn_ahead;

/* `bytes` from p on, by a tile of so many rows and steps. */
static inline tn_ahead tn_ahead_of(const void *p, int64_t bytes, int64_t rows, int64_t depth) {
  const int64_t steps = (rows < TN_TILE_MR ? 2 : 1) * depth,
                step = steps > 0 ? (bytes + steps - 1) / steps : 0;
  return (tn_ahead){(const char *)p, step, step * depth, 16 * TN_TILE_NR};
}

/* ROWS is a number, not a parameter: only then do the accumulators stay in registers. B: type of
 * the elements of b; LOAD makes f32 of them. */
#define TN_TILE(ROWS, NAME, B, LOAD)                                                              \
  static void NAME##ROWS(const float *a, const void *panel, int64_t depth, float *c, int64_t ldc, \
                         int64_t n, bool first, const float *bias, const tn_ahead *ahead) {       \
    const B *b = (const B *)panel;                                                                \
    const char *next = ahead->at;                                                                 \
    const int64_t next_step = ahead->step, second = ahead->second, near = ahead->near;            \
    tn_vf lo[ROWS], hi[ROWS];                                                                     \
    TN_UNROLL for (int r = 0; r < ROWS; r++) lo[r] = hi[r] = tn_vf_set1(0);                       \
    TN_TILE_UNROLL                                                                                \
    for (int64_t k = 0; k < depth; k++, a += TN_TILE_MR, b += TN_TILE_NR, next += next_step) {    \
      tn_prefetch_l2(next);                                                                       \
      if (ROWS < TN_TILE_MR) tn_prefetch_l2(next + second);                                       \
      const tn_vf b_lo = LOAD(b), b_hi = LOAD(b + TN_VF_LANES);                                   \
      tn_prefetch_l1(b + near);                                                                   \
      tn_prefetch_l1(b + near + 16);                                                              \
      TN_UNROLL for (int r = 0; r < ROWS; r++) {                                                  \
        const tn_vf x = tn_vf_set1(a[r]);                                                         \
        lo[r] = tn_vf_fma(x, b_lo, lo[r]);                                                        \
        hi[r] = tn_vf_fma(x, b_hi, hi[r]);                                                        \
      }                                                                                           \
    }                                                                                             \
    if (n < TN_TILE_NR) {                                                                         \
      TN_UNROLL for (int r = 0; r < ROWS; r++)                                                    \
          tn_tile_store_part(c + r * ldc, lo[r], hi[r], n, first, bias ? bias + r : NULL);        \
    } else if (first) {                                                                           \
      TN_UNROLL for (int r = 0; r < ROWS; r++)                                                    \
          tn_tile_store(c + r * ldc, lo[r], hi[r], bias ? bias + r : NULL);                       \
    } else {                                                                                      \
      TN_UNROLL for (int r = 0; r < ROWS; r++) tn_tile_add(c + r * ldc, lo[r], hi[r]);            \
    }                                                                                             \
  }
#if TN_VF_REGISTERS == 32
#define TN_TILES_ABOVE_6(NAME, B, LOAD) \
  TN_TILE(7, NAME, B, LOAD)             \
  TN_TILE(8, NAME, B, LOAD)             \
  TN_TILE(9, NAME, B, LOAD)             \
  TN_TILE(10, NAME, B, LOAD)            \
  TN_TILE(11, NAME, B, LOAD)            \
  TN_TILE(12, NAME, B, LOAD) TN_TILE(13, NAME, B, LOAD) TN_TILE(14, NAME, B, LOAD)
#define TN_TILE_NAMES_ABOVE_6(NAME) \
  , NAME##7, NAME##8, NAME##9, NAME##10, NAME##11, NAME##12, NAME##13, NAME##14
#else
#define TN_TILES_ABOVE_6(NAME, B, LOAD)
#define TN_TILE_NAMES_ABOVE_6(NAME)
#endif
/* Tiles of 1 to MR rows, and the list of their names. */
#define TN_TILES(NAME, B, LOAD) \
  TN_TILE(1, NAME, B, LOAD)     \
  TN_TILE(2, NAME, B, LOAD)     \
  TN_TILE(3, NAME, B, LOAD)     \
  TN_TILE(4, NAME, B, LOAD)     \
  TN_TILE(5, NAME, B, LOAD) TN_TILE(6, NAME, B, LOAD) TN_TILES_ABOVE_6(NAME, B, LOAD)
#define TN_TILE_NAMES(NAME) \
  { NULL, NAME##1, NAME##2, NAME##3, NAME##4, NAME##5, NAME##6 TN_TILE_NAMES_ABOVE_6(NAME) }

typedef void (*tn_tile_fn)(const float *a, const void *b, int64_t depth, float *c, int64_t ldc,
                           int64_t n, bool first, const float *bias, const tn_ahead *ahead);

#if defined(TN_KIT_SHARED)
#define tn_tile_of_rows TN_KIT_ISA_NAME(tn_tile_of_rows)
extern const tn_tile_fn tn_tile_of_rows[TN_TILE_MR + 1];
#endif
#if defined(TN_KIT_ISA_BODIES)
TN_TILES(tn_tile_, float, tn_vf_load)
TN_KIT_ISA_TABLE const tn_tile_fn tn_tile_of_rows[TN_TILE_MR + 1] = TN_TILE_NAMES(tn_tile_);
#endif

/* All strips against all panels; n should be about TN_TILE_COLUMNS, k at most TN_TILE_KC. Each
 * strip fetches its share of the panels that come next; one that is alone fetches the panel after
 * the one it meets. tiles: of 1 to MR rows; b_bytes: of an element of B. */
static inline void tn_tiles_run_with(const tn_tiles *t, const tn_tile_fn *tiles, int64_t b_bytes) {
  const float *a = t->a;
  const int64_t strips = (t->m + TN_TILE_MR - 1) / TN_TILE_MR, panel = t->k * TN_TILE_NR * b_bytes,
                share = strips > 0 ? (panel + strips - 1) / strips : 0;
  for (int64_t s = 0, i = 0, end; i < t->m; s++, i = end, a += t->a_strip) {
    end = t->even ? tn_strip_row(t->m, s + 1) : i + TN_TILE_MR < t->m ? i + TN_TILE_MR : t->m;
    for (int64_t j = 0; j < t->n; j += TN_TILE_NR) {
      const int64_t at = j / TN_TILE_NR * t->b_panel * b_bytes;
      const char *b = (const char *)t->b + at, *next = (const char *)t->next;
      if (next && strips > 1) next += at + s * share;
      if (strips == 1 && j + TN_TILE_NR < t->n) next = b + t->b_panel * b_bytes;
      const int64_t near = j + TN_TILE_NR < t->n ? 16 * TN_TILE_NR : 0;
      const tn_ahead ahead =
          next ? tn_ahead_of(next, share, end - i, t->k) : (tn_ahead){b, 0, 0, near};
      tiles[end - i](a, b, t->k, t->c + i * t->ldc + j, t->ldc, t->n - j, t->first,
                     t->bias ? t->bias + i : NULL, &ahead);
    }
  }
}

static inline void tn_tiles_run(const tn_tiles *t) {
  tn_tiles_run_with(t, tn_tile_of_rows, sizeof(float));
}

/* Four floats of each row, rows q and q + 4 (and + 8, + 12) side by side. */
static inline tn_vf tn_pack_load(const float *const *rows, int64_t k) {
  const void *from[TN_VF_LANES / 4];
  TN_UNROLL for (int q = 0; q < TN_VF_LANES / 4; q++) from[q] = rows[4 * q] + k;
  return tn_vf_load_fours(from);
}

/* to[k*width + r] = from[r*ld + k] for r < n; n is 1 .. TN_VF_LANES. */
static inline void tn_pack_lanes(const float *from, int64_t ld, int64_t n, int64_t depth,
                                 int64_t width, float *to) {
  const tn_vf_mask kept = tn_vf_mask_first(n);
  const float *rows[TN_VF_LANES];
  int64_t k = 0;
  for (int64_t r = 0; r < TN_VF_LANES; r++) rows[r] = from + (r < n ? r : n - 1) * ld;
  for (; k + 4 <= depth; k += 4, to += 4 * width) {
    tn_vf v[4];
    TN_UNROLL for (int q = 0; q < 4; q++) v[q] = tn_pack_load(rows + q, k);
    tn_vf_transpose_fours(v);
    TN_UNROLL for (int q = 0; q < 4; q++) tn_vf_store_mask(to + q * width, kept, v[q]);
  }
  for (; k < depth; k++, to += width)
    for (int64_t r = 0; r < n; r++) to[r] = rows[r][k];
}

/* Turns n rows of `from`, ld apart, into to[k][width]; 0 for rows n and up. */
static inline void tn_pack_rows(const float *from, int64_t ld, int64_t n, int64_t depth,
                                int64_t width, float *to) {
  if (n < width) memset(to, 0, (size_t)(depth * width) * sizeof *to);
  for (int64_t r = 0; r < n; r += TN_VF_LANES)
    tn_pack_lanes(from + r * ld, ld, n - r < TN_VF_LANES ? n - r : TN_VF_LANES, depth, width,
                  to + r);
}

/* Copies n columns of `from`, whose rows are ld apart, into to[k][width]; 0 for columns n and
 * up. */
static inline void tn_pack_columns(const float *from, int64_t ld, int64_t n, int64_t depth,
                                   int64_t width, float *to) {
  if (n == width && width == TN_TILE_NR) {
    for (int64_t k = 0; k < depth; k++, from += ld, to += TN_TILE_NR)
      memcpy(to, from, TN_TILE_NR * sizeof *to);
    return;
  }
  for (int64_t k = 0; k < depth; k++, from += ld, to += width) {
    memcpy(to, from, (size_t)n * sizeof *to);
    memset(to + n, 0, (size_t)(width - n) * sizeof *to);
  }
}

#endif
