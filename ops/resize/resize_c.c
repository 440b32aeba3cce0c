/* Resize, portable: the inner loops, and the kernels of types that are no f32. */
#include <string.h>

#include "resize_any.h"

#include "resize.gen.h"

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

tn_status resize_prepare(const tn_call *call) { return resize_rows_prepare(call, 0); }

/* ---- f32 ---- */

static double mixed_row_ns(const resize_state *st) {
  const double along = (double)resize_taps(&st->spec, &st->axes[st->last]);
  return 20 + 0.2 * resize_mixed_taps(st) * (double)resize_row_in(st) +
         0.5 * along * (double)resize_row_out(st);
}

static void add_row(float *sum, const float *x, int64_t n, float w, bool first) {
  if (first)
    for (int64_t k = 0; k < n; k++) sum[k] = w * x[k];
  else
    for (int64_t k = 0; k < n; k++) sum[k] += w * x[k];
}

static void mix_rows(const resize_row_taps *taps, int64_t n, bool first, float *sum) {
  for (int64_t k = 0; k < taps->n; k++)
    add_row(sum, taps->row[k], n, taps->weight[k], first && k == 0);
}

static void mix_slices(const resize_state *st, const float *row, float *out) {
  const resize_table *t = &st->tables[st->last];
  const int64_t inner = st->inner;
  for (int64_t x = 0; x < st->axes[st->last].out; x++, out += inner)
    for (int64_t k = 0; k < t->taps; k++)
      add_row(out, row + t->index[x * t->taps + k] * inner, inner, t->weight_f32[x * t->taps + k],
              k == 0);
}

static void mix_places(const resize_state *st, const float *row, float *out) {
  const resize_table *t = &st->tables[st->last];
  const int64_t *index = t->index;
  const float *w = t->weight_f32;
  if (st->inner > 1) {
    mix_slices(st, row, out);
    return;
  }
  for (int64_t x = 0; x < st->axes[st->last].out; x++, index += t->taps, w += t->taps) {
    float sum = w[0] * row[index[0]];
    for (int64_t k = 1; k < t->taps; k++) sum += w[k] * row[index[k]];
    out[x] = sum;
  }
}

tn_status resize_f32_plan(const tn_call *call, tn_kernel_plan *out) {
  return resize_rows_plan(call, 0, sizeof(float), mixed_row_ns, out);
}

tn_status resize_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  static const resize_mix mix = {mix_rows, mix_places};
  (void)stage;
  return resize_mixed_run(call, &mix, begin, end, worker);
}

/* ---- integers and f64 ---- */

tn_status resize_any_plan(const tn_call *call, tn_kernel_plan *out) {
  return resize_rows_plan(call, 0, sizeof(double), any_row_ns, out);
}

tn_status resize_any_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  (void)stage;
  return any_run(call, begin, end, worker);
}

/* ---- nearest, all types ---- */

static double nearest_row_ns(const resize_state *st) {
  return 20 + 0.4 * (double)st->axes[st->last].out * (1 + 0.1 * (double)st->inner);
}

static bool is_odd(uint32_t dtype) { return dtype == TN_STRING || tn_dtype(dtype)->bits < 8; }

tn_status resize_nearest_plan(const tn_call *call, tn_kernel_plan *out) {
  tn_status s = resize_rows_plan(call, 0, 0, nearest_row_ns, out);
  if (s || !is_odd(call->inputs[0]->dtype)) return s;
  out->items[0] = 1;
  out->elements_per_item = 0;
  return TN_OK;
}

/* Places of a constant size. */
#define PICK(n)                                                                                  \
  static void pick_##n(const int64_t *index, int64_t places, const uint8_t *row, uint8_t *out) { \
    for (int64_t x = 0; x < places; x++) memcpy(out + (n)*x, row + (n)*index[x], n);             \
  }
PICK(1)
PICK(2)
PICK(4)
PICK(8)
PICK(16)
PICK(32)
PICK(64)

static void pick_row(const resize_state *st, const uint8_t *row, int64_t bytes, int64_t copies,
                     uint8_t *out) {
  const int64_t *index = st->tables[st->last].index, places = st->axes[st->last].out,
                each = bytes * st->inner;
  switch (each) {
    case 1: pick_1(index, places, row, out); break;
    case 2: pick_2(index, places, row, out); break;
    case 4: pick_4(index, places, row, out); break;
    case 8: pick_8(index, places, row, out); break;
    case 16: pick_16(index, places, row, out); break;
    case 32: pick_32(index, places, row, out); break;
    case 64: pick_64(index, places, row, out); break;
    default:
      for (int64_t x = 0; x < places; x++)
        memcpy(out + each * x, row + each * index[x], (size_t)each);
  }
  for (int64_t k = 1; k < copies; k++)
    memcpy(out + k * places * each, out, (size_t)(places * each));
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
        resize_store(out->dtype, out->data, to,
                     off ? st->spec.extrapolation : tn_load_f64(in->dtype, in->data, from));
      }
    }
  return s;
}

tn_status resize_nearest_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  const resize_state *st = call->state;
  tn_status s = TN_OK;
  resize_walk w;
  (void)stage, (void)worker;
  if (!is_odd(call->inputs[0]->dtype)) return resize_nearest_run(call, pick_row, begin, end);
  resize_walk_begin(st, 0, &w);
  for (int64_t r = 0; r < (resize_row_out(st) ? st->rows : 0) && !s; r++, resize_walk_on(st, &w)) {
    double weight;
    const int64_t offset = resize_walk_at(st, &w, &weight);
    s = nearest_odd(call, r, offset, resize_walk_outside(st, &w));
  }
  return s;
}
