/* Pools of f32 in plain layout. A row of outputs is made in two passes: the input rows that its
 * windows reach are folded into one line, with the pads at its ends, and the line is folded along,
 * neighbouring outputs in the lanes of a vector. Averages add in the order of the portable kernel
 * (see average_row). Behind pool_simd.h. */
#ifndef TN_OPS_POOL_PLAIN_SIMD_H
#define TN_OPS_POOL_PLAIN_SIMD_H

#include "pool_simd.h"

#define POOL_INLINE static inline __attribute__((always_inline))

/* The operation is a constant where these are used. */
typedef enum plain_op { PLAIN_MAX, PLAIN_AVERAGE } plain_op;

POOL_INLINE tn_vf plain_start(plain_op op) { return tn_vf_set1(op == PLAIN_MAX ? -INFINITY : 0); }

POOL_INLINE tn_vf plain_step(plain_op op, tn_vf sum, tn_vf v) {
  return op == PLAIN_MAX ? tn_vf_max(v, sum) : tn_vf_add(sum, v);
}

/* How rows are worked on. Several lines are made before they are folded along: what was stored just
 * now cannot be loaded from another place for a while. */
typedef struct plain {
  pool_shape p;
  int64_t width, stride, dilation, kernel; /* of the last dim */
  int64_t lead, pitch;                     /* of a line: floats before the input, all */
  int64_t together;                        /* rows whose outputs share a vector: short ones */
  int64_t lines;                           /* a multiple of that */
  int64_t n_counts, n_rows;
  int64_t step[TN_MAX_SPATIAL]; /* of the input, in elements */
} plain;

typedef struct plain_scratch {
  float *lines, *counts; /* lines[lines][pitch]; counts[n_counts]: taps of an output along a row */
  float *across;         /* [lines]: for averages, the input rows that count */
  int64_t *rows;         /* [n_rows]: offsets of the input rows of a line */
} plain_scratch;

/* Floats of scratch: PLAIN_MOST ends what is tried, PLAIN_FEW is what is worked on at once. */
enum { PLAIN_MOST = 1 << 20, PLAIN_FEW = 4096, PLAIN_LINES = 64 };

/* The floats in a worker's scratch, before the rows. */
static int64_t plain_floats(const plain *k) {
  return k->lines * k->pitch + k->n_counts + PLAIN_LINES;
}

/* false: scratch would be too large. */
static bool plain_make(const pool_shape *p, plain *out) {
  const int32_t last = p->w.n - 1;
  plain k = {.p = *p,
             .width = p->w.out[last],
             .stride = p->w.stride[last],
             .dilation = p->w.dilation[last],
             .kernel = p->w.kernel[last],
             .together = 1};
  k.step[last] = 1;
  for (int32_t d = last; d > 0; d--) k.step[d - 1] = k.step[d] * p->w.in[d];
  const int64_t vectors = tn_ceil_div(k.width, TN_VF_LANES) * TN_VF_LANES;
  if (k.width > PLAIN_MOST || k.stride > PLAIN_MOST || k.kernel > PLAIN_MOST ||
      k.dilation > PLAIN_MOST || p->w.pad_lo[last] > PLAIN_MOST || p->w.in[last] > PLAIN_MOST)
    return false;
  if (k.width > 0 && 2 * k.width <= TN_VF_LANES) k.together = TN_VF_LANES / k.width;
  k.lead = tn_ceil_div(p->w.pad_lo[last], TN_VF_LANES) * TN_VF_LANES;
  k.pitch = k.lead + TN_VF_LANES +
            tn_max_i64(p->w.in[last], vectors * k.stride + (k.kernel - 1) * k.dilation);
  k.pitch = tn_ceil_div(k.pitch, TN_VF_LANES) * TN_VF_LANES;
  const int64_t most = tn_min_i64(PLAIN_LINES, tn_max_i64(1, PLAIN_FEW / k.pitch));
  k.lines = tn_max_i64(1, most / k.together) * k.together;
  k.n_counts = tn_max_i64(vectors, TN_VF_LANES);
  k.n_rows = p->taps / k.kernel;
  *out = k;
  return k.pitch <= PLAIN_MOST / k.lines && k.n_rows <= PLAIN_MOST;
}

/* The offsets in its plane of the input rows that an output row reaches, in the order of taps;
 * returns how many. out_count: how many count for an average. */
