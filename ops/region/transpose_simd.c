/* Region and Reorder with transposes in registers. Elements of 4 bytes go in tiles of SIDE rows of
 * SIDE elements, one vector each; what the tiles leave is for the portable code, and so is all that
 * is no transpose. A few lines whose elements lie in turn on one side, as the channels of an image
 * do, are shuffled. */
#include "region.gen.h"
#include "region.h"
#include "tenon/kit/simd.h"

enum { SIDE = TN_VF_LANES, QUADS = SIDE / 4, LINE = 64 };

/* The same four columns of rows 0, 4, 8 .. from src on, one after the other. Nothing is assumed of
 * alignment: elements may be bytes that lie anywhere. */
static inline tn_vf load_quads(const uint8_t *src, int64_t step) {
  const void *from[QUADS];
  TN_UNROLL for (int q = 0; q < QUADS; q++) from[q] = src + 4 * q * step;
  return tn_vf_load_fours(from);
}

static inline void store(uint8_t *dst, tn_vf v) { tn_vf_store((float *)(void *)dst, v); }

/* Element (r, c) goes from src + r * src_step + 4 * c to dst + c * dst_step + 4 * r. */
static inline void transpose_tile(uint8_t *dst, int64_t dst_step, const uint8_t *src,
                                  int64_t src_step) {
  TN_UNROLL for (int q = 0; q < QUADS; q++) {
    const uint8_t *from = src + 16 * q;
    uint8_t *to = dst + 4 * q * dst_step;
    tn_vf v[4];
    TN_UNROLL for (int k = 0; k < 4; k++) v[k] = load_quads(from + k * src_step, src_step);
    tn_vf_transpose_fours(v);
    TN_UNROLL for (int k = 0; k < 4; k++) store(to + k * dst_step, v[k]);
  }
}

/* Brings the lines in which a tile will be stored. Where its vectors lie across the ends of lines,
 * each store would wait for both. Inlined early, or GCC 12 drops the call as one without effect. */
static inline __attribute__((always_inline)) void expect_tile(uint8_t *dst, int64_t step) {
  if (step % LINE == 0) return;
  TN_UNROLL for (int k = 0; k < SIDE; k++) {
    __builtin_prefetch(dst + k * step, 1, 3);
    __builtin_prefetch(dst + k * step + 4 * SIDE - 1, 1, 3);
  }
}

/* ---- two to four lines, of which one side has the elements in turn ---- */

/* Element i of line j is in lane (3 i + j) % SIDE of the vectors that have the elements in turn: a
 * line's lanes are all different, so that selecting them and one permutation bring them in order.
 * apart[j]: those lanes; together[j]: the other way around. */
#if TN_VF_LANES == 16
static const tn_vu apart[3] = {{0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13},
                               {1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14},
                               {2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15}},
                   together[3] = {{0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5},
                                  {5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10},
                                  {10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15}};
#else
static const tn_vu apart[3] = {{0, 3, 6, 1, 4, 7, 2, 5},
                               {1, 4, 7, 2, 5, 0, 3, 6},
                               {2, 5, 0, 3, 6, 1, 4, 7}},
                   together[3] = {{0, 3, 6, 1, 4, 7, 2, 5},
                                  {5, 0, 3, 6, 1, 4, 7, 2},
                                  {2, 5, 0, 3, 6, 1, 4, 7}};
#endif

static inline tn_vf load(const uint8_t *src) {
  return tn_vf_load((const float *)(const void *)src);
}

/* Vector v of the elements in turn has those of line j in lanes m with (SIDE v + m) % 3 == j. */
enum { TURNS = SIDE % 3 };
#define VECTOR_OF(j, m) (((j) - (m) + 3) * TURNS % 3)
#define LINE_OF(v, m) ((TURNS * (v) + (m)) % 3)

