/* tenon::BlockMatMul on the dot products of tenon/kit/quads_simd.h: the whole of
 * block_matmul_avx2.c and so on.
 *
 * Sums are of integers. Each row of A becomes fixed-point numbers first, a step of 32 (or 16, if
 * that is the size of a block) at a time:
 *
 *   a[k] = unit * (65536 d0[k] + 256 d1[k] + d2[k])
 *
 * unit is the power of two by which the largest of the step has 23 bits, the digits d are signed
 * bytes. Products of digits and weights (number - 8) add up exactly over a step; the three sums
 * become one f32, which is scaled and added in f32. So the only errors of a step are that its
 * smaller numbers lose bits below the last one of its largest, and one rounding: sums in f32 have
 * one per product. This takes 9 instructions for 8 x LANES weights, taking each back to f32 would
 * take 24: the difference is that between the speed of memory and less.
 *
 * Where the attribute accuracy_level allows it, and there are enough rows for arithmetic to take
 * the time, a number has one digit, d = round(127 a / the largest).
 *
 * Without dot products of bytes, many rows are multiplied in f32: many_rows_simd.h.
 *
 * A row with infinities, NaN or numbers below 2^-103 has no such form: its unit is NaN, and what
 * comes out as NaN or infinity is computed anew, slowly, in f64.
 *
 * Weights: panels of LANES columns, cut along K into parts of 128: 16 units, a unit holds 8 numbers
 * of each column in 4 bytes (the first 4 in the low halves), then scales, then zero point - 8 in a
 * byte, both [block][column]. Four panels, far from each other, are read at once: memory gives more
 * to four streams than to one. */
#include <math.h>

#include "blocks.h"
#include "tenon/kit/element.h"
#include "tenon/kit/elementwise.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/quads_simd.h"

enum {
  LANES = TN_VF_LANES,
  DEPTH = 128,      /* numbers of a column in a part */
  UNIT = 4 * LANES, /* bytes, of 4 bits; of 8 bits it has two of these */
  STREAMS = 4,
  STATE_HEAD = 64,
  DIGITS = 3,           /* at most */
  ROWS_BYTES = 1 << 20, /* of digits that an item goes through: about half of L2 */
  AHEAD = 16 / LANES    /* parts */
};

/* ---- how one call is cut ---- */

typedef struct layout {
  blocks w;
  int64_t block, step;           /* block: at most a part, larger ones repeat their scale */
  int64_t parts, panels;         /* of a panel; of a stream */
  int64_t units_bytes;           /* of a part; scales begin behind them */
  int64_t scale_bytes, zeros_at; /* of one block of all columns; in a part, 0: none */
  int64_t part_bytes, stream_bytes;
  int64_t steps_per_block_log2;
  int64_t step_ints, row_ints; /* of digits and what belongs to them, per row */
  int64_t digits, chunk;       /* of a number; rows that weights meet at once, at most */
  int64_t chunks, block_chunks, row_blocks;
  bool half_scales;
} layout;

/* Rows that weights meet at once, at most: as many sums as there are registers. */
enum {
#if TN_QUADS_LARGE_SUMS
  CHUNK = 2,
  QUICK_CHUNK = 4,
#else
  CHUNK = 4,
  QUICK_CHUNK = 8,
#endif
  QUICK_LEAST = 4 /* rows; fewer wait for memory */
};

/* One digit is enough: the model allows it, and it is arithmetic that takes the time. */
static bool is_quick(const tn_call *call, const layout *l) {
  const tn_block_mat_mul_attrs *a = call->attrs;
  return a->accuracy_level == 4 && l->w.m >= QUICK_LEAST && l->step == 32;
}

static int64_t round_up(int64_t x, int64_t to) { return tn_ceil_div(x, to) * to; }