static int64_t plain_rows(const plain *k, const pool_row *r, bool count_pads, int64_t *rows,
                          float *out_count) {
  const tn_window *w = &k->p.w;
  int64_t n = 1, padded = 1;
  rows[0] = 0;
  for (int32_t d = 0; d < w->n - 1; d++) {
    const int64_t start = r->o[d] * w->stride[d] - w->pad_lo[d], step = k->step[d] * w->dilation[d];
    int64_t lo, hi;
    pool_taps(w, d, start, r->o[d], &lo, &hi);
    if (count_pads) padded *= pool_padded_taps(w, d, r->o[d]);
    /* each offset becomes one per tap; from behind, for they take more room */
    for (int64_t e = n - 1; e >= 0; e--) {
      const int64_t at = rows[e] + start * k->step[d];
      for (int64_t t = hi - 1; t >= lo; t--) rows[e * (hi - lo) + t - lo] = at + t * step;
    }
    n *= hi - lo;
  }
  *out_count = (float)(count_pads ? padded : n);
  return n;
}

/* Folds n input rows of a plane into a line, two vectors at a time. */
POOL_INLINE void plain_down(plain_op op, const float *plane, const int64_t *rows, int64_t n,
                            int64_t width, float *line) {
  int64_t c = 0;
  for (; width - c > TN_VF_LANES; c += 2 * TN_VF_LANES) {
    const int64_t second = tn_min_i64(TN_VF_LANES, width - c - TN_VF_LANES);
    const tn_vf_mask has = tn_vf_mask_first(second);
    tn_vf a = plain_start(op), b = a;
    for (int64_t k = 0; k < n; k++) {
      const float *x = plane + rows[k] + c;
      a = plain_step(op, a, tn_vf_load(x));
      b = plain_step(op, b, tn_vf_load_mask(has, x + TN_VF_LANES));
    }
    tn_vf_store(line + c, a);
    tn_vf_store_mask(line + c + TN_VF_LANES, has, b);
  }
  if (c >= width) return;
  const tn_vf_mask has = tn_vf_mask_first(width - c);
  tn_vf sum = plain_start(op);
  for (int64_t k = 0; k < n; k++)
    sum = plain_step(op, sum, tn_vf_load_mask(has, plane + rows[k] + c));
  tn_vf_store_mask(line + c, has, sum);
}

/* Taps of neighbouring outputs. x: of the first of them; at: where those of the others lie, for all
 * strides but 1 and 2. */
POOL_INLINE tn_vf plain_take(const float *x, int64_t stride, tn_vu at, tn_vf_mask live) {
  if (stride == 1) return tn_vf_load(x);
  if (stride == 2) return tn_vf_even(tn_vf_load(x), tn_vf_load(x + TN_VF_LANES));
  return tn_vf_gather(live, x, at);
}

/* The outputs of one line, two vectors at a time, or the vector of outputs of several. x: the first
 * tap of the first. counts: what averages are over along the row; across: the same across it, per
 * lane. */
POOL_INLINE void plain_outputs(plain_op op, const plain *k, const float *x, int64_t n,
                               int64_t stride, tn_vu at, const float *counts, const float *across,
                               float *y) {
  for (int64_t o = 0; o < n; o += 2 * TN_VF_LANES) {
    const bool two = n - o > TN_VF_LANES;
    const tn_vf_mask live = tn_vf_mask_first(tn_min_i64(TN_VF_LANES, n - o)),
                     second = tn_vf_mask_first(
                         tn_min_i64(TN_VF_LANES, tn_max_i64(0, n - o - TN_VF_LANES)));
    const float *from = x + o * k->stride;
    tn_vf a = plain_start(op), b = a;
    if (two)
      for (int64_t t = 0; t < k->kernel; t++, from += k->dilation) {
        a = plain_step(op, a, plain_take(from, stride, at, live));
        b = plain_step(op, b, plain_take(from + TN_VF_LANES * k->stride, stride, at, second));
      }
    else
      for (int64_t t = 0; t < k->kernel; t++, from += k->dilation)
        a = plain_step(op, a, plain_take(from, stride, at, live));
    if (op == PLAIN_AVERAGE) {
      const tn_vf others = tn_vf_load(across);
      a = tn_vf_div(a, tn_vf_mul(tn_vf_load(counts + o), others));
      if (two) b = tn_vf_div(b, tn_vf_mul(tn_vf_load(counts + o + TN_VF_LANES), others));
    }
    tn_vf_store_mask(y + o, live, a);
    if (two) tn_vf_store_mask(y + o + TN_VF_LANES, second, b);
  }
}

/* Where the first taps of a vector of outputs lie, from that of the first on. */
static tn_vu plain_places(const plain *k) {
  tn_vu at;
  for (int64_t l = 0; l < TN_VF_LANES; l++)
    at[l] = (uint32_t)(k->together == 1 ? l * k->stride
                                        : l / k->width * k->pitch + l % k->width * k->stride);
  return at;
}

