/* Gather, GatherElements, GatherND, portable, for all dtypes. */
#include <stdbool.h>

#include "rows.h"

#include "gather.gen.h"

/* ---- Gather: an item is one piece of one row ---- */

enum { PIECE_ELEMENTS = 8192 };

typedef struct gather_plan_of {
  around data;
  int32_t axis;
  int64_t n;               /* indices */
  int64_t piece, n_pieces; /* elements per piece of a row, pieces per row */
} gather_plan_of;

static gather_plan_of gather_shape(const tn_call *call) {
  const tn_gather_attrs *a = call->attrs;
  gather_plan_of p;
  p.axis = (int32_t)(a->axis < 0 ? a->axis + call->inputs[0]->rank : a->axis);
  p.data = around_axis(call->inputs[0], p.axis);
  p.n = tn_elements(call->inputs[1]);
  p.piece = tn_min_i64(PIECE_ELEMENTS, tn_max_i64(1, p.data.after));
  p.n_pieces = tn_ceil_div(p.data.after, p.piece);
  return p;
}

/* Most rows are short, and of vectors: these need no call. */
static inline void copy_row(char *to, const char *from, int64_t bytes) {
  if (bytes > 256 || bytes % 16) {
    memcpy(to, from, (size_t)bytes);
    return;
  }
  for (int64_t k = 0; k < bytes; k += 16) memcpy(to + k, from + k, 16);
}

/* Rows [begin, end), each of one piece. false: an index is out of bounds. */
static bool gather_rows(const tn_call *call, const gather_plan_of *p, int64_t bytes, int64_t begin,
                        int64_t end) {
  const tn_tensor *indices = call->inputs[1];
  const int64_t row = p->data.after * bytes, size = p->data.size;
  const char *matrix = (const char *)call->inputs[0]->data + begin / p->n * size * row;
  char *to = (char *)call->outputs[0]->data + begin * row;
  int64_t i = begin % p->n;
  for (int64_t item = begin; item < end; item++, to += row) {
    const int64_t given = index_load(indices, i), at = given < 0 ? given + size : given;
    if (at < 0 || at >= size) return false;
    copy_row(to, matrix + at * row, row);
    if (++i < p->n) continue;
    i = 0;
    matrix += size * row;
  }
  return true;
}

tn_status gather_plan(const tn_call *call, tn_kernel_plan *out) {
  gather_plan_of p = gather_shape(call);
  rows_plan(call, p.data.before * p.n * p.n_pieces, p.piece, out);
  return TN_OK;
}

tn_status gather_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker) {
  gather_plan_of p = gather_shape(call);
  rows r = rows_of(call, 0);
  tn_status s = TN_OK;
  (void)stage, (void)worker;
  if (p.n == 0 || p.n_pieces == 0) return TN_OK;
  rows_range(&r, p.data.before * p.n * p.n_pieces, &begin, &end);
  if (p.n_pieces == 1 && r.bytes && p.data.after > 0 && gather_rows(call, &p, r.bytes, begin, end))
    return TN_OK; /* an index that is out of bounds is named below */
  int64_t piece = begin % p.n_pieces, i = begin / p.n_pieces % p.n,
          before = begin / p.n_pieces / p.n, place;
  for (int64_t item = begin; item < end && !s; item++) {
    int64_t at = piece * p.piece, n = tn_min_i64(p.piece, p.data.after - at);
    s = index_get(call, 1, i, p.axis, p.data.size, &place);
    if (!s)
      s = rows_copy(&r, (before * p.n + i) * p.data.after + at, call->inputs[0],
                    (before * p.data.size + place) * p.data.after + at, n);
    if (++piece < p.n_pieces) continue;
    piece = 0;
    if (++i < p.n) continue;
    i = 0;
    before++;
  }
  return s;
}

/* ---- GatherElements: an item is a row of the last dim ---- */

static int64_t row_length(const tn_tensor *t) { return t->rank ? t->shape[t->rank - 1] : 1; }

tn_status gather_elements_plan(const tn_call *call, tn_kernel_plan *out) {
  int64_t length = row_length(call->outputs[0]);
  rows_plan(call, length ? tn_elements(call->outputs[0]) / length : 0, length, out);
  return TN_OK;
}

/* One row: y[j] = x[index[j] * stride + j * step]. */
typedef struct gather_run {
  const int64_t *index;
  int64_t n, bound, stride, step;
} gather_run;

/* false: an index is out of bounds. */
#define GATHER_RUN(name, T)                                              \
  static bool name(const gather_run *g, const void *from, void *to) {    \
    const T *x = from;                                                   \
    T *y = to;                                                           \
    for (int64_t j = 0; j < g->n; j++) {                                 \
      const int64_t at = g->index[j] + (g->index[j] < 0 ? g->bound : 0); \
      if (at < 0 || at >= g->bound) return false;                        \
      y[j] = x[at * g->stride + j * g->step];                            \
    }                                                                    \
    return true;                                                         \
  }
