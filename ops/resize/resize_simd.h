/* Resize of elements of four bytes in vectors: rows are mixed lane by lane; along a row, the
 * elements of a vector are picked from the vectors that hold them, by prepared numbers, or slices
 * of channels are mixed as rows are. */
#ifndef TN_RESIZE_RESIZE_SIMD_H
#define TN_RESIZE_RESIZE_SIMD_H

#include "resize_any.h"
#include "tenon/kit/simd.h"

#include "resize.gen.h"

#define RESIZE_INLINE static inline __attribute__((always_inline))

static const char *too_wide(const tn_call *call) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t n = 1;
  for (int32_t k = 1; k < in->rank; k++) {
    const int64_t dim = tn_max_i64(in->shape[k], out->shape[k]);
    if (dim > INT32_MAX / n) return "takes less than 2^31 elements per batch";
    n = tn_max_i64(1, n * dim);
  }
  return in->rank > 1 ? NULL : "takes ranks from 2 on";
}

const char *TN_SIMD_NAME(resize_nearest_refuse)(const tn_call *call) {
  const char *no = resize_nearest_refuse(call);
  return no ? no : too_wide(call);
}

const char *TN_SIMD_NAME(resize_mixed_refuse)(const tn_call *call) {
  const char *no = resize_mixed_refuse(call);
  return no ? no : too_wide(call);
}

tn_status TN_SIMD_NAME(resize_prepare)(const tn_call *call) {
  return resize_rows_prepare(call, TN_VF_LANES);
}

/* ---- along a row ---- */

/* What a vector of places is made of. loads and taps are constants where this is used, or taps is
 * any (0). */
RESIZE_INLINE void row_vectors(const resize_state *st, const float *row, int32_t loads,
                               int64_t taps, bool weighs, int64_t copies, float *out) {
  const resize_lanes *t = &st->lanes;
  const int64_t n = resize_row_out(st), in = resize_row_in(st);
  const tn_vf_mask all = tn_vf_mask_first(TN_VF_LANES);
  tn_vf_mask has[4]; /* what the input row has for the loads */
  for (int k = 0; k < 4; k++)
    has[k] = tn_vf_mask_first(tn_max_i64(0, tn_min_i64(TN_VF_LANES, in - k * TN_VF_LANES)));
  const uint32_t *at = t->at;
  const float *w = t->weight;
  if (!taps) taps = st->tables[st->last].taps;
  for (int64_t i = 0; i * TN_VF_LANES < n; i++) {
    const float *from = row + t->first[i];
    const tn_vf_mask live = tn_vf_mask_first(tn_min_i64(TN_VF_LANES, n - i * TN_VF_LANES));
    tn_vf x[4], sum = tn_vf_set1(0);
    TN_UNROLL for (int k = 0; k < loads; k++) x[k] =
        tn_vf_load_mask(has[k], from + k * TN_VF_LANES);
    for (int64_t k = 0; k < taps; k++, at += TN_VF_LANES, w += TN_VF_LANES) {
      tn_vu places;
      memcpy(&places, at, sizeof places);
      const tn_vf v = loads == 1   ? tn_vf_pick(x[0], places)
                      : loads == 2 ? tn_vf_pick_two(x[0], x[1], places)
                      : loads == 4 ? tn_vf_pick_four(x[0], x[1], x[2], x[3], places)
                                   : tn_vf_gather(all, from, places);
      sum = !weighs ? v : k == 0 ? tn_vf_mul(tn_vf_load(w), v) : tn_vf_fma(tn_vf_load(w), v, sum);
    }
    for (int64_t k = 0; k < copies; k++) tn_vf_store_mask(out + k * n + i * TN_VF_LANES, live, sum);
  }
}

RESIZE_INLINE void row_loads(const resize_state *st, const float *row, int64_t taps, bool weighs,
                             int64_t copies, float *out) {
  switch (st->lanes.loads) {
    case 1: row_vectors(st, row, 1, taps, weighs, copies, out); break;
    case 2: row_vectors(st, row, 2, taps, weighs, copies, out); break;
    case 4: row_vectors(st, row, 4, taps, weighs, copies, out); break;
    default: row_vectors(st, row, 0, taps, weighs, copies, out);
  }
}

/* Slices of `inner` elements, at least a vector, of which the last two may overlap. */
RESIZE_INLINE void row_slices(const resize_state *st, const float *row, int64_t taps, bool weighs,
                              int64_t copies, float *out) {
  const resize_table *t = &st->tables[st->last];
  const int64_t inner = st->inner, n = resize_row_out(st);
  if (!taps) taps = t->taps;
  for (int64_t x = 0; x < st->axes[st->last].out; x++, out += inner) {
    const int64_t *index = t->index + x * taps;
    const float *w = t->weight_f32 + x * taps;
    for (int64_t j = 0; j < inner; j += TN_VF_LANES) {
      const int64_t at = tn_min_i64(j, inner - TN_VF_LANES);
      tn_vf sum = tn_vf_set1(0);
      for (int64_t k = 0; k < taps; k++) {
        const tn_vf v = tn_vf_load(row + index[k] * inner + at);
        sum = !weighs  ? v
              : k == 0 ? tn_vf_mul(tn_vf_set1(w[k]), v)
                       : tn_vf_fma(tn_vf_set1(w[k]), v, sum);
      }
      for (int64_t k = 0; k < copies; k++) tn_vf_store(out + k * n + at, sum);
    }
  }
}

