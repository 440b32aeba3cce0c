/* ScatterElements, ScatterND, TensorScatter, portable. Stage 0 copies the data, unless it is done
 * in place; stage 1 writes the updates. Threads take parts of the output that no other can touch,
 * so that duplicate indices have one meaning: in order. */
#include "reduction.h"
#include "rows.h"

#include "gather.gen.h"

enum { STAGE_COPY, STAGE_WRITE, N_STAGES, COPY_ELEMENTS = 8192 };

static void plan_copy(const tn_call *call, tn_kernel_plan *out) {
  out->n_stages = N_STAGES;
  out->in_place[0] = 0;
  rows_plan(call, tn_ceil_div(tn_elements(call->outputs[0]), COPY_ELEMENTS), COPY_ELEMENTS, out);
}

static tn_status run_copy(const tn_call *call, int64_t begin, int64_t end) {
  rows r = rows_of(call, 0);
  int64_t n = tn_elements(call->outputs[0]), total = tn_ceil_div(n, COPY_ELEMENTS);
  if (call->inputs[0]->data == call->outputs[0]->data) return TN_OK;
  rows_range(&r, total, &begin, &end);
  int64_t first = begin * COPY_ELEMENTS;
  return rows_copy(&r, first, call->inputs[0], first, tn_min_i64(n, end * COPY_ELEMENTS) - first);
}

static tn_status write_run(const rows *r, reduction op, int64_t to, const tn_tensor *updates,
                           int64_t from, int64_t n) {
  const tn_tensor *out = r->call->outputs[0];
  if (op == REDUCE_NONE) return rows_copy(r, to, updates, from, n);
  reduction_apply(op, out->dtype, out->data, to, updates->data, from, n);
  return TN_OK;
}

/* ---- ScatterElements: an item is a column along the axis ---- */

tn_status scatter_elements_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_scatter_elements_attrs *a = call->attrs;
  const tn_tensor *indices = call->inputs[1];
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + indices->rank : a->axis);
  plan_copy(call, out);
  around u = around_axis(indices, axis);
  out->items[STAGE_WRITE] = rows_element_bytes(call->outputs[0]->dtype) ? u.before * u.after : 1;
  out->grain[STAGE_WRITE] = tn_max_i64(1, 2048 / tn_max_i64(1, u.size));
  return TN_OK;
}

enum { BLOCK = 256 };

/* n updates from `from` on go to elements to + place * step + j * apart of the output, j < n. */
typedef struct scatter_block {
  const rows *r;
  reduction op;
  int32_t axis;
  int64_t from, n, to, step, apart;
} scatter_block;

/* The indices of a block, made >= 0. False: one is out of bounds. */
static bool find_places(const scatter_block *b, int64_t *place) {
  const tn_tensor *indices = b->r->call->inputs[1];
  const int64_t bound = b->r->call->inputs[0]->shape[b->axis];
  uint32_t outside = 0;
  for (int64_t j = 0; j < b->n; j++) {
    const int64_t index = index_load(indices, b->from + j);
    place[j] = index + (index < 0 ? bound : 0);
    outside |= (uint64_t)place[j] >= (uint64_t)bound;
  }
  return outside == 0;
}

/* a: what is there, b: the update; U: as what they are added and multiplied, so that integers
 * wrap. */
#define SCATTER_LOOP(T, value)                                   \
  for (int64_t j = 0; j < n; j++) {                              \
    T *y = (T *)out + s->to + place[j] * s->step + j * s->apart; \
    const T a = *y, b = ((const T *)updates)[s->from + j];       \
    (void)a;                                                     \
    *y = (T)(value);                                             \
  }
