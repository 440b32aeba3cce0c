/* Resize as C: of one or two dims next to each other, as rows_c.c does it. */
#include "rows.h"
#include "tenon/experimental/emit_c.h"

static const char *refuse(const tn_call *call) {
  const resize_state *st = call->state;
  if (!st || tn_dtype(call->inputs[0]->dtype)->bits % 8) return "takes elements of whole bytes";
  if (st->spec.coords == COORDS_TF_CROP_AND_RESIZE) return "takes no tf_crop_and_resize";
  if (!tn_elements(call->outputs[0])) return "its output has no elements";
  const bool plane = st->last == 2 && !st->axes[0].resized && st->axes[1].resized;
  return st->last < 2 || plane ? NULL : "resizes one or two dims next to each other";
}

/* The dim of the rows; -1: there is but the last one. */
static int32_t row_dim(const resize_state *st) {
  const int32_t k = st->last - 1;
  return k >= 0 && st->axes[k].resized ? k : -1;
}

static const char *add_array(const tn_emit *e, uint32_t dtype, int64_t n, void *data) {
  const tn_tensor t = tn_tensor_make(dtype, 1, &n, data);
  return data ? e->constant(e, &t) : "NULL";
}

/* Offsets of input rows, and weights, in the order in which they are added; those of no
 * weight are left out, and -1 stands in their place. */
static void fill_row(const resize_table *t, int64_t row, int64_t step, int32_t *offset,
                     float *weight) {
  int64_t used = 0;
  for (int64_t k = 0; k < t->taps; k++) {
    const double w = t->weight[row * t->taps + k];
    if (w == 0 && (k + 1 < t->taps || used > 0)) continue;
    offset[used] = (int32_t)(t->index[row * t->taps + k] * step);
    weight[used++] = (float)w;
  }
  for (; used < t->taps; used++) offset[used] = -1;
}

typedef struct row_tables {
  int64_t rows, taps;
  const char *offset, *weight;
} row_tables;

static row_tables write_rows(const tn_emit *e, const resize_state *st) {
  const int32_t dim = row_dim(st);
  const resize_table *t = dim < 0 ? NULL : &st->tables[dim];
  const int64_t rows = t ? st->axes[dim].out : 1, taps = t ? t->taps : 1, n = rows * taps;
  int32_t *offset = e->memory(e, (uint64_t)n * sizeof *offset);
  float *weight = e->memory(e, (uint64_t)n * sizeof *weight);
  if (weight) weight[0] = 1;
  for (int64_t r = 0; t && offset && weight && r < rows; r++)
    fill_row(t, r, st->in_stride[dim], offset + r * taps, weight + r * taps);
  return (row_tables){rows, taps, add_array(e, TN_I32, n, offset), add_array(e, TN_F32, n, weight)};
}

/* Places along the last dim, each of them times `unit`. */
static const char *write_places(const tn_emit *e, const resize_table *t, int64_t n, int64_t unit) {
  int32_t *place = e->memory(e, (uint64_t)n * sizeof *place);
  for (int64_t k = 0; place && k < n; k++) place[k] = (int32_t)(t->index[k] * unit);
  return add_array(e, TN_I32, n, place);
}

/* Planes of the input, and the elements of one. */
static int64_t planes_of(const resize_state *st, int64_t *out_plane) {
  const int32_t outer = row_dim(st) < 0 ? st->last - 1 : st->last - 2;
  *out_plane = outer < 0 ? 0 : st->in_stride[outer];
  return outer < 0 ? 1 : st->axes[outer].in;
}

static uint64_t scratch(const tn_call *call) {
  return call->state ? (uint64_t)resize_row_in(call->state) * sizeof(float) : 0;
}

static void emit(const tn_emit *e) {
  const resize_state *st = e->call->state;
  const resize_table *t = &st->tables[st->last];
  const int64_t n = st->axes[st->last].out * t->taps;
  int64_t plane;
  const int64_t outer = planes_of(st, &plane);
  const row_tables rows = write_rows(e, st);
  e->code(e, "emit/resize.c");
  e->table(e, "static const struct resize resize_%u = {%d, %d, %d, %d, %d, %d, %d, %d};\n", e->step,
           (int)outer, (int)plane, (int)rows.rows, (int)rows.taps, (int)st->axes[st->last].in,
           (int)st->axes[st->last].out, (int)st->inner, (int)t->taps);
  e->line(e, "resize_f32(&resize_%u, %s, %s, %s, %s, %s, %s, %s);", e->step, e->input(e, 0),
          rows.offset, rows.weight, write_places(e, t, n, 1),
          add_array(e, TN_F32, n, t->weight_f32), e->output(e, 0), e->scratch(e));
}

static void nearest_emit(const tn_emit *e) {
  const resize_state *st = e->call->state;
  const int64_t element = tn_dtype(e->call->inputs[0]->dtype)->bits / 8;
  const int32_t dim = row_dim(st);
  const int64_t rows = dim < 0 ? 1 : st->axes[dim].out, n = st->axes[st->last].out;
  int64_t plane;
  const int64_t outer = planes_of(st, &plane);
  int32_t *row = e->memory(e, (uint64_t)rows * sizeof *row);
  for (int64_t r = 0; row && dim >= 0 && r < rows; r++)
    row[r] = (int32_t)(st->tables[dim].index[r] * st->in_stride[dim] * element);
  e->code(e, "emit/nearest.c");
  e->line(e, "resize_nearest(%s, %s, %d, %d, %s, %d, %s, %d, %d);", e->input(e, 0), e->output(e, 0),
          (int)outer, (int)(plane * element), add_array(e, TN_I32, rows, row), (int)rows,
          write_places(e, &st->tables[st->last], n, st->inner * element), (int)n,
          (int)(st->inner * element));
}

static const tn_emitter mixed_emitter = {.head = TN_HEAD(tn_emitter),
                                         .kernel = "resize_f32_c",
                                         .refuse = refuse,
                                         .scratch = scratch,
                                         .emit = emit};
static const tn_emitter nearest_emitter = {.head = TN_HEAD(tn_emitter),
                                           .kernel = "resize_nearest_c",
                                           .refuse = refuse,
                                           .emit = nearest_emit};
const tn_emitter *const resize_emitters[] = {&mixed_emitter, &nearest_emitter, NULL};