/* Lines are `step` bytes apart in dst; n >= SIDE. The last vectors may go over elements again. */
static void take_apart(uint8_t *dst, int64_t step, const uint8_t *src, int64_t lines, int64_t n) {
  for (int64_t at = 0; at < n; at += SIDE) {
    const int64_t i = tn_min_i64(at, n - SIDE);
    uint8_t *to = dst + 4 * i;
    const uint8_t *from = src + 4 * lines * i;
    const tn_vf a = load(from), b = load(from + 4 * SIDE);
    if (lines == 2) {
      store(to, tn_vf_even(a, b));
      store(to + step, tn_vf_odd(a, b));
      continue;
    }
    if (lines == 4) {
      const tn_vf c = load(from + 8 * SIDE), d = load(from + 12 * SIDE);
      const tn_vf even[2] = {tn_vf_even(a, b), tn_vf_even(c, d)},
                  odd[2] = {tn_vf_odd(a, b), tn_vf_odd(c, d)};
      store(to, tn_vf_even(even[0], even[1]));
      store(to + step, tn_vf_even(odd[0], odd[1]));
      store(to + 2 * step, tn_vf_odd(even[0], even[1]));
      store(to + 3 * step, tn_vf_odd(odd[0], odd[1]));
      continue;
    }
    const tn_vf v[3] = {a, b, load(from + 8 * SIDE)};
    TN_UNROLL for (int j = 0; j < 3; j++) {
      const tn_vf line = tn_vf_thirds(v[VECTOR_OF(j, 0)], v[VECTOR_OF(j, 1)], v[VECTOR_OF(j, 2)]);
      store(to + j * step, tn_vf_pick(line, apart[j]));
    }
  }
}

/* The same the other way: lines are `step` bytes apart in src. */
static void put_together(uint8_t *dst, const uint8_t *src, int64_t step, int64_t lines, int64_t n) {
  for (int64_t at = 0; at < n; at += SIDE) {
    const int64_t i = tn_min_i64(at, n - SIDE);
    uint8_t *to = dst + 4 * lines * i;
    const uint8_t *from = src + 4 * i;
    const tn_vf a = load(from), b = load(from + step);
    if (lines == 2) {
      tn_vf low, high;
      tn_vf_zip(a, b, &low, &high);
      store(to, low);
      store(to + 4 * SIDE, high);
      continue;
    }
    if (lines == 4) {
      tn_vf even[2], odd[2], low, high;
      tn_vf_zip(a, load(from + 2 * step), &even[0], &even[1]);
      tn_vf_zip(b, load(from + 3 * step), &odd[0], &odd[1]);
      for (int k = 0; k < 2; k++) {
        tn_vf_zip(even[k], odd[k], &low, &high);
        store(to + 8 * SIDE * k, low);
        store(to + 8 * SIDE * k + 4 * SIDE, high);
      }
      continue;
    }
    const tn_vf p[3] = {tn_vf_pick(a, together[0]), tn_vf_pick(b, together[1]),
                        tn_vf_pick(load(from + 2 * step), together[2])};
    TN_UNROLL for (int v = 0; v < 3; v++) {
      const tn_vf all = tn_vf_thirds(p[LINE_OF(v, 0)], p[LINE_OF(v, 1)], p[LINE_OF(v, 2)]);
      store(to + 4 * SIDE * v, all);
    }
  }
}

/* ---- the same for elements of one or two bytes ---- */

enum { SHUFFLE = 16, MAX_LINES = 4 }; /* bytes of a vector */

/* Byte k of vector `to` of one side is byte at[to][from][k] of vector `from` of the other, or none
 * (128) of it. */
typedef struct shuffles {
  uint8_t at[MAX_LINES][MAX_LINES][SHUFFLE];
} shuffles;

static void shuffles_make(shuffles *s, int64_t lines, int64_t unit, bool apart_) {
  memset(s->at, 128, sizeof s->at);
  for (int64_t line = 0; line < lines; line++)
    for (int64_t k = 0; k < SHUFFLE;
         k++) { /* byte k of a line, and where it is among those in turn */
      const int64_t place = (k / unit * lines + line) * unit + k % unit, vector = place / SHUFFLE;
      if (apart_)
        s->at[line][vector][k] = (uint8_t)(place % SHUFFLE);
      else
        s->at[vector][line][place % SHUFFLE] = (uint8_t)k;
    }
}