static tn_status layout_make(const tn_call *call, bool half_scales, layout *out) {
  layout l = {0};
  const tn_status s = blocks_of(call, &l.w);
  if (s) return s;
  l.block = tn_min_i64(l.w.block, DEPTH);
  l.step = tn_min_i64(l.block, 32);
  l.half_scales = half_scales;
  l.scale_bytes = LANES * (l.half_scales ? 2 : 4);
  l.units_bytes = DEPTH * LANES * l.w.bits / 8;
  const int64_t part_blocks = DEPTH / l.block,
                zeros_at = l.units_bytes + round_up(part_blocks * l.scale_bytes, UNIT);
  l.zeros_at = l.w.zeros ? zeros_at : 0;
  l.part_bytes = zeros_at + (l.w.zeros ? round_up(part_blocks * LANES, UNIT) : 0);
  l.parts = tn_ceil_div(l.w.k, DEPTH);
  l.panels = tn_ceil_div(tn_ceil_div(l.w.n, LANES), STREAMS);
  l.stream_bytes = l.panels * l.parts * l.part_bytes;
  while (l.step << l.steps_per_block_log2 < l.block) l.steps_per_block_log2++;
  l.digits = is_quick(call, &l) ? 1 : DIGITS;
  l.chunk = l.digits == 1 ? QUICK_CHUNK : CHUNK;
  l.step_ints = l.digits * (l.step / 4 + 1) + 2;
  l.row_ints = l.parts * (DEPTH / l.step) * l.step_ints;
  l.chunks = tn_ceil_div(l.w.m, l.chunk);
  l.block_chunks = tn_max_i64(1, ROWS_BYTES / (l.chunk * 4 * l.row_ints));
  l.row_blocks = tn_ceil_div(l.chunks, l.block_chunks);
  *out = l;
  return TN_OK;
}

/* First row of chunk c: chunks of as many rows as others or one more. */
static int64_t chunk_row(const layout *l, int64_t c) { return l->w.m * c / l->chunks; }

static tn_status digits_plan(const tn_call *call, const layout *l, tn_kernel_plan *out) {
  const double bytes = (double)(STREAMS * l->stream_bytes),
               products = (double)l->w.m * (double)l->w.n * (double)l->w.k;
  const double ns =
      bytes / 15 + products / (LANES * (TN_QUADS_SUMS_32 ? 12.0 : 7.5)) * (double)l->digits;
  int64_t ints;
  if (tn_mul_i64(l->w.m, l->row_ints, &ints) || ints > TN_MAX_ELEMENTS) return TN_ERR_OVERFLOW;
  out->scratch_bytes = (uint64_t)ints * sizeof(int32_t);
  out->n_stages = 2;
  out->items[0] = l->chunks * l->parts;
  out->grain[0] = tn_grain(10000, (double)(l->chunk * DEPTH));
  out->items[1] = l->row_blocks * l->panels;
  /* items that follow one another: streams that go on */
  out->grain[1] = tn_max_i64(out->items[1] / (4 * tn_max_i64(1, call->n_workers)),
                             tn_grain(TN_THREAD_NS, ns / (double)tn_max_i64(1, out->items[1])));
  out->cost_ns = ns + 500;
  return TN_OK;
}

/* ---- weights ---- */

/* The 4 numbers of 4 bits in the low half, each in a byte. */
static uint32_t spread_4(uint32_t x) {
  x = (x | x << 8) & 0x00ff00ffu;
  return (x | x << 4) & 0x0f0f0f0fu;
}

/* 8 numbers, number k on, to a lane of a unit. */
static void pack_unit(const layout *l, const uint8_t *b, int64_t k, char *to, int64_t lane) {
  if (l->w.bits == 4) {
    b += k / 2;
    const uint32_t v = spread_4(b[0] | (uint32_t)b[1] << 8) | spread_4(b[2] | (uint32_t)b[3] << 8)
                                                                  << 4;
    memcpy(to + k / 8 * UNIT + lane * 4, &v, sizeof v);
    return;
  }
  for (int64_t q = 0; q < 8; q += 4) {
    uint32_t v;
    memcpy(&v, b + k + q, sizeof v);
    v ^= TN_QUADS_SIGNED ? 0x80808080u : 0;
    memcpy(to + (k + q) / 4 * UNIT + lane * 4, &v, sizeof v);
  }
}

