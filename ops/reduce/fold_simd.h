/* Folds of f32 in vectors, for reduce_simd.h and arg_simd.h: what an output is made of lies either
 * in runs of neighbours (four vectors take turns, so that no step waits for the one before it), or
 * in rows whose columns are folded side by side. f32 holds the sum of at most CHUNK terms per lane
 * before it goes to a second level. */
#ifndef TN_OPS_REDUCE_FOLD_SIMD_H
#define TN_OPS_REDUCE_FOLD_SIMD_H

#include <math.h>

#include "reduction.h"
#include "tenon/kit/simd_math.h"

enum {
  CHUNK = 4096,
  PARTS = 4,
  COLUMNS = 64,
  WIDE = COLUMNS / TN_VF_LANES,
  LEVEL = 512,
  GATHERED = 4
};

typedef enum fold_op {
  FOLD_SUM,
  FOLD_ABS,
  FOLD_SQUARE,
  FOLD_PROD,
  FOLD_MAX,
  FOLD_MIN,
  FOLD_EXP /* the sum of e^(x - shift) */
} fold_op;

/* The operation is a constant where these are used: each use becomes a loop of its own. */
#define FOLD_INLINE static inline __attribute__((always_inline, unused))

/* What a fold begins with. */
FOLD_INLINE float fold_start(fold_op op) {
  return op == FOLD_PROD ? 1 : op == FOLD_MAX ? -INFINITY : op == FOLD_MIN ? INFINITY : 0;
}

/* A term that changes nothing. */
FOLD_INLINE float fold_nothing(fold_op op) { return op == FOLD_EXP ? -INFINITY : fold_start(op); }

FOLD_INLINE tn_vf fold_step(fold_op op, tn_vf a, tn_vf v, tn_vf shift) {
  switch (op) {
    case FOLD_SUM: return tn_vf_add(a, v);
    case FOLD_ABS: return tn_vf_add(a, tn_vf_max(tn_vf_sub(tn_vf_set1(0), v), v));
    case FOLD_SQUARE: return tn_vf_fma(v, v, a);
    case FOLD_PROD: return tn_vf_mul(a, v);
    case FOLD_MAX: return tn_vf_max_or_nan(a, v);
    case FOLD_MIN: return tn_vf_min_or_nan(a, v);
    default: return tn_vf_add(a, tn_vf_exp_weight(tn_vf_sub(v, shift)));
  }
}

/* Two partial results as one. */
FOLD_INLINE tn_vf fold_join(fold_op op, tn_vf a, tn_vf b) {
  return op == FOLD_PROD || op == FOLD_MAX || op == FOLD_MIN ? fold_step(op, a, b, a)
                                                             : tn_vf_add(a, b);
}

FOLD_INLINE double fold_join_one(fold_op op, double a, double b) {
  switch (op) {
    case FOLD_PROD: return a * b;
    case FOLD_MAX: return b > a || isnan(b) ? b : a;
    case FOLD_MIN: return b < a || isnan(b) ? b : a;
    default: return a + b;
  }
}

FOLD_INLINE void fold_begin(fold_op op, tn_vf *part, int n) {
  TN_UNROLL for (int k = 0; k < n; k++) part[k] = tn_vf_set1(fold_start(op));
}

/* ---- runs of neighbours ---- */

FOLD_INLINE void fold_run(fold_op op, tn_vf part[PARTS], const float *x, int64_t n, tn_vf shift) {
  int64_t i = 0;
  for (; i + PARTS * TN_VF_LANES <= n; i += PARTS * TN_VF_LANES)
    TN_UNROLL for (int k = 0; k < PARTS; k++) part[k] =
        fold_step(op, part[k], tn_vf_load(x + i + k * TN_VF_LANES), shift);
  for (; i + TN_VF_LANES <= n; i += TN_VF_LANES)
    part[0] = fold_step(op, part[0], tn_vf_load(x + i), shift);
  if (i == n) return;
  const tn_vf_mask has = tn_vf_mask_first(n - i), all = tn_vf_mask_first(TN_VF_LANES);
  const tn_vf pad = tn_vf_keep(tn_vf_mask_and_not(all, has), tn_vf_set1(fold_nothing(op)));
  part[1] = fold_step(op, part[1], tn_vf_join(pad, has, x + i), shift);
}

