/* Resize, portable. The innermost resized dim is done last: an output row is made of a weighted sum
 * of input rows (over the taps of all other resized dims), whose elements are then mixed along that
 * dim. Runs over the storage, so that layouts other than plain work as long as their channels keep
 * their size. Tables are prepared. */
#include <string.h>

#include "resize.h"

#include "resize.gen.h"

enum { MAX_DIMS = TN_MAX_RANK + 1 };

typedef struct resize_state {
  resize_spec spec;
  int32_t rank, last; /* dims of the storage; the innermost resized one */
  resize_axis axes[MAX_DIMS];
  int64_t in_stride[MAX_DIMS]; /* elements */
  int64_t inner;               /* elements after `last` */
  int64_t rows;                /* output places before `last` */
  resize_table tables[MAX_DIMS];
} resize_state;

/* ---- preparing ---- */

static void add_dim(resize_state *st, resize_axis axis) { st->axes[st->rank++] = axis; }

/* The dims as they lie in memory: plain, channels at the end, or channels in blocks. */
static void view_storage(const tn_call *call, resize_state *st) {
  const tn_tensor *in = call->inputs[0];
  int64_t b =
      in->layout == TN_PLAIN || in->layout == TN_CHANNELS_LAST ? 0 : TN_LAYOUT_BLOCK(in->layout);
  resize_axis one = {.in = 1, .out = 1, .scale = 1};
  st->rank = 0;
  for (int32_t k = 0; k < in->rank; k++) {
    resize_axis axis = st->spec.axes[k];
    if (k == 1 && in->layout == TN_CHANNELS_LAST) continue;
    if (k == 1 && b) axis.in = axis.out = tn_ceil_div(axis.in, b);
    add_dim(st, axis);
  }
  if (b) one.in = one.out = b;
  if (in->layout == TN_CHANNELS_LAST)
    add_dim(st, st->spec.axes[1]);
  else if (b || in->rank == 0)
    add_dim(st, one);
}

static tn_status view(const tn_call *call, resize_state *st) {
  tn_status s = resize_parse(call, &st->spec);
  if (s) return s;
  view_storage(call, st);
  int64_t step = 1;
  st->last = st->rank - 1;
  for (int32_t k = st->rank - 1; k >= 0; k--) {
    st->in_stride[k] = step;
    step *= st->axes[k].in;
  }
  for (int32_t k = st->rank - 1; k > 0 && !st->axes[k].resized; k--) st->last = k - 1;
  if (!st->axes[st->last].resized) st->last = st->rank - 1; /* nothing is resized */
  st->inner = st->rows = 1;
  for (int32_t k = 0; k < st->last; k++) st->rows *= st->axes[k].out;
  for (int32_t k = st->last + 1; k < st->rank; k++) st->inner *= st->axes[k].out;
  return TN_OK;
}

static const char *refuse_layout(const tn_call *call) {
  const tn_tensor *in = call->inputs[0];
  if (in->layout == TN_PLAIN) return NULL;
  if (in->dtype == TN_STRING) return "strings have plain layout only";
  if (in->rank < 3 || in->shape[1] != call->outputs[0]->shape[1])
    return "resizes the channels, which takes plain layout";
  const tn_str coords = ((const tn_resize_attrs *)call->attrs)->coordinate_transformation_mode;
  return coords.size > 3 && !memcmp(coords.data, "tf_c", 4)
             ? "tf_crop_and_resize takes plain layout"
             : NULL;
}

static bool is_nearest(const tn_call *call) {
  return ((const tn_resize_attrs *)call->attrs)->mode.size == 7;
}

const char *resize_nearest_refuse(const tn_call *call) {
  return is_nearest(call) ? refuse_layout(call) : "mode is not nearest";
}

const char *resize_mixed_refuse(const tn_call *call) {
  return is_nearest(call) ? "mode is nearest" : refuse_layout(call);
}