/* ---- nearest ---- */

static double nearest_row_ns(const resize_state *st) {
  const double bytes = 4.0 * (double)resize_row_out(st),
               far = bytes - 1e6 / (double)tn_max_i64(1, st->rows); /* what leaves the cache */
  return 4 + 0.9 * (double)resize_row_out(st) / TN_VF_LANES + (far > 0 ? far / 20 : 0);
}

tn_status TN_SIMD_NAME(resize_nearest_plan)(const tn_call *call, tn_kernel_plan *out) {
  return resize_rows_plan(call, TN_VF_LANES, 0, nearest_row_ns, out);
}

RESIZE_INLINE void pick_copies(const resize_state *st, const float *row, int64_t copies,
                               float *out) {
  if (st->inner < TN_VF_LANES)
    row_loads(st, row, 1, false, copies, out);
  else
    row_slices(st, row, 1, false, copies, out);
}

static void pick_row(const resize_state *st, const uint8_t *row, int64_t bytes, int64_t copies,
                     uint8_t *out) {
  const float *from = (const float *)(const void *)row;
  float *to = (float *)(void *)out;
  (void)bytes;
  if (copies == 1)
    pick_copies(st, from, 1, to);
  else if (copies == 2)
    pick_copies(st, from, 2, to);
  else
    pick_copies(st, from, copies, to);
}

tn_status TN_SIMD_NAME(resize_nearest)(const tn_call *call, uint32_t stage, int64_t begin,
                                       int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  return resize_nearest_run(call, pick_row, begin, end);
}

/* ---- linear and cubic ---- */

static double mixed_row_ns(const resize_state *st) {
  const double along = (double)resize_taps(&st->spec, &st->axes[st->last]);
  return 20 + (0.4 * resize_mixed_taps(st) * (double)resize_row_in(st) +
               (1 + along) * (double)resize_row_out(st)) /
                  TN_VF_LANES;
}

tn_status TN_SIMD_NAME(resize_mixed_plan)(const tn_call *call, tn_kernel_plan *out) {
  return resize_rows_plan(call, TN_VF_LANES, sizeof(float), mixed_row_ns, out);
}

/* sum has room for whole vectors: what was stored by mask could not be loaded for a while. */
RESIZE_INLINE void sum_rows(const resize_row_taps *taps, int64_t n_taps, int64_t n, bool first,
                            float *sum) {
  for (int64_t k = 0; k < n; k += TN_VF_LANES) {
    const tn_vf_mask live = tn_vf_mask_first(tn_min_i64(TN_VF_LANES, n - k));
    tn_vf v = first ? tn_vf_set1(0) : tn_vf_load_mask(live, sum + k);
    for (int64_t t = 0; t < n_taps; t++)
      v = tn_vf_fma(tn_vf_set1(taps->weight[t]), tn_vf_load_mask(live, taps->row[t] + k), v);
    tn_vf_store(sum + k, v);
  }
}

static void mix_rows(const resize_row_taps *taps, int64_t n, bool first, float *sum) {
  if (taps->n == 2 && first)
    sum_rows(taps, 2, n, true, sum);
  else if (taps->n == 4 && first)
    sum_rows(taps, 4, n, true, sum);
  else
    sum_rows(taps, taps->n, n, first, sum);
}

RESIZE_INLINE void mix_taps(const resize_state *st, const float *row, int64_t taps, float *out) {
  if (st->inner < TN_VF_LANES)
    row_loads(st, row, taps, true, 1, out);
  else
    row_slices(st, row, taps, true, 1, out);
}

static void mix_places(const resize_state *st, const float *row, float *out) {
  switch (st->tables[st->last].taps) {
    case 2: mix_taps(st, row, 2, out); break;
    case 4: mix_taps(st, row, 4, out); break;
    default: mix_taps(st, row, 0, out);
  }
}

tn_status TN_SIMD_NAME(resize_mixed)(const tn_call *call, uint32_t stage, int64_t begin,
                                     int64_t end, uint32_t worker) {
  static const resize_mix mix = {mix_rows, mix_places};
  (void)stage;
  return resize_mixed_run(call, &mix, begin, end, worker);
}

/* ---- integers and f64 ---- */

tn_status TN_SIMD_NAME(resize_any_plan)(const tn_call *call, tn_kernel_plan *out) {
  return resize_rows_plan(call, 0, sizeof(double), any_row_ns, out);
}

tn_status TN_SIMD_NAME(resize_any)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                   uint32_t worker) {
  (void)stage;
  return any_run(call, begin, end, worker);
}

#endif