FOLD_INLINE double fold_lanes(fold_op op, const tn_vf part[PARTS]) {
  const tn_vf v = fold_join(op, fold_join(op, part[0], part[1]), fold_join(op, part[2], part[3]));
  if (op != FOLD_PROD && op != FOLD_MAX && op != FOLD_MIN) return (double)tn_vf_sum(v);
  float lanes[TN_VF_LANES];
  tn_vf_store(lanes, v);
  double all = (double)lanes[0];
  for (int k = 1; k < TN_VF_LANES; k++) all = fold_join_one(op, all, (double)lanes[k]);
  return all;
}

/* All terms of one output; x: the first of them. */
FOLD_INLINE double fold_one(fold_op op, const runs *u, const float *x, float shift) {
  const tn_vf s = tn_vf_set1(shift);
  tn_vf part[PARTS];
  double total = (double)fold_start(op);
  int64_t held = 0;
  fold_begin(op, part, PARTS);
  for (int64_t k = 0; k < u->n; k++) {
    const float *from = x + walk_offset(&u->outer, k);
    for (int64_t j = 0; j < u->length; j += CHUNK) {
      const int64_t n = tn_min_i64(CHUNK, u->length - j);
      fold_run(op, part, from + j, n, s);
      if ((held += n) < CHUNK) continue;
      total = fold_join_one(op, total, fold_lanes(op, part));
      fold_begin(op, part, PARTS);
      held = 0;
    }
  }
  return fold_join_one(op, total, fold_lanes(op, part));
}

/* All terms of one output, at most CHUNK of them, as a vector yet to be folded. */
FOLD_INLINE tn_vf fold_short(fold_op op, const runs *u, const float *x, tn_vf shift) {
  tn_vf part[PARTS];
  fold_begin(op, part, PARTS);
  for (int64_t k = 0; k < u->n; k++)
    fold_run(op, part, x + walk_offset(&u->outer, k), u->length, shift);
  return fold_join(op, fold_join(op, part[0], part[1]), fold_join(op, part[2], part[3]));
}

/* The first `count` terms of each of TN_VF_LANES rows, `step` apart, as vectors: count is at most
 * TN_VF_LANES. */
FOLD_INLINE void fold_tiny(fold_op op, const float *x, int64_t count, int64_t step,
                           const float *shift, tn_vf v[TN_VF_LANES]) {
  const tn_vf_mask has = tn_vf_mask_first(count), all = tn_vf_mask_first(TN_VF_LANES);
  const tn_vf pad = tn_vf_keep(tn_vf_mask_and_not(all, has), tn_vf_set1(fold_nothing(op)));
  TN_UNROLL for (int k = 0; k < TN_VF_LANES; k++) v[k] = fold_step(
      op, tn_vf_set1(fold_start(op)), tn_vf_join(pad, has, x + k * step), tn_vf_set1(shift[k]));
}

/* n outputs of `count` neighbouring terms each: a lane is an output from the beginning. */
FOLD_INLINE tn_vf fold_gathered(fold_op op, const float *x, int64_t count, int64_t n,
                                const float *shift) {
  tn_vf v = tn_vf_set1(fold_start(op));
  tn_vu at;
  for (int k = 0; k < TN_VF_LANES; k++) at[k] = (uint32_t)(k * count);
  for (int64_t j = 0; j < count; j++)
    v = fold_step(op, v, tn_vf_gather(tn_vf_mask_first(n), x + j, at), tn_vf_load(shift));
  return v;
}

/* n <= TN_VF_LANES outputs from the position `first` of kept on, of at most CHUNK terms each: one
 * per lane. Their last folds, which take most of the time of short rows, are made together. */