static tn_status plan(const tn_call *call, int64_t wide_bytes, tn_kernel_plan *out) {
  resize_state st;
  tn_status s = view(call, &st);
  uint64_t bytes = tn_round_up(sizeof st, 16), key = 0;
  for (int32_t k = 0; k < st.rank && !s; k++) {
    uint64_t table = 0;
    s = resize_table_bytes(&st.spec, &st.axes[k], &table);
    bytes += table;
    key = (key * 1000003 + (uint64_t)st.axes[k].in) * 1000003 + (uint64_t)st.axes[k].out;
  }
  if (s) return s;
  int64_t in_row = st.axes[st.last].in * st.inner, out_row = st.axes[st.last].out * st.inner;
  out->state_bytes = bytes;
  out->state_key = key ^ (uint64_t)call->inputs[0]->layout;
  out->items[0] = out_row ? st.rows : 0;
  out->grain[0] = tn_max_i64(1, 4096 / tn_max_i64(1, in_row + out_row));
  out->worker_scratch_bytes = (uint64_t)in_row * (uint64_t)wide_bytes;
  return TN_OK;
}

tn_status resize_prepare(const tn_call *call) {
  resize_state *st = call->state;
  tn_status s = view(call, st);
  uint8_t *memory = (uint8_t *)call->state + tn_round_up(sizeof *st, 16);
  for (int32_t k = 0; k < st->rank && !s; k++) {
    uint64_t table = 0;
    s = resize_table_bytes(&st->spec, &st->axes[k], &table);
    resize_table_fill(&st->spec, &st->axes[k], memory, &st->tables[k]);
    memory += table;
  }
  return s;
}

/* ---- walking the input rows of an output row ---- */

/* One choice of taps in the dims before `last`. */
typedef struct row_walk {
  int64_t place[MAX_DIMS], tap[MAX_DIMS];
  bool outside; /* the row gets the extrapolation value */
} row_walk;

static void row_begin(const resize_state *st, int64_t row, row_walk *w) {
  w->outside = false;
  for (int32_t k = st->last - 1; k >= 0; k--) {
    w->place[k] = row % st->axes[k].out;
    row /= st->axes[k].out;
    w->tap[k] = 0;
    w->outside = w->outside || st->tables[k].outside[w->place[k]];
  }
}

/* Offset of the input row at the present taps, and its weight. */
static int64_t row_at(const resize_state *st, const row_walk *w, double *weight) {
  int64_t offset = 0;
  *weight = 1;
  for (int32_t k = 0; k < st->last; k++) {
    const resize_table *t = &st->tables[k];
    int64_t at = w->place[k] * t->taps + w->tap[k];
    offset += t->index[at] * st->in_stride[k];
    *weight *= t->weight[at];
  }
  return offset;
}

static bool row_next(const resize_state *st, row_walk *w) {
  for (int32_t k = st->last - 1; k >= 0; k--) {
    if (++w->tap[k] < st->tables[k].taps) return true;
    w->tap[k] = 0;
  }
  return false;
}

/* ---- f32 ---- */

static void add_row_f32(float *sum, const float *x, int64_t n, float w, bool first) {
  if (first)
    for (int64_t k = 0; k < n; k++) sum[k] = w * x[k];
  else
    for (int64_t k = 0; k < n; k++) sum[k] += w * x[k];
}

/* The input row that the taps mix; straight from the input if there is but one. */
static const float *mix_rows_f32(const resize_state *st, const float *in, row_walk *w, float *sum) {
  int64_t n = st->axes[st->last].in * st->inner;
  const float *only = NULL;
  bool first = true, more = true;
  for (int32_t k = 0; k < st->last; k++)
    if (st->tables[k].taps > 1) only = sum;
  while (more) {
    double weight;
    int64_t offset = row_at(st, w, &weight);
    more = row_next(st, w);
    if (!only) return in + offset;
    if (weight == 0 && (more || !first)) continue;
    add_row_f32(sum, in + offset, n, (float)weight, first);
    first = false;
  }
  return only;
}

static void mix_places_f32(const resize_table *t, const float *row, int64_t n, float *out) {
  const int64_t *index = t->index;
  const float *w = t->weight_f32;
  if (t->taps == 2) {
    for (int64_t x = 0; x < n; x++)
      out[x] = w[2 * x] * row[index[2 * x]] + w[2 * x + 1] * row[index[2 * x + 1]];
    return;
  }
  for (int64_t x = 0; x < n; x++, index += t->taps, w += t->taps) {
    float sum = w[0] * row[index[0]];
    for (int64_t k = 1; k < t->taps; k++) sum += w[k] * row[index[k]];
    out[x] = sum;
  }
}

