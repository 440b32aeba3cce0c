/* Resize over the storage: the view of it, its tables, the walk over rows, and the loops over rows
 * that are the same for all instruction sets. */
#include "rows.h"

#include <string.h>

#include "resize.gen.h"

/* ---- preparing ---- */

/* Neighbours that keep their size are one dim. */
static void add_dim(resize_state *st, resize_axis axis) {
  resize_axis *before = &st->axes[st->rank > 0 ? st->rank - 1 : 0];
  if (st->rank > 0 && !axis.resized && !before->resized) {
    before->in *= axis.in;
    before->out *= axis.out;
  } else {
    st->axes[st->rank++] = axis;
  }
}

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
  for (int32_t k = st->rank - 1; k >= 0; k--) {
    st->in_stride[k] = step;
    step *= st->axes[k].in;
  }
  st->last = st->rank - 1;
  if (st->last > 0 && !st->axes[st->last].resized) st->last--; /* its neighbour is resized */
  st->inner = st->rows = 1;
  for (int32_t k = 0; k < st->last; k++) st->rows *= st->axes[k].out;
  for (int32_t k = st->last + 1; k < st->rank; k++) st->inner *= st->axes[k].out;
  return TN_OK;
}

static bool has_table(const resize_state *st, int32_t k) {
  return k == st->last || st->axes[k].resized;
}

/* Vectors of an output row, and numbers for their lanes; 0 where rows go by slices of `inner`. */
static int64_t row_vectors(const resize_state *st, int64_t lanes) {
  return st->inner < lanes ? tn_ceil_div(resize_row_out(st), lanes) : 0;
}

static int64_t lane_bytes(const resize_state *st, int64_t lanes) {
  const int64_t vectors = row_vectors(st, lanes),
                taps = resize_taps(&st->spec, &st->axes[st->last]);
  return vectors * (4 + taps * lanes * 8) + 64;
}

tn_status resize_rows_plan(const tn_call *call, int64_t lanes, int64_t wide_bytes,
                           resize_row_ns_fn row_ns, tn_kernel_plan *out) {
  resize_state st;
  tn_status s = view(call, &st);
  uint64_t bytes = tn_round_up(sizeof st, 64), key = 0;
  for (int32_t k = 0; k < st.rank && !s; k++) {
    uint64_t table = 0;
    if (has_table(&st, k)) s = resize_table_bytes(&st.spec, &st.axes[k], &table);
    bytes += table;
    key = (key * 1000003 + (uint64_t)st.axes[k].in) * 1000003 + (uint64_t)st.axes[k].out;
  }
  if (s) return s;
  const double row = row_ns(&st);
  out->state_bytes = tn_round_up(bytes, 64) + (uint64_t)lane_bytes(&st, lanes);
  out->state_key = key ^ (uint64_t)call->inputs[0]->layout;
  out->items[0] = resize_row_out(&st) ? st.rows : 0;
  out->grain[0] = tn_grain(TN_THREAD_NS, row);
  out->worker_scratch_bytes = (uint64_t)((resize_row_in(&st) + lanes) * wide_bytes);
  out->cost_ns = (double)st.rows * row + 200;
  if (call->outputs[0]->layout == TN_PLAIN) out->elements_per_item = resize_row_out(&st);
  return TN_OK;
}

/* The elements of a vector of a row lie within low .. high of the input row. */
static void vector_span(const resize_state *st, int64_t lanes, int64_t v, int64_t *low,
                        int64_t *high) {
  const resize_table *t = &st->tables[st->last];
  const int64_t end = tn_min_i64(resize_row_out(st), (v + 1) * lanes);
  *low = INT64_MAX, *high = 0;
  for (int64_t k = v * lanes; k < end; k++)
    for (int64_t tap = 0; tap < t->taps; tap++) {
      const int64_t at = t->index[k / st->inner * t->taps + tap] * st->inner + k % st->inner;
      *low = tn_min_i64(*low, at);
      *high = tn_max_i64(*high, at);
    }
}

static void fill_vector(const resize_state *st, int64_t lanes, int64_t v) {
  const resize_table *t = &st->tables[st->last];
  const int64_t n = resize_row_out(st), from = st->lanes.first[v];
  for (int64_t tap = 0; tap < t->taps; tap++)
    for (int64_t l = 0; l < lanes; l++) {
      const int64_t k = v * lanes + l, to = (v * t->taps + tap) * lanes + l,
                    place = k / st->inner * t->taps + tap;
      const bool live = k < n;
      st->lanes.at[to] = live ? (uint32_t)(t->index[place] * st->inner + k % st->inner - from) : 0;
      st->lanes.weight[to] = live ? t->weight_f32[place] : 0;
    }
}