FOLD_INLINE tn_vf fold_outputs(fold_op op, const runs *u, const walk *kept, const float *x,
                               int64_t first, int64_t n, const float *shift) {
#define FOLD_JOIN(a, b) fold_join(op, a, b)
  const bool rows = u->n == 1 && kept->rank == 1;
  tn_vf v[TN_VF_LANES];
  if (rows && u->length <= GATHERED && kept->strides[0] == u->length)
    return fold_gathered(op, x + first * u->length, u->length, n, shift);
  if (rows && u->length <= TN_VF_LANES && n == TN_VF_LANES)
    fold_tiny(op, x + first * kept->strides[0], u->length, kept->strides[0], shift, v);
  else
    for (int64_t k = 0; k < TN_VF_LANES; k++)
      v[k] = k < n ? fold_short(op, u, x + walk_offset(kept, first + k), tn_vf_set1(shift[k]))
                   : tn_vf_set1(0);
  TN_VF_FOLD_EACH(v, FOLD_JOIN);
  return v[0];
#undef FOLD_JOIN
}

/* ---- columns side by side ---- */

/* COLUMNS columns, all terms; shift: COLUMNS numbers. */
FOLD_INLINE void fold_wide(fold_op op, const runs *u, const float *x, const float *shift,
                           float *out) {
  tn_vf part[WIDE], total[WIDE];
  int64_t held = 0;
  fold_begin(op, part, WIDE);
  fold_begin(op, total, WIDE);
  for (int64_t k = 0; k < u->n; k++) {
    const float *from = x + walk_offset(&u->outer, k);
    for (int64_t j = 0; j < u->length; j++, from += u->stride) {
      TN_UNROLL for (int v = 0; v < WIDE; v++) part[v] = fold_step(
          op, part[v], tn_vf_load(from + v * TN_VF_LANES), tn_vf_load(shift + v * TN_VF_LANES));
      if (++held < LEVEL) continue;
      TN_UNROLL for (int v = 0; v < WIDE; v++) total[v] = fold_join(op, total[v], part[v]);
      fold_begin(op, part, WIDE);
      held = 0;
    }
  }
  TN_UNROLL for (int v = 0; v < WIDE; v++)
      tn_vf_store(out + v * TN_VF_LANES, fold_join(op, total[v], part[v]));
}

/* Loads of some lanes only take their time where there is no AVX-512. */
FOLD_INLINE tn_vf fold_load(bool all, tn_vf_mask has, const float *x) {
  return all ? tn_vf_load(x) : tn_vf_load_mask(has, x);
}

/* One vector of columns, of which n are there, all of them if `all`: rows take turns in four
 * vectors. */
FOLD_INLINE tn_vf fold_narrow(fold_op op, const runs *u, const float *x, tn_vf shift, bool all,
                              int64_t n) {
  const tn_vf_mask has = tn_vf_mask_first(n);
  tn_vf part[PARTS], total = tn_vf_set1(fold_start(op));
  int64_t held = 0;
  fold_begin(op, part, PARTS);
  for (int64_t k = 0; k < u->n; k++) {
    const float *from = x + walk_offset(&u->outer, k);
    int64_t j = 0;
    for (; j + PARTS <= u->length; j += PARTS, from += PARTS * u->stride) {
      TN_UNROLL for (int p = 0; p < PARTS; p++) part[p] =
          fold_step(op, part[p], fold_load(all, has, from + p * u->stride), shift);
      if (++held < LEVEL) continue;
      for (int p = 0; p < PARTS; p++) total = fold_join(op, total, part[p]);
      fold_begin(op, part, PARTS);
      held = 0;
    }
    for (; j < u->length; j++, from += u->stride)
      part[0] = fold_step(op, part[0], fold_load(all, has, from), shift);
  }
  total = fold_join(op, total, fold_join(op, part[0], part[1]));
  return fold_join(op, total, fold_join(op, part[2], part[3]));
}

/* n <= COLUMNS neighbouring outputs into out; shift, out: room for COLUMNS numbers. */
FOLD_INLINE void fold_columns(fold_op op, const runs *u, const float *x, int64_t n,
                              const float *shift, float *out) {
  if (n == COLUMNS) {
    fold_wide(op, u, x, shift, out);
    return;
  }
  int64_t c = 0;
  for (; c + TN_VF_LANES <= n; c += TN_VF_LANES)
    tn_vf_store(out + c, fold_narrow(op, u, x + c, tn_vf_load(shift + c), true, TN_VF_LANES));
  if (c < n) tn_vf_store(out + c, fold_narrow(op, u, x + c, tn_vf_load(shift + c), false, n - c));
}

#endif