static void mix_slices_f32(const resize_table *t, const float *row, int64_t n, int64_t inner,
                           float *out) {
  for (int64_t x = 0; x < n; x++, out += inner)
    for (int64_t k = 0; k < t->taps; k++)
      add_row_f32(out, row + t->index[x * t->taps + k] * inner, inner,
                  t->weight_f32[x * t->taps + k], k == 0);
}

static void fill_f32(float *out, int64_t n, double value) {
  for (int64_t k = 0; k < n; k++) out[k] = (float)value;
}

tn_status resize_f32_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, sizeof(float), out);
}

tn_status resize_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  const resize_state *st = call->state;
  const resize_table *last = &st->tables[st->last];
  float *sum =
      (float *)(void *)((uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes);
  int64_t places = st->axes[st->last].out, n = places * st->inner;
  (void)stage;
  for (int64_t r = begin; r < end; r++) {
    float *out = (float *)call->outputs[0]->data + r * n;
    row_walk w;
    row_begin(st, r, &w);
    if (w.outside) {
      fill_f32(out, n, st->spec.extrapolation);
      continue;
    }
    const float *row = mix_rows_f32(st, call->inputs[0]->data, &w, sum);
    if (st->inner == 1)
      mix_places_f32(last, row, places, out);
    else
      mix_slices_f32(last, row, places, st->inner, out);
    for (int64_t x = 0; x < places; x++)
      if (last->outside[x]) fill_f32(out + x * st->inner, st->inner, st->spec.extrapolation);
  }
  return TN_OK;
}

/* ---- all other number types, in f64 ---- */

/* As an integer type saw a float become it: the fraction is cut off, values out of range are its
 * limits. */
static double to_int_range(uint32_t dtype, double x) {
  const tn_dtype_info *info = tn_dtype(dtype);
  double limit = 1;
  for (uint32_t k = info->is_signed ? 1 : 0; k < info->bits; k++) limit *= 2;
  double most = info->bits == 64 ? limit - 2048 : limit - 1; /* representable below the limit */
  double least = info->is_signed ? -limit : 0;
  return x != x ? 0 : x < least ? least : x > most ? most : x;
}

static void store(uint32_t dtype, void *out, int64_t at, double x) {
  if (!tn_dtype(dtype)->is_int)
    tn_store_f64(dtype, out, at, x);
  else if (dtype == TN_U64)
    tn_store_i64(dtype, out, at, (int64_t)(uint64_t)to_int_range(dtype, x));
  else
    tn_store_i64(dtype, out, at, (int64_t)to_int_range(dtype, x));
}

static void mix_rows_f64(const resize_state *st, const tn_tensor *in, row_walk *w, double *sum) {
  int64_t n = st->axes[st->last].in * st->inner;
  bool more = true;
  memset(sum, 0, (size_t)n * sizeof *sum);
  while (more) {
    double weight;
    int64_t offset = row_at(st, w, &weight);
    more = row_next(st, w);
    for (int64_t k = 0; k < n && weight != 0; k++)
      sum[k] += weight * tn_load_f64(in->dtype, in->data, offset + k);
  }
}

tn_status resize_any_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, sizeof(double), out);
}

tn_status resize_any_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  const resize_state *st = call->state;
  const resize_table *last = &st->tables[st->last];
  const tn_tensor *out = call->outputs[0];
  double *sum =
      (double *)(void *)((uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes);
  int64_t places = st->axes[st->last].out;
  (void)stage;
  for (int64_t r = begin; r < end; r++) {
    row_walk w;
    row_begin(st, r, &w);
    if (!w.outside) mix_rows_f64(st, call->inputs[0], &w, sum);
    for (int64_t x = 0; x < places; x++)
      for (int64_t j = 0; j < st->inner; j++) {
        double total = 0;
        for (int64_t k = 0; k < last->taps && !w.outside; k++)
          total += last->weight[x * last->taps + k] *
                   sum[last->index[x * last->taps + k] * st->inner + j];
        if (w.outside || last->outside[x]) total = st->spec.extrapolation;
        store(out->dtype, out->data, (r * places + x) * st->inner + j, total);
      }
  }
  return TN_OK;
}