static void fill_lanes(resize_state *st, int64_t lanes, void *memory) {
  const int64_t vectors = row_vectors(st, lanes), taps = st->tables[st->last].taps;
  int64_t low, high, widest = 0;
  st->lanes.at = memory;
  st->lanes.weight = (float *)(void *)(st->lanes.at + vectors * taps * lanes);
  st->lanes.first = (int32_t *)(void *)(st->lanes.weight + vectors * taps * lanes);
  for (int64_t v = 0; v < vectors; v++) {
    vector_span(st, lanes, v, &low, &high);
    widest = tn_max_i64(widest, high - low + 1);
  }
  st->lanes.loads = widest <= lanes ? 1 : widest <= 2 * lanes ? 2 : widest <= 4 * lanes ? 4 : 0;
  const int64_t most = tn_max_i64(0, resize_row_in(st) - st->lanes.loads * lanes);
  for (int64_t v = 0; v < vectors; v++) {
    vector_span(st, lanes, v, &low, &high);
    st->lanes.first[v] = (int32_t)(st->lanes.loads ? tn_min_i64(low, most) : 0);
    fill_vector(st, lanes, v);
  }
}

tn_status resize_rows_prepare(const tn_call *call, int64_t lanes) {
  resize_state *st = call->state;
  tn_status s = view(call, st);
  uint8_t *state = call->state;
  uint64_t at = tn_round_up(sizeof *st, 64);
  for (int32_t k = 0; k < st->rank && !s; k++) {
    uint64_t table = 0;
    if (!has_table(st, k)) continue;
    s = resize_table_bytes(&st->spec, &st->axes[k], &table);
    resize_table_fill(&st->spec, &st->axes[k], state + at, &st->tables[k]);
    at += table;
  }
  if (!s && row_vectors(st, lanes)) fill_lanes(st, lanes, state + tn_round_up(at, 64));
  return s;
}

/* ---- walking ---- */

void resize_walk_begin(const resize_state *st, int64_t row, resize_walk *w) {
  for (int32_t k = st->last - 1; k >= 0; k--) {
    w->place[k] = row % st->axes[k].out;
    row /= st->axes[k].out;
    w->tap[k] = 0;
  }
}

/* The next row. */
void resize_walk_on(const resize_state *st, resize_walk *w) {
  for (int32_t k = st->last - 1; k >= 0; k--) {
    w->tap[k] = 0;
    if (++w->place[k] < st->axes[k].out) return;
    w->place[k] = 0;
  }
}

/* The row gets the extrapolation value. */
bool resize_walk_outside(const resize_state *st, const resize_walk *w) {
  bool outside = false;
  for (int32_t k = 0; k < st->last && st->spec.coords == COORDS_TF_CROP_AND_RESIZE; k++)
    outside = outside || (st->axes[k].resized && st->tables[k].outside[w->place[k]]);
  return outside;
}

/* Offset of the input row at the present taps, and its weight. */
int64_t resize_walk_at(const resize_state *st, const resize_walk *w, double *weight) {
  int64_t offset = 0;
  *weight = 1;
  for (int32_t k = 0; k < st->last; k++) {
    const resize_table *t = &st->tables[k];
    int64_t place = w->place[k];
    if (st->axes[k].resized) {
      const int64_t at = place * t->taps + w->tap[k];
      place = t->index[at];
      *weight *= t->weight[at];
    }
    offset += place * st->in_stride[k];
  }
  return offset;
}

/* The next taps of the row; false: there are no more. */
bool resize_walk_tap(const resize_state *st, resize_walk *w) {
  for (int32_t k = st->last - 1; k >= 0; k--) {
    if (!st->axes[k].resized) continue;
    if (++w->tap[k] < st->tables[k].taps) return true;
    w->tap[k] = 0;
  }
  return false;
}

/* ---- numbers that are no elements of the input ---- */

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

void resize_store(uint32_t dtype, void *out, int64_t at, double x) {
  if (!tn_dtype(dtype)->is_int)
    tn_store_f64(dtype, out, at, x);
  else if (dtype == TN_U64)
    tn_store_i64(dtype, out, at, (int64_t)(uint64_t)to_int_range(dtype, x));
  else
    tn_store_i64(dtype, out, at, (int64_t)to_int_range(dtype, x));
}

static void fill_places(const tn_call *call, int64_t at, int64_t n) {
  const resize_state *st = call->state;
  const tn_tensor *out = call->outputs[0];
  for (int64_t k = 0; k < n; k++)
    resize_store(out->dtype, out->data, at + k, st->spec.extrapolation);
}