/* For each output of a row, and of the rows that are worked on with it, the taps that count. */
static void plain_counts(const plain *k, bool count_pads, float *counts) {
  const tn_window *w = &k->p.w;
  int64_t lo, hi;
  for (int64_t o = 0; o < k->n_counts; o++) {
    counts[o] = 1;
    if (o >= k->width * k->together) continue;
    tn_window_taps(w, w->n - 1, o % k->width, &lo, &hi);
    counts[o] = (float)(count_pads ? pool_padded_taps(w, w->n - 1, o % k->width) : hi - lo);
  }
}

/* Folds the input rows of output rows item .. item+n-1 into lines. */
POOL_INLINE void plain_lines(plain_op op, const plain *k, const float *x, bool count_pads,
                             int64_t item, int64_t n, const plain_scratch *s) {
  for (int64_t j = 0; j < n; j++) {
    pool_row r;
    pool_row_find(&k->p, item + j, &r);
    const int64_t n_rows = plain_rows(k, &r, count_pads, s->rows, s->across + j);
    plain_down(op, x + r.plane * k->p.in_size, s->rows, n_rows, k->p.w.in[k->p.w.n - 1],
               s->lines + j * k->pitch + k->lead);
  }
}

/* Makes n rows of outputs of n lines. first: of a line, the first tap of the first output. */
POOL_INLINE void plain_finish(plain_op op, const plain *k, const float *first, tn_vu at, int64_t n,
                              const plain_scratch *s, float *y) {
  float across[TN_VF_LANES];
  for (int64_t j = 0; j < n; j += k->together) {
    const float *line = first + j * k->pitch;
    const int64_t lines = tn_min_i64(k->together, n - j);
    float *to = y + j * k->width;
    for (int64_t l = 0; op == PLAIN_AVERAGE && l < TN_VF_LANES; l++)
      across[l] = s->across[k->together == 1 ? j : tn_min_i64(j + l / k->width, n - 1)];
    if (k->together == 1 && k->stride == 1)
      plain_outputs(op, k, line, k->width, 1, at, s->counts, across, to);
    else if (k->together == 1 && k->stride == 2)
      plain_outputs(op, k, line, k->width, 2, at, s->counts, across, to);
    else
      plain_outputs(op, k, line, lines * k->width, 0, at, s->counts, across, to);
  }
}

/* Items begin .. end-1: rows of outputs. */
POOL_INLINE void plain_pool(plain_op op, const plain *k, const tn_call *call, bool count_pads,
                            int64_t begin, int64_t end, float *scratch) {
  const plain_scratch s = {.lines = scratch,
                           .counts = scratch + k->lines * k->pitch,
                           .across = scratch + k->lines * k->pitch + k->n_counts,
                           .rows = (void *)(scratch + plain_floats(k))};
  const float *first = scratch + k->lead - k->p.w.pad_lo[k->p.w.n - 1];
  const tn_vu at = plain_places(k);
  for (int64_t o = 0; o < k->lines * k->pitch; o += TN_VF_LANES)
    tn_vf_store(scratch + o, plain_start(op));
  if (op == PLAIN_AVERAGE) plain_counts(k, count_pads, s.counts);
  for (int64_t item = begin; item < end; item += k->lines) {
    const int64_t n = tn_min_i64(k->lines, end - item);
    plain_lines(op, k, call->inputs[0]->data, count_pads, item, n, &s);
    plain_finish(op, k, first, at, n, &s, (float *)call->outputs[0]->data + item * k->width);
  }
}

static tn_status plain_plan(const pool_shape *p, tn_kernel_plan *out) {
  plain k = {0};
  plain_make(p, &k);
  const double rows = k.width ? (double)(p->channels * (p->out_size / k.width)) : 0;
  const double along = k.together > 1 || k.stride > 2 ? 6 : 0.3 * (double)k.stride;
  const double row = 8 + 0.3 * (double)k.n_rows * (1 + (double)p->w.in[p->w.n - 1] / TN_VF_LANES) +
                     ceil((double)(k.width * k.together) / TN_VF_LANES) *
                         (2 + (double)k.kernel * along) / (double)k.together;
  out->items[0] = (int64_t)rows;
  out->elements_per_item = k.width;
  out->cost_ns = rows * row + 300;
  out->grain[0] = tn_grain(TN_THREAD_NS, row);
  out->worker_scratch_bytes =
      (uint64_t)plain_floats(&k) * sizeof(float) + (uint64_t)k.n_rows * sizeof(int64_t);
  return TN_OK;
}