/* ---- nearest, all types ---- */

static bool is_odd(uint32_t dtype) { return dtype == TN_STRING || tn_dtype(dtype)->bits < 8; }

tn_status resize_nearest_plan(const tn_call *call, tn_kernel_plan *out) {
  tn_status s = plan(call, 0, out);
  if (!s && is_odd(call->inputs[0]->dtype)) out->items[0] = 1;
  return s;
}

/* Places of `bytes` each, picked from a row. */
static void pick_places(const int64_t *index, int64_t n, const uint8_t *row, int64_t bytes,
                        uint8_t *out) {
  switch (bytes) {
    case 1:
      for (int64_t x = 0; x < n; x++) out[x] = row[index[x]];
      break;
    case 2:
      for (int64_t x = 0; x < n; x++) memcpy(out + 2 * x, row + 2 * index[x], 2);
      break;
    case 4:
      for (int64_t x = 0; x < n; x++) memcpy(out + 4 * x, row + 4 * index[x], 4);
      break;
    case 8:
      for (int64_t x = 0; x < n; x++) memcpy(out + 8 * x, row + 8 * index[x], 8);
      break;
    default:
      for (int64_t x = 0; x < n; x++)
        memcpy(out + bytes * x, row + bytes * index[x], (size_t)bytes);
  }
}

static void fill_places(const tn_call *call, int64_t at, int64_t n) {
  const resize_state *st = call->state;
  const tn_tensor *out = call->outputs[0];
  for (int64_t k = 0; k < n; k++) store(out->dtype, out->data, at + k, st->spec.extrapolation);
}

/* Strings and types below a byte, element by element. The extrapolation value of a string is the
 * empty one. */
static tn_status nearest_odd(const tn_call *call, int64_t row, int64_t offset, bool outside) {
  const resize_state *st = call->state;
  const resize_table *last = &st->tables[st->last];
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  const tn_str empty = {"", 0};
  tn_status s = TN_OK;
  for (int64_t x = 0; x < st->axes[st->last].out && !s; x++)
    for (int64_t j = 0; j < st->inner && !s; j++) {
      int64_t to = (row * st->axes[st->last].out + x) * st->inner + j,
              from = offset + last->index[x] * st->inner + j;
      bool off = outside || last->outside[x];
      if (out->dtype == TN_STRING) {
        tn_str text = off ? empty : ((const tn_str *)in->data)[from];
        s = call->host->string_set(call->ctx, 0, to, text.data, text.size);
      } else {
        store(out->dtype, out->data, to,
              off ? st->spec.extrapolation : tn_load_f64(in->dtype, in->data, from));
      }
    }
  return s;
}

tn_status resize_nearest_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  const resize_state *st = call->state;
  const resize_table *last = &st->tables[st->last];
  bool odd = is_odd(call->inputs[0]->dtype);
  int64_t element = tn_dtype(call->inputs[0]->dtype)->bits / 8, places = st->axes[st->last].out,
          n = places * st->inner;
  int64_t before = -1; /* input row of the output row before */
  tn_status s = TN_OK;
  (void)stage, (void)worker;
  if (odd) end = n ? st->rows : 0;
  for (int64_t r = begin; r < end && !s; r++) {
    uint8_t *out = (uint8_t *)call->outputs[0]->data + r * n * element;
    double weight;
    row_walk w;
    row_begin(st, r, &w);
    int64_t offset = row_at(st, &w, &weight);
    if (odd) {
      s = nearest_odd(call, r, offset, w.outside);
    } else if (w.outside) {
      fill_places(call, r * n, n);
    } else if (offset == before) {
      memcpy(out, out - n * element, (size_t)(n * element));
    } else {
      pick_places(last->index, places, (const uint8_t *)call->inputs[0]->data + offset * element,
                  st->inner * element, out);
      for (int64_t x = 0; x < places; x++)
        if (last->outside[x]) fill_places(call, r * n + x * st->inner, st->inner);
    }
    before = w.outside ? -1 : offset;
  }
  return s;
}