static void store_scale(const layout *l, int64_t at, char *to, int64_t lane) {
  const tn_tensor *t = l->w.scales;
  if (l->half_scales && t->dtype == TN_F16) {
    memcpy(to + lane * 2, (const uint16_t *)t->data + at, 2);
    return;
  }
  float room;
  const float *scale = tn_load_block_f32(t->dtype, t->data, at, 1, &room);
  if (l->half_scales)
    tn_narrow_f16(scale, (uint16_t *)(void *)to + lane, 1);
  else
    memcpy(to + lane * 4, scale, sizeof *scale);
}

/* Numbers, scales and zero points of column j of W, from number k0 on, to a lane of a part. */
static void pack_lane(const layout *l, int64_t j, int64_t k0, char *to, int64_t lane) {
  const blocks *w = &l->w;
  const uint8_t *b = (const uint8_t *)w->b->data + j * blocks_row_bytes(w) + k0 * w->bits / 8;
  const int64_t depth = tn_min_i64(DEPTH, w->n_blocks * w->block - k0);
  for (int64_t k = 0; k < depth; k += 8) pack_unit(l, b, k, to, lane);
  for (int64_t k = 0; k < depth; k += l->block) {
    const int64_t block = (k0 + k) / w->block;
    store_scale(l, j * w->n_blocks + block, to + l->units_bytes + k / l->block * l->scale_bytes,
                lane);
    if (w->zeros)
      *(int8_t *)(to + l->zeros_at + k / l->block * LANES + lane) =
          (int8_t)(blocks_zero(w, j, block) - blocks_middle(w));
  }
}

static char *part_at(const layout *l, char *state, int64_t panel, int64_t part) {
  return state + (panel * l->parts + part) * l->part_bytes;
}

/* f16 would hold all scales. */
static bool are_half(const tn_tensor *scales) {
  enum { AT_ONCE = 256 };
  uint16_t half[AT_ONCE];
  float back[AT_ONCE];
  const float *x = scales->data;
  const int64_t n = tn_elements(scales);
  if (scales->dtype == TN_F16) return true;
  for (int64_t k = 0; k < n; k += AT_ONCE) {
    const int64_t m = tn_min_i64(AT_ONCE, n - k);
    tn_narrow_f16(x + k, half, m);
    tn_widen_f16(half, back, m);
    if (memcmp(x + k, back, (size_t)m * sizeof *x) != 0) return false;
  }
  return true;
}

/* The state begins with whether its scales are f16. */
static tn_status prepare(const tn_call *call) {
  const bool half_scales = are_half(call->inputs[2]);
  layout l;
  const tn_status s = layout_make(call, half_scales, &l);
  if (s) return s;
  char *state = (char *)call->state + STATE_HEAD;
  memset(call->state, 0, STATE_HEAD + (size_t)(STREAMS * l.stream_bytes));
  *(uint8_t *)call->state = half_scales;
  for (int64_t j = 0; j < l.w.n; j++)
    for (int64_t part = 0; part < l.parts; part++)
      pack_lane(&l, j, part * DEPTH, part_at(&l, state, j / LANES, part), j % LANES);
  return TN_OK;
}