#define PLAIN_KERNEL(name, shape, op, pads)                                                      \
  const char *TN_SIMD_NAME(name##_plain_refuse)(const tn_call *call) {                           \
    pool_shape p;                                                                                \
    plain k;                                                                                     \
    return shape(call, &p) || !plain_make(&p, &k) ? "takes rows and windows that fit in scratch" \
                                                  : NULL;                                        \
  }                                                                                              \
  tn_status TN_SIMD_NAME(name##_plain_plan)(const tn_call *call, tn_kernel_plan *out) {          \
    pool_shape p;                                                                                \
    const tn_status s = shape(call, &p);                                                         \
    return s ? s : plain_plan(&p, out);                                                          \
  }                                                                                              \
  tn_status TN_SIMD_NAME(name##_plain)(const tn_call *call, uint32_t stage, int64_t begin,       \
                                       int64_t end, uint32_t worker) {                           \
    (void)stage;                                                                                 \
    pool_shape p;                                                                                \
    plain k;                                                                                     \
    const tn_status s = shape(call, &p);                                                         \
    if (s) return s;                                                                             \
    plain_make(&p, &k);                                                                          \
    plain_pool(                                                                                  \
        op, &k, call, pads, begin, end,                                                          \
        (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes));  \
    return TN_OK;                                                                                \
  }
PLAIN_KERNEL(max_pool, max_pool_shape, PLAIN_MAX, false)
PLAIN_KERNEL(average_pool, average_pool_shape, PLAIN_AVERAGE,
             ((const tn_average_pool_attrs *)call->attrs)->count_include_pad != 0)

/* ---- global ---- */

/* The elements of a plane, yet to be folded: four chains. */
POOL_INLINE tn_vf plain_fold(plain_op op, const float *x, int64_t n) {
  const tn_vf start = plain_start(op);
  tn_vf part[4] = {start, start, start, start};
  int64_t c = 0;
  for (; c + 4 * TN_VF_LANES <= n; c += 4 * TN_VF_LANES)
    TN_UNROLL for (int k = 0; k < 4; k++) part[k] =
        plain_step(op, part[k], tn_vf_load(x + c + k * TN_VF_LANES));
  for (; c + TN_VF_LANES <= n; c += TN_VF_LANES)
    part[0] = plain_step(op, part[0], tn_vf_load(x + c));
  if (c < n) {
    const tn_vf_mask has = tn_vf_mask_first(n - c), all = tn_vf_mask_first(TN_VF_LANES);
    const tn_vf pad = tn_vf_keep(tn_vf_mask_and_not(all, has), start);
    part[1] = plain_step(op, part[1], tn_vf_join(pad, has, x + c));
  }
  return plain_step(op, plain_step(op, part[0], part[1]), plain_step(op, part[2], part[3]));
}

#define GLOBAL_JOIN(a, b) plain_step(op, a, b)
POOL_INLINE void plain_global(plain_op op, const tn_call *call, int64_t begin, int64_t end) {
  const tn_tensor *x = call->inputs[0];
  const int64_t size = tn_dims_size(x->shape + 2, x->rank - 2);
  for (int64_t item = begin; item < end; item += TN_VF_LANES) {
    const int64_t n = tn_min_i64(TN_VF_LANES, end - item);
    tn_vf v[TN_VF_LANES];
    for (int64_t k = 0; k < TN_VF_LANES; k++)
      v[k] = k < n ? plain_fold(op, (const float *)x->data + (item + k) * size, size)
                   : plain_start(op);
    TN_VF_FOLD_EACH(v, GLOBAL_JOIN);
    if (op == PLAIN_AVERAGE) v[0] = tn_vf_div(v[0], tn_vf_set1((float)size));
    tn_vf_store_mask((float *)call->outputs[0]->data + item, tn_vf_mask_first(n), v[0]);
  }
}

tn_status TN_SIMD_NAME(global_pool_plain_plan)(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  const double each = 3 + 0.5 * (double)tn_dims_size(x->shape + 2, x->rank - 2) / TN_VF_LANES;
  out->items[0] = x->shape[0] * x->shape[1];
  out->elements_per_item = 1;
  out->cost_ns = (double)out->items[0] * each + 200;
  out->grain[0] = tn_grain(TN_THREAD_NS, each);
  return TN_OK;
}

#define PLAIN_GLOBAL(name, op)                                                             \
  tn_status TN_SIMD_NAME(name##_plain)(const tn_call *call, uint32_t stage, int64_t begin, \
                                       int64_t end, uint32_t worker) {                     \
    (void)stage, (void)worker;                                                             \
    plain_global(op, call, begin, end);                                                    \
    return TN_OK;                                                                          \
  }
PLAIN_GLOBAL(global_average_pool, PLAIN_AVERAGE)
PLAIN_GLOBAL(global_max_pool, PLAIN_MAX)

#endif