GATHER_RUN(gather_8, uint8_t)
GATHER_RUN(gather_16, uint16_t)
GATHER_RUN(gather_32, uint32_t)
GATHER_RUN(gather_64, uint64_t)

static tn_status gather_row(const rows *r, int64_t row, int32_t axis, const int64_t *strides) {
  const tn_tensor *data = r->call->inputs[0], *out = r->call->outputs[0];
  int64_t length = row_length(out), from = 0, rest = row, place, last = out->rank - 1;
  static bool (*const runs[])(const gather_run *, const void *, void *) = {
      [1] = gather_8, [2] = gather_16, [4] = gather_32, [8] = gather_64, [16] = NULL};
  tn_status s = TN_OK;
  for (int32_t k = out->rank - 2; k >= 0; k--) {
    if (k != axis) from += rest % out->shape[k] * strides[k];
    rest /= out->shape[k];
  }
  if (r->call->inputs[1]->dtype == TN_I64 && runs[r->bytes]) {
    const gather_run g = {.index = (const int64_t *)r->call->inputs[1]->data + row * length,
                          .n = length,
                          .bound = data->shape[axis],
                          .stride = strides[axis],
                          .step = axis != last};
    const char *x = (const char *)data->data + from * r->bytes;
    char *y = (char *)out->data + row * length * r->bytes;
    if (runs[r->bytes](&g, x, y)) return TN_OK;
  } /* an index that is out of bounds is named below */
  for (int64_t j = 0; j < length && !s; j++) {
    s = index_get(r->call, 1, row * length + j, axis, data->shape[axis], &place);
    if (!s)
      s = rows_copy(r, row * length + j, data,
                    from + place * strides[axis] + (axis == last ? 0 : j), 1);
  }
  return s;
}

tn_status gather_elements_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  const tn_gather_elements_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *out = call->outputs[0];
  int64_t strides[TN_MAX_RANK], step = 1, length = row_length(out);
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + data->rank : a->axis);
  rows r = rows_of(call, 0);
  tn_status s = TN_OK;
  (void)stage, (void)worker;
  for (int32_t k = data->rank - 1; k >= 0; k--) {
    strides[k] = step;
    step *= data->shape[k];
  }
  rows_range(&r, length ? tn_elements(out) / length : 0, &begin, &end);
  for (int64_t row = begin; row < end && !s; row++) s = gather_row(&r, row, axis, strides);
  return s;
}

/* ---- GatherND: an item is a slice ---- */

typedef struct nd_shape {
  int64_t batch, depth; /* dims */
  int64_t per_batch, n; /* tuples per batch, in all */
  int64_t slice;        /* elements that a tuple names */
  int64_t strides[TN_MAX_RANK];
} nd_shape;

static nd_shape gather_nd_shape(const tn_call *call) {
  const tn_gather_nd_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
  nd_shape p = {.batch = a->batch_dims,
                .depth = indices->shape[indices->rank - 1],
                .per_batch = 1,
                .n = 1,
                .slice = 1};
  int64_t step = 1;
  for (int32_t k = data->rank - 1; k >= 0; k--) {
    p.strides[k] = step;
    step *= data->shape[k];
    if (k >= p.batch + p.depth) p.slice *= data->shape[k];
  }
  for (int32_t k = 0; k < indices->rank - 1; k++) {
    p.n *= indices->shape[k];
    if (k >= p.batch) p.per_batch *= indices->shape[k];
  }
  return p;
}

tn_status gather_nd_plan(const tn_call *call, tn_kernel_plan *out) {
  nd_shape p = gather_nd_shape(call);
  rows_plan(call, p.n, p.slice, out);
  return TN_OK;
}

tn_status gather_nd_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                      uint32_t worker) {
  const tn_tensor *data = call->inputs[0];
  nd_shape p = gather_nd_shape(call);
  rows r = rows_of(call, 0);
  tn_status s = TN_OK;
  (void)stage, (void)worker;
  if (p.n == 0 || p.slice == 0) return TN_OK;
  rows_range(&r, p.n, &begin, &end);
  for (int64_t i = begin; i < end && !s; i++) {
    int64_t from = p.batch ? i / p.per_batch * p.strides[p.batch - 1] : 0, place;
    for (int64_t k = 0; k < p.depth && !s; k++) {
      s = index_get(call, 1, i * p.depth + k, (int32_t)(p.batch + k), data->shape[p.batch + k],
                    &place);
      if (!s) from += place * p.strides[p.batch + k];
    }
    if (!s) s = rows_copy(&r, i * p.slice, data, from, p.slice);
  }
  return s;
}