void resize_fill_cropped(const tn_call *call, int64_t row, bool outside) {
  const resize_state *st = call->state;
  const int64_t n = resize_row_out(st);
  if (outside) fill_places(call, row * n, n);
  for (int64_t x = 0; !outside && x < st->axes[st->last].out; x++)
    if (st->tables[st->last].outside[x]) fill_places(call, row * n + x * st->inner, st->inner);
}

/* ---- weighted rows ---- */

double resize_mixed_taps(const resize_state *st) {
  double taps = 1;
  for (int32_t k = 0; k < st->last; k++)
    if (st->axes[k].resized) taps *= (double)resize_taps(&st->spec, &st->axes[k]);
  return taps;
}

/* The input row that the taps mix; straight from the input if there is but one. */
static const float *mix_rows(const resize_state *st, const resize_mix *mix, const float *in,
                             resize_walk *w, float *sum) {
  resize_row_taps taps;
  bool first = true, more = true;
  taps.n = 0;
  while (more) {
    double weight;
    const float *row = in + resize_walk_at(st, w, &weight);
    more = resize_walk_tap(st, w);
    if (weight == 0 && (more || taps.n > 0 || !first)) continue;
    taps.row[taps.n] = row;
    taps.weight[taps.n++] = (float)weight;
    if (taps.n < RESIZE_MAX_TAPS) continue;
    mix->rows(&taps, resize_row_in(st), first, sum);
    taps.n = 0;
    first = false;
  }
  if (first && taps.n == 1 && taps.weight[0] == 1) return taps.row[0];
  if (taps.n > 0) mix->rows(&taps, resize_row_in(st), first, sum);
  return sum;
}

tn_status resize_mixed_run(const tn_call *call, const resize_mix *mix, int64_t begin, int64_t end,
                           uint32_t worker) {
  const resize_state *st = call->state;
  const int64_t n = resize_row_out(st);
  float *sum =
      (float *)(void *)((uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes);
  float *out = (float *)call->outputs[0]->data + begin * n;
  resize_walk w;
  resize_walk_begin(st, begin, &w);
  for (int64_t r = begin; r < end; r++, out += n, resize_walk_on(st, &w)) {
    const bool outside = resize_walk_outside(st, &w);
    if (!outside) mix->places(st, mix_rows(st, mix, call->inputs[0]->data, &w, sum), out);
    if (st->spec.coords == COORDS_TF_CROP_AND_RESIZE) resize_fill_cropped(call, r, outside);
  }
  return TN_OK;
}

/* ---- nearest ---- */

/* Input place of an output place of a dim before `last`. */
static int64_t nearest_index(const resize_state *st, int32_t k, int64_t place) {
  return st->axes[k].resized ? st->tables[k].index[place] : place;
}

/* Output rows of the dim before `last` that are picked from the same input row. */
static int64_t same_rows(const resize_state *st, int64_t place, int64_t end) {
  const int32_t k = st->last - 1;
  int64_t n = 1;
  if (k < 0 || !st->axes[k].resized) return 1;
  while (place + n < end && st->tables[k].index[place + n] == st->tables[k].index[place]) n++;
  return n;
}

tn_status resize_nearest_run(const tn_call *call, resize_pick_fn pick, int64_t begin, int64_t end) {
  const resize_state *st = call->state;
  const int64_t element = tn_dtype(call->inputs[0]->dtype)->bits / 8, n = resize_row_out(st);
  const int32_t k = st->last - 1;
  const bool crops = st->spec.coords == COORDS_TF_CROP_AND_RESIZE;
  resize_walk w;
  resize_walk_begin(st, begin, &w);
  for (int64_t r = begin, copies; r < end;) {
    double weight;
    const uint8_t *in = call->inputs[0]->data;
    uint8_t *out = call->outputs[0]->data;
    int64_t first = k < 0 ? 0 : w.place[k], last = k < 0 ? 1 : st->axes[k].out;
    last = tn_min_i64(last, first + end - r);
    if (k >= 0) w.place[k] = 0;
    in += resize_walk_at(st, &w, &weight) * element;
    if (k >= 0) in -= nearest_index(st, k, 0) * st->in_stride[k] * element;
    for (int64_t y = first; y < last; y += copies, r += copies) {
      const int64_t row = k < 0 ? 0 : nearest_index(st, k, y) * st->in_stride[k];
      copies = same_rows(st, y, last);
      pick(st, in + row * element, element, copies, out + r * n * element);
    }
    if (k >= 0) w.place[k] = st->axes[k].out - 1;
    resize_walk_on(st, &w);
  }
  resize_walk_begin(st, begin, &w);
  for (int64_t r = begin; r < end && crops; r++, resize_walk_on(st, &w))
    resize_fill_cropped(call, r, resize_walk_outside(st, &w));
  return TN_OK;
}