/* W as it was, of column j. */
static double weight(const layout *l, const char *state, int64_t j, int64_t k) {
  const int64_t lane = j % LANES, in = k % DEPTH, block = in / l->block;
  const char *part = state + (j / LANES * l->parts + k / DEPTH) * l->part_bytes;
  const bool is_4 = l->w.bits == 4;
  const int32_t byte = (uint8_t)part[in / (is_4 ? 8 : 4) * UNIT + lane * 4 + in % 4],
                number = is_4 ? byte >> in % 8 / 4 * 4 & 15 : byte ^ (TN_QUADS_SIGNED ? 0x80 : 0);
  const int32_t zero = l->zeros_at ? (int8_t)part[l->zeros_at + block * LANES + lane] : 0;
  const double scale = tn_load_f64(l->half_scales ? TN_F16 : TN_F32,
                                   part + l->units_bytes + block * l->scale_bytes, lane);
  return (number - blocks_middle(&l->w) - zero) * scale;
}

static float slow_sum(const layout *l, const char *state, int64_t row, int64_t j) {
  const float *a = (const float *)l->w.a->data + row * l->w.k;
  double sum = 0;
  for (int64_t k = 0; k < l->w.k; k++) sum += a[k] * weight(l, state, j, k);
  return (float)sum;
}

/* ---- digits of A ---- */

typedef int8_t lane_bytes __attribute__((vector_size(LANES)));

/* Takes the lowest digit off v. */
static inline tn_vi lowest(tn_vi *v) {
  const tn_vi d = *v << 24 >> 24;
  *v = (*v - d) >> 8;
  return d;
}

/* What numbers of at most `most` (as bits) are multiplied by, and what takes that back: of three
 * digits, powers of two. 0 and NaN: there is none. */
static void scales_of(uint32_t most, bool is_one, float *out_factor, float *out_unit) {
  enum { LEAST = 24 << 23, ALMOST_TWO = 1 << 17 }; /* 127/64 and up would need another bit */
  const uint32_t exponent = most ? (most + ALMOST_TWO) >> 23 : 127;
  if (most >= 0x7f800000u || (most && most < LEAST)) {
    *out_factor = 0;
    *out_unit = tn_f32_of_bits(0x7fc00000u);
  } else if (is_one && most) {
    *out_factor = 127 / tn_f32_of_bits(most);
    *out_unit = tn_f32_of_bits(most) / 127;
  } else {
    *out_factor = tn_f32_of_bits((127 + 22 + 127 - exponent) << 23);
    *out_unit = tn_f32_of_bits((exponent - 22) << 23);
  }
}

/* A step of one row; behind the digits of `rows` rows stand -8 (-128) times the sums of digits,
 * units, and minus the sums of numbers. */
static void make_step(const layout *l, const float *x, int64_t rows, int32_t *to) {
  int8_t digits[DIGITS][32];
  tn_vi sum[DIGITS] = {{0}};
  const int64_t step = l->step, n = l->digits;
  const int32_t middle = l->w.bits == 8 && TN_QUADS_SIGNED ? 0 : blocks_middle(&l->w);
  uint32_t most = 0;
  float factor, unit, total = 0;
  for (int64_t k = 0; k < step; k++) {
    const uint32_t bits = tn_bits_of_f32(x[k]) & 0x7fffffffu;
    most = bits > most ? bits : most;
  }
  scales_of(most, n == 1, &factor, &unit);
  for (int64_t k = 0; k < step; k += LANES) {
    tn_vi v = {0};
    if (factor != 0) v = tn_vi_round(tn_vf_mul(tn_vf_load(x + k), tn_vf_set1(factor)));
    for (int64_t p = n - 1; p >= 0; p--) {
      const tn_vi d = lowest(&v);
      const lane_bytes bytes = __builtin_convertvector(d, lane_bytes);
      memcpy(digits[p] + k, &bytes, sizeof bytes);
      sum[p] += d;
    }
  }
  for (int64_t q = 0; q < step / 4; q++)
    for (int64_t p = 0; p < n; p++) memcpy(to + (q * n + p) * rows, digits[p] + 4 * q, sizeof *to);
  to += step / 4 * n * rows;
  for (int64_t p = 0; p < n; p++) {
    const float all = tn_vf_sum(tn_vf_of_int(sum[p]));
    to[p * rows] = -middle * (int32_t)all;
    total = total * 256 + all;
  }
  total *= -unit;
  memcpy(to + n * rows, &unit, sizeof unit);
  memcpy(to + (n + 1) * rows, &total, sizeof total);
}

