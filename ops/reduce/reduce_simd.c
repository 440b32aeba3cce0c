/* Reductions of f32 in vectors: the whole of reduce_avx512.c, reduce_avx2.c and reduce_neon.c. An
 * item is up to COLUMNS neighbouring outputs where the innermost dim is kept, else one output. */
#include <string.h>

#include "fold_simd.h"

tn_status TN_SIMD_NAME(reduce_plan)(const tn_call *call, tn_kernel_plan *out) {
  reduction r;
  tn_status s = reduction_make(call, &r);
  if (s) return s;
  const int64_t row = r.inner_kept ? r.kept.dims[r.kept.rank - 1] : 1,
                blocks = tn_ceil_div(row, COLUMNS), each = tn_min_i64(row, COLUMNS);
  out->items[0] = r.kept.size / row * blocks;
  out->elements_per_item = row % each ? 0 : each;
  out->grain[0] = tn_grain(16000, (double)each * (double)r.summed.size);
  const double output = r.inner_kept ? 0 : 1;
  out->cost_ns = (double)r.kept.size * ((double)r.summed.size / 8 + output) + 150;
  return TN_OK;
}

/* Two passes, with an exponential of each term and a logarithm in f64 of each output. */
tn_status TN_SIMD_NAME(reduce_log_sum_exp_plan)(const tn_call *call, tn_kernel_plan *out) {
  reduction r;
  tn_status s = reduction_make(call, &r);
  if (!s) s = TN_SIMD_NAME(reduce_plan)(call, out);
  if (s) return s;
  const double each = (double)r.summed.size * 7 / TN_VF_LANES + 10;
  out->cost_ns = (double)r.kept.size * each + 150;
  out->grain[0] = tn_grain(16000, out->cost_ns / (double)tn_max_i64(1, out->items[0]));
  return TN_OK;
}

/* What becomes of a folded value. */
typedef enum done { DONE_SAME, DONE_MEAN, DONE_ROOT, DONE_LOG } done;

static float finish_one(done d, double v, int64_t n) {
  switch (d) {
    case DONE_MEAN: return (float)(v / (double)n);
    case DONE_ROOT: return (float)sqrt(v);
    case DONE_LOG: return (float)log(v);
    default: return (float)v;
  }
}

/* The first `columns` of v; n: terms of each. */
FOLD_INLINE void finish_columns(done d, float *v, int columns, int64_t n) {
  switch (d) {
    case DONE_MEAN: TN_IVDEP for (int k = 0; k < columns; k++) v[k] /= (float)n; break;
    case DONE_ROOT: TN_IVDEP for (int k = 0; k < columns; k++) v[k] = sqrtf(v[k]); break;
    case DONE_LOG: TN_IVDEP for (int k = 0; k < columns; k++) v[k] = tn_log_f32(v[k]); break;
    default: break;
  }
}

/* Outputs of an item, where the innermost dim is kept. */
typedef struct place {
  int64_t first, n;
} place;

static place place_of(const reduction *r, int64_t item) {
  const int64_t row = r->kept.dims[r->kept.rank - 1], blocks = tn_ceil_div(row, COLUMNS),
                at = item % blocks * COLUMNS;
  return (place){item / blocks * row + at, tn_min_i64(COLUMNS, row - at)};
}

/* Outputs of neighbours of the input that are too long for fold_outputs, one after the other. */
FOLD_INLINE void reduce_long(fold_op op, done d, const reduction *r, const runs *u, const float *x,
                             int64_t begin, int64_t end, float *y) {
  for (int64_t item = begin; item < end; item++)
    y[item] = finish_one(d, fold_one(op, u, x + walk_offset(&r->kept, item), 0), r->summed.size);
}

FOLD_INLINE void reduce_short(fold_op op, done d, const reduction *r, const runs *u, const float *x,
                              int64_t begin, int64_t end, float *y) {
  static const float no_shift[TN_VF_LANES];
  float v[TN_VF_LANES];
  for (int64_t item = begin; item < end; item += TN_VF_LANES) {
    const int64_t n = tn_min_i64(TN_VF_LANES, end - item);
    tn_vf_store(v, fold_outputs(op, u, &r->kept, x, item, n, no_shift));
    finish_columns(d, v, TN_VF_LANES, r->summed.size);
    memcpy(y + item, v, (size_t)n * sizeof *y);
  }
}

FOLD_INLINE void reduce_columns(fold_op op, done d, const reduction *r, const runs *u,
                                const float *x, int64_t begin, int64_t end, float *y) {
  float v[COLUMNS] = {0};
  for (int64_t item = begin; item < end; item++) {
    const place p = place_of(r, item);
    fold_columns(op, u, x + walk_offset(&r->kept, p.first), p.n, v, v);
    finish_columns(d, v, COLUMNS, r->summed.size);
    memcpy(y + p.first, v, (size_t)p.n * sizeof *y);
  }
}