/* NaN wins. What is larger is not foreseeable: no branch for that. */
#define SCATTER(name, T, U)                                                           \
  static inline T larger_##name(T a, T b) {                                           \
    const T m = b > a ? b : a;                                                        \
    return b == b ? m : b;                                                            \
  }                                                                                   \
  static inline T smaller_##name(T a, T b) {                                          \
    const T m = b < a ? b : a;                                                        \
    return b == b ? m : b;                                                            \
  }                                                                                   \
  static void scatter_##name(const scatter_block *s, const int64_t *place, void *out, \
                             const void *updates) {                                   \
    const int64_t n = s->n;                                                           \
    switch (s->op) {                                                                  \
      case REDUCE_NONE: SCATTER_LOOP(T, b) break;                                     \
      case REDUCE_ADD: SCATTER_LOOP(T, (U)a + (U)b) break;                            \
      case REDUCE_MUL: SCATTER_LOOP(T, (U)a *(U)b) break;                             \
      case REDUCE_MAX: SCATTER_LOOP(T, larger_##name(a, b)) break;                    \
      case REDUCE_MIN: SCATTER_LOOP(T, smaller_##name(a, b)) break;                   \
    }                                                                                 \
  }
SCATTER(f32, float, float)
SCATTER(f64, double, double)
SCATTER(i8, int8_t, uint32_t)
SCATTER(i16, int16_t, uint32_t)
SCATTER(i32, int32_t, uint32_t)
SCATTER(i64, int64_t, uint64_t)

typedef void (*scatter_fn)(const scatter_block *s, const int64_t *place, void *out,
                           const void *updates);

/* NULL: there is no loop for that. */
static scatter_fn scatter_of(const scatter_block *b) {
  const uint32_t dtype = b->r->call->outputs[0]->dtype;
  const bool moves = b->op == REDUCE_NONE; /* only the width counts */
  if (dtype == TN_F32) return scatter_f32;
  if (dtype == TN_F64) return scatter_f64;
  if (dtype == TN_I8 || (moves && b->r->bytes == 1)) return scatter_i8;
  if (dtype == TN_I16 || (moves && b->r->bytes == 2)) return scatter_i16;
  if (dtype == TN_I32 || (moves && b->r->bytes == 4)) return scatter_i32;
  if (dtype == TN_I64 || (moves && b->r->bytes == 8)) return scatter_i64;
  return NULL;
}

static tn_status scatter_block_run(const scatter_block *b) {
  const tn_call *call = b->r->call;
  const tn_tensor *updates = call->inputs[2];
  const scatter_fn scatter = scatter_of(b);
  int64_t places[BLOCK], place;
  tn_status s = TN_OK;
  if (scatter && find_places(b, places)) {
    scatter(b, places, call->outputs[0]->data, updates->data);
    return TN_OK;
  } /* an index that is out of bounds is named below */
  for (int64_t j = 0; j < b->n && !s; j++) {
    s = index_get(call, 1, b->from + j, b->axis, call->inputs[0]->shape[b->axis], &place);
    if (!s)
      s = write_run(b->r, b->op, b->to + place * b->step + j * b->apart, updates, b->from + j, 1);
  }
  return s;
}

/* n columns from `column` on that are neighbours in the last dim; one, if the axis is the last. */
static tn_status scatter_columns(const rows *r, reduction op, int32_t axis, int64_t column,
                                 int64_t n) {
  const tn_tensor *data = r->call->inputs[0], *indices = r->call->inputs[1];
  scatter_block b = {.r = r, .op = op, .axis = axis};
  int64_t step = 1, from = 0, to = 0, from_step = 0, data_step = 1;
  tn_status s = TN_OK;
  for (int32_t k = data->rank - 1; k >= 0; k--) {
    if (k == axis) {
      from_step = step;
      b.step = data_step;
    } else {
      from += column % indices->shape[k] * step;
      to += column % indices->shape[k] * data_step;
      column /= indices->shape[k];
    }
    step *= indices->shape[k];
    data_step *= data->shape[k];
  }
  const bool along = axis == data->rank - 1;
  const int64_t each = along ? indices->shape[axis] : n, times = along ? 1 : indices->shape[axis];
  b.apart = !along;
  for (int64_t k = 0; k < times; k++)
    for (int64_t j = 0; j < each && !s; j += BLOCK) {
      b.from = from + k * from_step + j;
      b.to = to + (along ? 0 : j);
      b.n = tn_min_i64(BLOCK, each - j);
      s = scatter_block_run(&b);
    }
  return s;
}

tn_status scatter_elements_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  const tn_scatter_elements_attrs *a = call->attrs;
  const tn_tensor *indices = call->inputs[1];
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + indices->rank : a->axis);
  rows r = rows_of(call, 0);
  reduction op;
  (void)worker;
  if (stage == STAGE_COPY) return run_copy(call, begin, end);
  tn_status s = reduction_parse(call, a->reduction, call->outputs[0]->dtype, &op);
  around u = around_axis(indices, axis);
  if (!r.bytes) begin = 0, end = u.before * u.after;
  const int64_t line = axis == indices->rank - 1 ? 1 : indices->shape[indices->rank - 1];
  for (int64_t k = begin, n; k < end && !s && u.size > 0; k += n) {
    n = tn_min_i64(end - k, line - k % line);
    s = scatter_columns(&r, op, axis, k, n);
  }
  return s;
}