/* Item: a part of a chunk of rows. */
static void make_digits(const layout *l, int64_t item, int32_t *digits) {
  const int64_t chunk = item / l->parts, part = item % l->parts, first = chunk_row(l, chunk),
                rows = chunk_row(l, chunk + 1) - first, steps = DEPTH / l->step;
  int32_t *to = digits + first * l->row_ints + part * steps * l->step_ints * rows;
  for (int64_t t = 0; t < steps; t++, to += l->step_ints * rows) {
    const int64_t k = part * DEPTH + t * l->step, n = tn_min_i64(l->step, l->w.k - k);
    for (int64_t r = 0; r < rows; r++) {
      const float *a = (const float *)l->w.a->data + (first + r) * l->w.k;
      float room[32] = {0};
      if (n > 0 && n < l->step) memcpy(room, a + k, (size_t)n * sizeof *a);
      make_step(l, n < l->step ? room : a + k, rows, to + r);
    }
  }
}

/* ---- products ---- */

/* What the sums of a step, [digit] with `from` still to be added, come to. */
static inline tn_vf step_value(const tn_quads_sums *s, int digits, const int32_t *from,
                               int64_t stride) {
  const tn_vi s0 = tn_quads_sum_end(s[0], from[0]);
  if (digits == 1) return tn_vf_of_int(s0);
  const tn_vi s1 = tn_quads_sum_end(s[1], from[stride]),
              s2 = tn_quads_sum_end(s[2], from[2 * stride]);
  /* below 2^24: no rounding before the last */
  return tn_vf_fma(tn_vf_of_int((s0 << 8) + s1), tn_vf_set1(256), tn_vf_of_int(s2));
}

static inline tn_vf scale_at(const layout *l, const char *part, int64_t block) {
  const void *p = part + l->units_bytes + block * l->scale_bytes;
  return l->half_scales ? tn_vf_load_f16(p) : tn_vf_load(p);
}

/* Numbers 0-3 and 4-7 of a unit. */
static inline tn_quads quads_first(tn_quads v, int bits) { return bits == 4 ? tn_quads_low(v) : v; }
static inline tn_quads quads_second(const char *unit, int bits) {
  return bits == 4 ? tn_quads_high(tn_quads_load(unit)) : tn_quads_load(unit + UNIT);
}

/* y[s][r][lane] += sum over k of a[r][k] * W[s][lane][k] for ROWS rows and WIDE streams, of numbers
 * of N_DIGITS digits. */