/* n bytes of each line, >= SHUFFLE. Vectors are from_step bytes apart and move on by from_next. */
static inline __attribute__((always_inline)) void shuffle_lines(
    const shuffles *s, uint8_t *dst, int64_t to_step, int64_t to_next, const uint8_t *src,
    int64_t from_step, int64_t from_next, int lines, int64_t n) {
  tn_b16 m[MAX_LINES][MAX_LINES];
  for (int t = 0; t < lines; t++)
    for (int f = 0; f < lines; f++) m[t][f] = tn_b16_load(s->at[t][f]);
  for (int64_t at = 0; at < n; at += SHUFFLE) {
    const int64_t i = tn_min_i64(at, n - SHUFFLE);
    tn_b16 v[MAX_LINES];
    TN_UNROLL for (int f = 0; f < lines; f++) v[f] =
        tn_b16_load(src + i * from_next + f * from_step);
    TN_UNROLL for (int t = 0; t < lines; t++) {
      tn_b16 all = tn_b16_pick(v[0], m[t][0]);
      TN_UNROLL for (int f = 1; f < lines; f++) all = tn_b16_or(all, tn_b16_pick(v[f], m[t][f]));
      tn_b16_store(dst + i * to_next + t * to_step, all);
    }
  }
}

static void shuffle(uint8_t *dst, const uint8_t *src, int64_t step, int64_t unit, int64_t lines,
                    int64_t n, bool apart_) {
  const int64_t to = apart_ ? step : SHUFFLE, to_next = apart_ ? 1 : lines,
                from = apart_ ? SHUFFLE : step, from_next = apart_ ? lines : 1;
  shuffles s;
  shuffles_make(&s, lines, unit, apart_);
  if (lines == 2)
    shuffle_lines(&s, dst, to, to_next, src, from, from_next, 2, n);
  else if (lines == 3)
    shuffle_lines(&s, dst, to, to_next, src, from, from_next, 3, n);
  else
    shuffle_lines(&s, dst, to, to_next, src, from, from_next, 4, n);
}

/* Rows go in strips that fill two lines of the destination. */
static void transpose_plane(const tn_block *b, uint8_t *dst, const uint8_t *src) {
  const int64_t rows = b->row.size / SIDE * SIDE, cols = b->col.size / SIDE * SIDE,
                strip = 2 * LINE / 4;
  for (int64_t r0 = 0; r0 < rows; r0 += strip)
    for (int64_t c = 0; c < cols; c += SIDE)
      for (int64_t r = r0; r < tn_min_i64(rows, r0 + strip); r += SIDE) {
        uint8_t *to = dst + 4 * r + c * b->col.dst;
        if (c + SIDE < cols)
          expect_tile(to + SIDE * b->col.dst, b->col.dst);
        else if (r + strip < rows)
          expect_tile(dst + 4 * (r + strip), b->col.dst);
        transpose_tile(to, b->col.dst, src + r * b->row.src + 4 * c, b->row.src);
      }
  tn_block_rest(b, dst, src, rows, cols);
}

/* Lines of a length that is worth it, and their elements lie in turn on the other side. */
static bool interleaves(const tn_block *b, int64_t lines, int64_t length, int64_t step) {
  const int64_t least = b->unit == 4 ? SIDE : 256;
  return lines <= MAX_LINES && length >= least && step == lines * b->unit;
}

static void transpose(const tn_block *b, uint8_t *dst, const uint8_t *src) {
  const tn_axis *row = &b->row, *col = &b->col;
  const bool splits = interleaves(b, col->size, row->size, row->src),
             joins = interleaves(b, row->size, col->size, col->dst);
  if (b->unit == 4 && splits)
    take_apart(dst, col->dst, src, col->size, row->size);
  else if (b->unit == 4 && joins)
    put_together(dst, src, row->src, row->size, col->size);
  else if (b->unit <= 2 && splits)
    shuffle(dst, src, col->dst, b->unit, col->size, row->size * b->unit, true);
  else if (b->unit <= 2 && joins)
    shuffle(dst, src, row->src, b->unit, row->size, col->size * b->unit, false);
  else if (b->unit == 4)
    transpose_plane(b, dst, src);
  else
    tn_block_rest(b, dst, src, 0, 0);
}

tn_status TN_SIMD_NAME(region)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                               uint32_t worker) {
  (void)worker;
  return region_run(call, transpose, stage, begin, end);
}

tn_status TN_SIMD_NAME(reorder)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                uint32_t worker) {
  (void)stage, (void)worker;
  return reorder_run(call, transpose, begin, end);
}