/* One for each way to fold; what becomes of the values is decided when it runs. */
#define REDUCE_BY(op)                                                                     \
  static tn_status reduce_##op(const tn_call *call, int64_t begin, int64_t end, done d) { \
    reduction r;                                                                          \
    tn_status s = reduction_make(call, &r);                                               \
    if (s) return s;                                                                      \
    const runs u = runs_of(&r.summed);                                                    \
    const float *x = call->inputs[0]->data;                                               \
    float *y = call->outputs[0]->data;                                                    \
    if (r.inner_kept)                                                                     \
      reduce_columns(op, d, &r, &u, x, begin, end, y);                                    \
    else if (r.summed.size <= CHUNK)                                                      \
      reduce_short(op, d, &r, &u, x, begin, end, y);                                      \
    else                                                                                  \
      reduce_long(op, d, &r, &u, x, begin, end, y);                                       \
    return TN_OK;                                                                         \
  }
REDUCE_BY(FOLD_SUM)
REDUCE_BY(FOLD_PROD)
REDUCE_BY(FOLD_MAX)
REDUCE_BY(FOLD_MIN)
REDUCE_BY(FOLD_ABS)
REDUCE_BY(FOLD_SQUARE)

#define REDUCE(name, op, d)                                                                     \
  tn_status TN_SIMD_NAME(name)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                               uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                                  \
    return reduce_##op(call, begin, end, d);                                                    \
  }
REDUCE(reduce_sum_f32, FOLD_SUM, DONE_SAME)
REDUCE(reduce_mean_f32, FOLD_SUM, DONE_MEAN)
REDUCE(reduce_prod_f32, FOLD_PROD, DONE_SAME)
REDUCE(reduce_max_f32, FOLD_MAX, DONE_SAME)
REDUCE(reduce_min_f32, FOLD_MIN, DONE_SAME)
REDUCE(reduce_l1_f32, FOLD_ABS, DONE_SAME)
REDUCE(reduce_l2_f32, FOLD_SQUARE, DONE_ROOT)
REDUCE(reduce_sum_square_f32, FOLD_SQUARE, DONE_SAME)
REDUCE(reduce_log_sum_f32, FOLD_SUM, DONE_LOG)

/* ---- LogSumExp: the largest term is taken off first; infinite or NaN, it is the result ---- */

static float log_sum_exp_one(const runs *u, const float *x) {
  const float top = (float)fold_one(FOLD_MAX, u, x, 0);
  if (!isfinite(top)) return top;
  return (float)((double)top + log(fold_one(FOLD_EXP, u, x, top)));
}

static void log_sum_exp_finish(const float *top, const float *sum, int64_t n, float *y) {
  for (int64_t k = 0; k < n; k++)
    y[k] = isfinite(top[k]) ? (float)((double)top[k] + log((double)sum[k])) : top[k];
}

static void log_sum_exp_short(const reduction *r, const runs *u, const float *x, int64_t item,
                              int64_t n, float *y) {
  float top[TN_VF_LANES] = {0}, sum[TN_VF_LANES];
  tn_vf_store(top, fold_outputs(FOLD_MAX, u, &r->kept, x, item, n, top));
  tn_vf_store(sum, fold_outputs(FOLD_EXP, u, &r->kept, x, item, n, top));
  log_sum_exp_finish(top, sum, n, y);
}

static void log_sum_exp_columns(const runs *u, const float *x, float *y, int64_t n) {
  float top[COLUMNS] = {0}, sum[COLUMNS] = {0};
  fold_columns(FOLD_MAX, u, x, n, sum, top);
  fold_columns(FOLD_EXP, u, x, n, top, sum);
  log_sum_exp_finish(top, sum, n, y);
}

tn_status TN_SIMD_NAME(reduce_log_sum_exp_f32)(const tn_call *call, uint32_t stage, int64_t begin,
                                               int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  reduction r;
  tn_status s = reduction_make(call, &r);
  if (s) return s;
  const runs u = runs_of(&r.summed);
  const float *x = call->inputs[0]->data;
  float *y = call->outputs[0]->data;
  const bool is_short = !r.inner_kept && r.summed.size <= CHUNK;
  for (int64_t item = begin; item < end; item += is_short ? TN_VF_LANES : 1) {
    if (is_short) {
      log_sum_exp_short(&r, &u, x, item, tn_min_i64(TN_VF_LANES, end - item), y + item);
    } else if (r.inner_kept) {
      const place p = place_of(&r, item);
      log_sum_exp_columns(&u, x + walk_offset(&r.kept, p.first), y + p.first, p.n);
    } else {
      y[item] = log_sum_exp_one(&u, x + walk_offset(&r.kept, item));
    }
  }
  return TN_OK;
}