#define BLOCK_DOTS(BITS, N_DIGITS, ROWS, WIDE, STEP)                                        \
  static void dots_##BITS##_##N_DIGITS##_##ROWS##_##STEP(const layout *l, const char *part, \
                                                         const int32_t *x, float *y) {      \
    const int64_t stream = l->stream_bytes, ahead = AHEAD * l->part_bytes;                  \
    for (int64_t left = l->parts; left > 0; left--, part += l->part_bytes) {                \
      const char *unit = part;                                                              \
      for (int64_t t = 0; t < DEPTH / STEP; t++) {                                          \
        tn_quads_sums acc[WIDE][ROWS][N_DIGITS];                                            \
        const int32_t *from = x + STEP / 4 * N_DIGITS * ROWS;                               \
        TN_UNROLL for (int s = 0; s < WIDE; s++) TN_UNROLL for (int r = 0; r < ROWS; r++)   \
            TN_UNROLL for (int p = 0; p < N_DIGITS; p++) acc[s][r][p] =                     \
                tn_quads_sum_begin(from[p * ROWS + r]);                                     \
        TN_UNROLL for (int u = 0; u < STEP / 8; u++, unit += BITS / 4 * UNIT) {             \
          tn_quads half[WIDE];                                                              \
          TN_UNROLL for (int s = 0; s < WIDE; s++) {                                        \
            half[s] = quads_first(tn_quads_load(unit + s * stream), BITS);                  \
            tn_prefetch_l1(unit + s * stream + ahead);                                      \
            if (BITS == 8) tn_prefetch_l1(unit + s * stream + ahead + UNIT);                \
          }                                                                                 \
          TN_UNROLL for (int q = 0; q < N_DIGITS * ROWS; q++, x++) {                        \
            const tn_quads d = tn_quads_set1(*x);                                           \
            TN_UNROLL for (int s = 0; s < WIDE; s++)                                        \
                TN_QUADS_DOT(acc[s][q % ROWS][q / ROWS], half[s], d);                       \
          }                                                                                 \
          TN_UNROLL for (int s = 0; s < WIDE; s++) half[s] =                                \
              quads_second(unit + s * stream, BITS);                                        \
          TN_UNROLL for (int q = 0; q < N_DIGITS * ROWS; q++, x++) {                        \
            const tn_quads d = tn_quads_set1(*x);                                           \
            TN_UNROLL for (int s = 0; s < WIDE; s++)                                        \
                TN_QUADS_DOT(acc[s][q % ROWS][q / ROWS], half[s], d);                       \
          }                                                                                 \
        }                                                                                   \
        const float *units = (const float *)(const void *)(from + N_DIGITS * ROWS);         \
        const int64_t block = t >> l->steps_per_block_log2;                                 \
        TN_UNROLL for (int s = 0; s < WIDE; s++) {                                          \
          const char *p = part + s * stream;                                                \
          const tn_vf scale = scale_at(l, p, block);                                        \
          tn_prefetch_l1(p + ahead + l->units_bytes + block * l->scale_bytes);              \
          TN_UNROLL for (int r = 0; r < ROWS; r++) {                                        \
            float *to = y + (s * ROWS + r) * LANES;                                         \
            tn_vf v = step_value(acc[s][r], N_DIGITS, from + r, ROWS);                      \
            v = tn_vf_mul(v, tn_vf_set1(units[r]));                                         \
            if (l->zeros_at)                                                                \
              v = tn_vf_fma(tn_vf_load_i8((const int8_t *)p + l->zeros_at + block * LANES), \
                            tn_vf_set1(units[ROWS + r]), v);                                \
            tn_vf_store(to, tn_vf_fma(v, scale, tn_vf_load(to)));                           \
          }                                                                                 \
        }                                                                                   \
        x = from + (N_DIGITS + 2) * ROWS;                                                   \
      }                                                                                     \
    }                                                                                       \
  }
typedef void (*dots_fn)(const layout *l, const char *part, const int32_t *x, float *y);

/* By digits and step, then by rows. All chunks of a call have as many streams: there is one of one
 * row, or all have more. */
#define BLOCK_DOTS_BOTH(ROWS, WIDE) \
  BLOCK_DOTS(4, 3, ROWS, WIDE, 16) BLOCK_DOTS(4, 3, ROWS, WIDE, 32)
#if TN_QUADS_LARGE_SUMS
#define WIDE_1 1
#define WIDE_MORE 1
BLOCK_DOTS_BOTH(1, 1)
BLOCK_DOTS_BOTH(2, 1)
BLOCK_DOTS(4, 1, 2, 1, 32)
BLOCK_DOTS(4, 1, 3, 1, 32)
BLOCK_DOTS(4, 1, 4, 1, 32)
static const dots_fn dots_16[CHUNK + 1] = {NULL, dots_4_3_1_16, dots_4_3_2_16},
                                     dots_32[CHUNK + 1] = {NULL, dots_4_3_1_32, dots_4_3_2_32},
                                     dots_quick[QUICK_CHUNK + 1] = {NULL, NULL, dots_4_1_2_32,
                                                                    dots_4_1_3_32, dots_4_1_4_32};