/* ---- ScatterND: an item is a stretch of every slice ---- */

enum { STRETCH = 1024 };

static int64_t slice_elements(const tn_tensor *data, int64_t depth) {
  int64_t n = 1;
  for (int64_t k = depth; k < data->rank; k++) n *= data->shape[k];
  return n;
}

tn_status scatter_nd_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *indices = call->inputs[1];
  int64_t slice = slice_elements(call->inputs[0], indices->shape[indices->rank - 1]);
  plan_copy(call, out);
  out->items[STAGE_WRITE] =
      rows_element_bytes(call->outputs[0]->dtype) ? tn_ceil_div(slice, STRETCH) : 1;
  return TN_OK;
}

tn_status scatter_nd_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  const tn_scatter_nd_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
  int64_t depth = indices->shape[indices->rank - 1], slice = slice_elements(data, depth), n = 1,
          place;
  rows r = rows_of(call, 0);
  reduction op;
  (void)worker;
  if (stage == STAGE_COPY) return run_copy(call, begin, end);
  tn_status s = reduction_parse(call, a->reduction, data->dtype, &op);
  for (int32_t k = 0; k < indices->rank - 1; k++) n *= indices->shape[k];
  if (slice == 0) return s;
  int64_t first = r.bytes ? begin * STRETCH : 0,
          last = r.bytes ? tn_min_i64(slice, end * STRETCH) : slice;
  for (int64_t i = 0; i < n && !s; i++) {
    int64_t to = 0, step = slice;
    for (int64_t k = depth - 1; k >= 0 && !s; k--) {
      s = index_get(call, 1, i * depth + k, (int32_t)k, data->shape[k], &place);
      if (!s) to += place * step;
      step *= data->shape[k];
    }
    if (!s) s = write_run(&r, op, to + first, call->inputs[2], i * slice + first, last - first);
  }
  return s;
}

/* ---- TensorScatter: an item is all that one prefix (batch and the dims before the axis) gets ----
 */

tn_status tensor_scatter_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor_scatter_attrs *a = call->attrs;
  const tn_tensor *update = call->inputs[1];
  plan_copy(call, out);
  around u = around_axis(update, (int32_t)(a->axis < 0 ? a->axis + update->rank : a->axis));
  int64_t bytes = rows_element_bytes(update->dtype);
  out->items[STAGE_WRITE] = bytes ? u.before : 1;
  out->grain[STAGE_WRITE] = tn_max_i64(1, 16384 / tn_max_i64(1, u.size * u.after * bytes));
  return TN_OK;
}

tn_status tensor_scatter_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  const tn_tensor_scatter_attrs *a = call->attrs;
  const tn_tensor *cache = call->inputs[0], *update = call->inputs[1];
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + cache->rank : a->axis);
  around c = around_axis(cache, axis), u = around_axis(update, axis);
  bool circular = a->mode.size == 8;
  rows r = rows_of(call, 0);
  tn_status s = TN_OK;
  (void)worker;
  if (stage == STAGE_COPY) return run_copy(call, begin, end);
  if (!r.bytes) begin = 0, end = u.before;
  if (u.size == 0) return TN_OK;
  for (int64_t k = begin; k < end && !s; k++) {
    int64_t batch = k / (u.before / cache->shape[0]),
            first = tn_has_input(call, 2) ? index_load(call->inputs[2], batch) : 0;
    if (circular && first >= 0) first %= c.size;
    if (first < 0 || (!circular && first > c.size - u.size))
      return write_index_fail(call, batch, first, c.size - u.size);
    int64_t head =
        tn_min_i64(u.size, c.size - first); /* what fits before the end; the rest wraps around */
    s = rows_copy(&r, (k * c.size + first) * c.after, update, k * u.size * u.after, head * u.after);
    if (!s)
      s = rows_copy(&r, k * c.size * c.after, update, (k * u.size + head) * u.after,
                    (u.size - head) * u.after);
  }
  return s;
}