#else
#if TN_VF_REGISTERS == 32
#define WIDE_1 4
#define WIDE_MORE 2
#else
#define WIDE_1 2
#define WIDE_MORE 1
#endif
BLOCK_DOTS_BOTH(1, WIDE_1)
BLOCK_DOTS_BOTH(2, WIDE_MORE)
BLOCK_DOTS_BOTH(3, WIDE_MORE)
BLOCK_DOTS_BOTH(4, WIDE_MORE)
BLOCK_DOTS(4, 1, 4, WIDE_MORE, 32)
BLOCK_DOTS(4, 1, 5, WIDE_MORE, 32)
BLOCK_DOTS(4, 1, 6, WIDE_MORE, 32)
BLOCK_DOTS(4, 1, 7, WIDE_MORE, 32)
BLOCK_DOTS(4, 1, 8, WIDE_MORE, 32)
static const dots_fn dots_16[CHUNK + 1] = {NULL, dots_4_3_1_16, dots_4_3_2_16, dots_4_3_3_16,
                                           dots_4_3_4_16},
                                     dots_32[CHUNK + 1] = {NULL, dots_4_3_1_32, dots_4_3_2_32,
                                                           dots_4_3_3_32, dots_4_3_4_32},
                                     dots_quick[QUICK_CHUNK + 1] = {
                                         NULL,          NULL,          NULL,
                                         NULL,          dots_4_1_4_32, dots_4_1_5_32,
                                         dots_4_1_6_32, dots_4_1_7_32, dots_4_1_8_32};
#endif

/* 8 bits: sums of i16 would not hold two products. */
#if TN_QUADS_SUMS_32
BLOCK_DOTS(8, 3, 1, WIDE_1, 32)
BLOCK_DOTS(8, 3, 2, WIDE_MORE, 32)
BLOCK_DOTS(8, 3, 3, WIDE_MORE, 32)
BLOCK_DOTS(8, 3, 4, WIDE_MORE, 32)
BLOCK_DOTS(8, 1, 4, WIDE_MORE, 32)
BLOCK_DOTS(8, 1, 5, WIDE_MORE, 32)
BLOCK_DOTS(8, 1, 6, WIDE_MORE, 32)
BLOCK_DOTS(8, 1, 7, WIDE_MORE, 32)
BLOCK_DOTS(8, 1, 8, WIDE_MORE, 32)
static const dots_fn dots_8[CHUNK + 1] = {NULL, dots_8_3_1_32, dots_8_3_2_32, dots_8_3_3_32,
                                          dots_8_3_4_32},
                                    dots_8_quick[QUICK_CHUNK + 1] = {
                                        NULL,          NULL,          NULL,
                                        NULL,          dots_8_1_4_32, dots_8_1_5_32,
                                        dots_8_1_6_32, dots_8_1_7_32, dots_8_1_8_32};
#endif

static const dots_fn *dots_of(const layout *l) {
#if TN_QUADS_SUMS_32
  if (l->w.bits == 8) return l->digits == 1 ? dots_8_quick : dots_8;
#endif
  return l->digits == 1 ? dots_quick : l->step == 32 ? dots_32 : dots_16;
}

static void finish(const tn_call *call, const layout *l, int64_t row, int64_t j,
                   const float *from) {
  const int64_t n = tn_min_i64(LANES, l->w.n - j), at = row * l->w.n + j;
  if (n <= 0) return;
  const tn_vf v = tn_vf_load(from);
  const tn_vf_mask kept = tn_vf_mask_first(n);
  float *y = (float *)call->outputs[0]->data + at;
  tn_vf_store_mask(y, kept, v);
  if (tn_vf_sum(tn_vf_mul(v, tn_vf_set1(0))) != 0)
    for (int64_t c = 0; c < n; c++)
      if (!isfinite(y[c])) y[c] = slow_sum(l, (const char *)call->state + STATE_HEAD, row, j + c);
  if (l->w.bias) {
    const float *bias = (const float *)l->w.bias->data + j;
    tn_vf_store_mask(y, kept, tn_vf_add(tn_vf_load_mask(kept, y), tn_vf_load_mask(kept, bias)));
  }
  if (call->n_epilogue) tn_epilogue_f32(call, y, n, at, j, 1);
}

/* Item: panel `item` of each stream, and a block of rows. */
static void run_item(const tn_call *call, const layout *l, int64_t item) {
  const dots_fn *dots = dots_of(l);
  const int64_t panel = item % l->panels, c0 = item / l->panels * l->block_chunks,
                c1 = tn_min_i64(l->chunks, c0 + l->block_chunks);
  const int64_t wide = l->w.m == 1 ? WIDE_1 : WIDE_MORE;
  const char *weights = (const char *)call->state + STATE_HEAD + panel * l->parts * l->part_bytes;
  for (int64_t s = 0; s < STREAMS; s += wide)
    for (int64_t c = c0; c < c1; c++) {
      const int64_t first = chunk_row(l, c), rows = chunk_row(l, c + 1) - first;
      float y[STREAMS * QUICK_CHUNK * LANES] = {0};
      dots[rows](l, weights + s * l->stream_bytes,
                 (const int32_t *)call->scratch + first * l->row_ints, y);
      for (int64_t k = 0; k < wide * rows; k++)
        finish(call, l, first + k % rows, ((s + k / rows) * l->panels + panel) * LANES,
               y + k * LANES);
    }
}

#if !TN_QUADS_SUMS_32
#include "many_rows_simd.h"
#endif

/* ---- the kernel ---- */

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  layout l;
  const tn_status s = layout_make(call, call->inputs[2]->dtype == TN_F16, &l);
  if (s) return s;
  out->state_bytes = STATE_HEAD + (uint64_t)(STREAMS * l.stream_bytes);
#if !TN_QUADS_SUMS_32
  if (are_many(&l)) return many_plan(call, &l, out);
#endif
  return digits_plan(call, &l, out);
}

static void run_stage(const tn_call *call, const layout *l, uint32_t stage, int64_t item,
                      uint32_t worker) {
#if !TN_QUADS_SUMS_32
  void *room = (char *)call->worker_scratch + worker * call->worker_scratch_bytes;
  if (are_many(l)) {
    if (stage == 0)
      pack_strip(call, l, item);
    else
      many_item(call, l, item, room);
    return;
  }
#endif
  (void)worker;
  if (stage == 0)
    make_digits(l, item, call->scratch);
  else
    run_item(call, l, item);
}

/* Of 8 bits, what there are sums for. */
static const char *refuse(const tn_call *call) {
  const tn_block_mat_mul_attrs *a = call->attrs;
  if (a->bits == 8 && !TN_QUADS_SUMS_32)
    return "weights of 8 bits need dot products of bytes: VNNI, or those of NEON";
  if (a->bits == 8 && a->block_size < 32) return "blocks of 8 bits are of 32 or more";
  return block_matmul_refuse(call);
}

const char *TN_SIMD_NAME(block_matmul_refuse)(const tn_call *call) { return refuse(call); }
tn_status TN_SIMD_NAME(block_matmul_plan)(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, out);
}
tn_status TN_SIMD_NAME(block_matmul_prepare)(const tn_call *call) { return prepare(call); }
tn_status TN_SIMD_NAME(block_matmul)(const tn_call *call, uint32_t stage, int64_t begin,
                                     int64_t end, uint32_t worker) {
  layout l;
  const tn_status s = layout_make(call, *(const uint8_t *)call->state, &l);
  for (int64_t item = begin; !s && item < end; item++) run_stage(call, &l, stage, item, worker);
  return s;
}
