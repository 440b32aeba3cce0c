/* Operators that move elements, give them another shape or pick some of them. What elements stand
 * for does not matter here, but where several quantised values meet. */
#include "lower.h"
#include "tflite.gen.h"

/* ---- shapes ---- */

/* The input wins over the attribute. */
tn_status tflite_reshape(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_ints attr = tn_low_ints(&t, "new_shape");
  const bool given = tn_low_type(&t, 1) && tn_low_type(&t, 1)->rank == 1;
  const int32_t shape = given ? tn_low_in_i64(&t, 1) : tn_low_ints_const(&t, attr.data, attr.size);
  const int32_t inputs[] = {tn_low_in(&t, 0), shape};
  const tn_attr allowzero = tn_attr_int("allowzero", 1);
  /* zero and -1 are never together, which allowzero would refuse */
  return tn_low_done(
      &t, tn_low_emit(&t, "Reshape", inputs, 2, &allowzero, tn_elements(tn_low_type(&t, 0)) == 0));
}

tn_status tflite_squeeze(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_ints dims = tn_low_ints(&t, "squeeze_dims");
  const int32_t inputs[] = {tn_low_in(&t, 0),
                            dims.size ? tn_low_ints_const(&t, dims.data, dims.size) : TN_NO_ID};
  return tn_low_done(&t, tn_low_emit(&t, "Squeeze", inputs, dims.size ? 2 : 1, NULL, 0));
}

tn_status tflite_expand_dims(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t axis[TN_MAX_RANK], n;
  const tn_status s = tfl_const_dims(&t, 1, axis, &n);
  return s ? s
           : tn_low_done(
                 &t, tn_low_2(&t, "Unsqueeze", tn_low_in(&t, 0), tn_low_ints_const(&t, axis, n)));
}

tn_status tflite_shape(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  enum { INT64 = 4 };
  const int32_t shape = tn_low_1(&t, "Shape", tn_low_in(&t, 0));
  return tn_low_done(
      &t, tn_low_int(&t, "out_type", 2) == INT64 ? shape : tn_low_cast(&t, shape, TN_I32));
}

tn_status tflite_rank(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t, tn_low_number(&t, TN_I32, tn_low_type(&t, 0)->rank));
}

tn_status tflite_cast(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const uint32_t from = tn_low_type(&t, 0)->dtype;
  const bool is_complex = from == TN_C64 || from == TN_C128; /* the real part is what is cast */
  const int32_t x = is_complex ? tn_low_1(&t, "tflite::REAL", tn_low_in(&t, 0)) : tn_low_in(&t, 0);
  return tn_low_done(&t, tn_low_1_int(&t, "Cast", x, "to", tn_low_int(&t, "out_dtype", 0)));
}

tn_status tflite_transpose(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t perm[TN_MAX_RANK], n;
  const tn_status s = tfl_const_dims(&t, 1, perm, &n);
  if (s) return s;
  const int32_t x = tn_low_in(&t, 0);
  const tn_attr a = tn_attr_ints("perm", (tn_ints){perm, n});
  return tn_low_done(&t, tn_low_emit(&t, "Transpose", &x, 1, &a, 1));
}

/* ---- filling ---- */

tn_status tflite_fill(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t, tn_low_2(&t, "Expand", tn_low_in(&t, 1), tn_low_in_i64(&t, 0)));
}

tn_status tflite_broadcast_to(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t, tn_low_2(&t, "Expand", tn_low_in(&t, 0), tn_low_in_i64(&t, 1)));
}

tn_status tflite_tile(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t, tn_low_2(&t, "Tile", tn_low_in(&t, 0), tn_low_in_i64(&t, 1)));
}

int32_t tfl_filled(const tn_lowering *t, int32_t value, int32_t rank, const int64_t *shape) {
  return tn_low_2(t, "Expand", value, tn_low_ints_const(t, shape, rank));
}

tn_status tflite_zeros_like(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  return tn_low_done(&t, tfl_filled(&t, tn_low_number(&t, x->dtype, 0), x->rank, x->shape));
}

/* ---- padding ---- */

/* Input 1, [rank, 2]: before and behind each dim; as ai.onnx has them: all before, all behind. */
static tn_status read_pads(const tn_lowering *t, int64_t *out) {
  const int32_t rank = tn_low_type(t, 0)->rank;
  int64_t pads[2 * TN_MAX_RANK], n;
  const tn_status s = tn_const_ints(t->call, 1, pads, 2 * TN_MAX_RANK, &n);
  if (!s && n != 2 * rank) return tn_low_unsupported(t, "paddings that are not [rank, 2]");
  for (int32_t k = 0; k < rank && !s; k++) {
    out[k] = pads[2 * k];
    out[rank + k] = pads[2 * k + 1];
  }
  return s;
}

/* ONNX Runtime pads no values of 16 bits. */
int32_t tfl_padded(const tn_lowering *t, const char *mode, const int64_t *pads, int32_t fill) {
  const tn_tensor *x = tn_low_type(t, 0);
  const bool widens = x->dtype == TN_I16 && tn_low_for_onnx(t);
  int32_t inputs[] = {tn_low_in(t, 0), tn_low_ints_const(t, pads, 2 * x->rank), fill};
  const tn_attr a = tn_attr_str("mode", mode);
  for (int k = 0; k < 3 && widens; k += 2)
    if (inputs[k] >= 0) inputs[k] = tn_low_cast(t, inputs[k], TN_I32);
  const int32_t y = tn_low_emit(t, "Pad", inputs, fill == TN_NO_ID ? 2 : 3, &a, 1);
  return widens ? tn_low_cast(t, y, TN_I16) : y;
}

/* Padded codes stand for 0. */
tn_status tflite_pad(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t pads[2 * TN_MAX_RANK];
  const tn_status s = read_pads(&t, pads);
  if (s) return s;
  const double zero = tfl_is_quantised(&t) ? (double)tfl_zero(&t, tfl_y(&t)) : 0;
  return tn_low_done(
      &t, tfl_padded(&t, "constant", pads, tn_low_number(&t, tn_low_type(&t, 0)->dtype, zero)));
}

tn_status tflite_padv2(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t pads[2 * TN_MAX_RANK];
  const tn_status s = read_pads(&t, pads);
  if (s) return s;
  const int32_t fill =
      tn_low_type(&t, 2)->rank ? tn_low_reshape(&t, tn_low_in(&t, 2), 0, pads) : tn_low_in(&t, 2);
  return tn_low_done(&t, tfl_padded(&t, "constant", pads, fill));
}

/* Elements from, from + step ... of one dim, n of them. */
static int32_t slice_dim(const tn_lowering *t, int32_t x, int64_t dim, int64_t from, int64_t to,
                         int64_t step) {
  const int32_t inputs[] = {x, tn_low_ints_const(t, &from, 1), tn_low_ints_const(t, &to, 1),
                            tn_low_ints_const(t, &dim, 1), tn_low_ints_const(t, &step, 1)};
  return tn_low_emit(t, "Slice", inputs, 5, NULL, 0);
}

int32_t tfl_joined(const tn_lowering *t, const int32_t *parts, uint32_t n, int64_t axis) {
  const tn_attr a = tn_attr_int("axis", axis);
  return tn_low_emit(t, "Concat", parts, n, &a, 1);
}

/* Mirrored with the border itself, dim by dim. */
static int32_t symmetric(const tn_lowering *t, const int64_t *pads) {
  const tn_tensor *x = tn_low_type(t, 0);
  int32_t y = tn_low_in(t, 0);
  for (int32_t k = 0; k < x->rank; k++) {
    const int64_t n = x->shape[k], before = pads[k], behind = pads[x->rank + k];
    int32_t parts[3];
    uint32_t count = 0;
    if (before) parts[count++] = slice_dim(t, y, k, before - 1, INT64_MIN + 1, -1);
    parts[count++] = y;
    if (behind) parts[count++] = slice_dim(t, y, k, n - 1, n - behind - 1 - n - (n == behind), -1);
    if (count > 1) y = tfl_joined(t, parts, count, k);
  }
  return y == tn_low_in(t, 0) ? tn_low_1(t, "Identity", y) : y;
}

tn_status tflite_mirror_pad(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  int64_t pads[2 * TN_MAX_RANK];
  tn_status s = read_pads(&t, pads);
  const bool includes = tn_low_int(&t, "mode", 0) == 1;
  for (int32_t k = 0; k < 2 * x->rank && !s; k++)
    if (pads[k] < 0 || pads[k] > x->shape[k % x->rank] - !includes)
      s = tn_low_unsupported(&t, "mirrored pads that are wider than the input");
  if (s) return s;
  return tn_low_done(&t,
                     includes ? symmetric(&t, pads) : tfl_padded(&t, "reflect", pads, TN_NO_ID));
}

/* ---- slices ---- */

tn_status tflite_slice(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  int64_t from[TN_MAX_RANK], size[TN_MAX_RANK], n, m;
  tn_status s = tfl_const_dims(&t, 1, from, &n);
  if (!s) s = tfl_const_dims(&t, 2, size, &m);
  if (s) return s;
  if (n != x->rank || m != x->rank) return tn_low_unsupported(&t, "begin or size of another rank");
  for (int32_t k = 0; k < x->rank; k++) {
    if (from[k] < 0 || from[k] > x->shape[k] || size[k] < -1 || (size[k] > x->shape[k] - from[k]))
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "slice of dim %d from %lld, %lld long, "
                              "leaves the input",
                              k, (long long)from[k], (long long)size[k]);
    size[k] = size[k] < 0 ? x->shape[k] : from[k] + size[k];
  }
  return tn_low_done(&t, tfl_slice(&t, tn_low_in(&t, 0), x->rank, from, size, NULL));
}

/* A strided slice in terms of the input's dims, and the output's shape. */
typedef struct strided {
  int64_t from[TN_MAX_RANK], to[TN_MAX_RANK], step[TN_MAX_RANK], shape[2 * TN_MAX_RANK];
  int32_t rank, out_rank;
} strided;

typedef struct strided_words {
  int64_t begin[TN_MAX_RANK], end[TN_MAX_RANK], step[TN_MAX_RANK], n;
  int64_t begins, ends, ellipsis, news, shrinks;
  bool offset;
} strided_words;

static int64_t bounded(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* Input dim `dim` as entry k says. */
static tn_status take_dim(const tn_lowering *t, const strided_words *w, int64_t k, int64_t n,
                          strided *s) {
  const int64_t bit = INT64_C(1) << k, step = w->step[k];
  const int32_t dim = s->rank++;
  const bool shrinks = w->shrinks & bit;
  if (!step || step < -INT32_MAX || step > INT32_MAX)
    return t->call->host->fail(t->call->ctx, TN_ERR_INVALID, "stride %lld of dim %d",
                               (long long)step, dim);
  int64_t from = w->begin[k], to = w->offset ? w->begin[k] + w->end[k] : w->end[k];
  if (from < 0) from += n;
  if (to < 0 && !w->offset) to += n;
  const int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? n : n - 1;
  from = w->begins & bit && !shrinks ? (step > 0 ? 0 : n - 1) : bounded(from, lo, hi);
  to = w->ends & bit ? (step > 0 ? n : -1) : bounded(to, lo, hi);
  if (shrinks) {
    if (from < 0 || from >= n)
      return t->call->host->fail(t->call->ctx, TN_ERR_SHAPE, "index %lld of dim %d, which has %lld",
                                 (long long)w->begin[k], dim, (long long)n);
    to = from + (step > 0 ? 1 : -1);
  }
  const int64_t span = step > 0 ? to - from : from - to, by = step > 0 ? step : -step,
                count = span <= 0 ? 0 : tn_ceil_div(span, by);
  s->from[dim] = from;
  s->step[dim] = step;
  s->to[dim] = count ? to : from;
  if (to < 0 && count) s->to[dim] = -n - 1; /* -1 would count from the end */
  if (!count) s->from[dim] = s->to[dim] = 0, s->step[dim] = 1;
  if (!shrinks) s->shape[s->out_rank++] = count;
  return TN_OK;
}

static void keep_dim(int64_t n, strided *s) {
  const int32_t dim = s->rank++;
  s->from[dim] = 0;
  s->to[dim] = n;
  s->step[dim] = 1;
  s->shape[s->out_rank++] = n;
}

static int count_bits(int64_t mask, int64_t n) {
  int bits = 0;
  for (int64_t k = 0; k < n; k++) bits += (mask >> k & 1) != 0;
  return bits;
}

static tn_status apply_words(const tn_lowering *t, const strided_words *w, const tn_tensor *x,
                             strided *s) {
  const int named =
      (int)w->n - count_bits(w->news & ~w->ellipsis, w->n) - count_bits(w->ellipsis, w->n);
  tn_status status = TN_OK;
  for (int64_t k = 0; k < w->n && !status; k++) {
    const int64_t bit = INT64_C(1) << k;
    if (w->ellipsis & bit) {
      for (int d = named; d < x->rank && s->rank < x->rank; d++) keep_dim(x->shape[s->rank], s);
    } else if (w->news & bit) {
      s->shape[s->out_rank++] = 1;
    } else if (s->rank == x->rank) {
      return tn_low_unsupported(t, "more entries than the input has dims");
    } else {
      status = take_dim(t, w, k, x->shape[s->rank], s);
    }
  }
  while (s->rank < x->rank && !status) keep_dim(x->shape[s->rank], s);
  return status;
}

tn_status tflite_strided_slice(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  strided_words w = {.begins = tn_low_int(&t, "begin_mask", 0),
                     .ends = tn_low_int(&t, "end_mask", 0),
                     .ellipsis = tn_low_int(&t, "ellipsis_mask", 0),
                     .news = tn_low_int(&t, "new_axis_mask", 0),
                     .shrinks = tn_low_int(&t, "shrink_axis_mask", 0),
                     .offset = tn_low_int(&t, "offset", 0) != 0};
  strided s = {.rank = 0};
  int64_t n_end, n_step;
  tn_status status = tfl_const_dims(&t, 1, w.begin, &w.n);
  if (!status) status = tfl_const_dims(&t, 2, w.end, &n_end);
  if (!status) status = tfl_const_dims(&t, 3, w.step, &n_step);
  if (status) return status;
  if (n_end != w.n || n_step != w.n || count_bits(w.ellipsis, w.n) > 1)
    return tn_low_unsupported(&t, "begin, end and strides of different lengths, or two ellipses");
  status = apply_words(&t, &w, tn_low_type(&t, 0), &s);
  if (status) return status;
  if (s.out_rank > TN_MAX_RANK) return tn_low_unsupported(&t, "an output of so high a rank");
  const int32_t part = tfl_slice(&t, tn_low_in(&t, 0), s.rank, s.from, s.to, s.step);
  return tn_low_done(&t, tn_low_reshape(&t, part, s.out_rank, s.shape));
}

tn_status tflite_reverse_v2(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t axes[TN_MAX_RANK], n;
  const tn_status s = tfl_const_axes(&t, 1, tn_low_type(&t, 0)->rank, axes, &n);
  if (s) return s;
  int32_t y = tn_low_in(&t, 0);
  for (int64_t k = 0; k < n; k++) y = slice_dim(&t, y, axes[k], -1, INT64_MIN + 1, -1);
  return tn_low_done(&t, n ? y : tn_low_1(&t, "Identity", y));
}

/* ai.onnx has dims 0 and 1 only: the two go in front, and back. */
tn_status tflite_reverse_sequence(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t rank = tn_low_type(&t, 0)->rank;
  int32_t dims[2] = {0, 0}, perm[TN_MAX_RANK], back[TN_MAX_RANK], n = 2;
  tn_status s = tn_axis_normalize(call, tn_low_int(&t, "batch_dim", 0), rank, &dims[0]);
  if (!s) s = tn_axis_normalize(call, tn_low_int(&t, "seq_dim", 0), rank, &dims[1]);
  if (!s && dims[0] == dims[1]) s = tn_low_unsupported(&t, "one dim for batch and time");
  if (s) return s;
  memcpy(perm, dims, sizeof dims);
  for (int32_t k = 0; k < rank; k++)
    if (k != dims[0] && k != dims[1]) perm[n++] = k;
  for (int32_t k = 0; k < rank; k++) back[perm[k]] = k;
  const int32_t inputs[] = {tn_low_transpose(&t, tn_low_in(&t, 0), rank, perm),
                            tn_low_in_i64(&t, 1)};
  const tn_attr attrs[] = {tn_attr_int("batch_axis", 0), tn_attr_int("time_axis", 1)};
  const int32_t y = tn_low_emit(&t, "ReverseSequence", inputs, 2, attrs, 2);
  return tn_low_done(&t, tn_low_transpose(&t, y, rank, back));
}

/* ---- joining and splitting ---- */

enum { MAX_PARTS = 4096 };

/* Requantised where an input has other steps than the output. */
static int32_t in_steps(const tn_lowering *t, uint32_t k) {
  const tn_tensor *x = tn_low_type(t, k);
  const uint32_t y = tfl_y(t);
  const double scale = tfl_scale(t, y);
  if (!tfl_is_quantised(t) || (tfl_scale(t, k) == scale && tfl_zero(t, k) == tfl_zero(t, y)))
    return tn_low_in(t, k);
  const float f = (float)tfl_scale(t, k) / (float)scale;
  const int32_t steps = tn_low_dequantize(t, tn_low_in(t, k), x->dtype, (double)f, tfl_zero(t, k));
  return tn_low_quantize(t, steps, x->dtype, 1, tfl_zero(t, y));
}

static tn_status join(const tn_lowering *t, int32_t (*part)(const tn_lowering *, uint32_t)) {
  const uint32_t n = t->call->n_inputs;
  if (!tfl_has_all(t)) return tn_low_unsupported(t, "inputs that are left out");
  int32_t *parts = t->call->host->alloc(t->call->ctx, (n + 1) * sizeof *parts);
  if (!parts) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n; k++) parts[k] = part(t, k);
  int32_t y = tfl_joined(t, parts, n, tn_low_int(t, "axis", 0));
  t->call->host->free(t->call->ctx, parts);
  return tn_low_done(t, y); /* the fused activation that the schema has is nowhere computed */
}

tn_status tflite_concatenation(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return join(&t, in_steps);
}

static int32_t unsqueezed(const tn_lowering *t, uint32_t k) {
  const int64_t axis = tn_low_int(t, "axis", 0);
  return tn_low_2(t, "Unsqueeze", tn_low_in(t, k), tn_low_ints_const(t, &axis, 1));
}

tn_status tflite_pack(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return join(&t, unsqueezed);
}

static tn_status split(const tn_lowering *t, uint32_t input, int64_t axis, const int64_t *sizes,
                       bool squeezes) {
  const uint32_t n = t->call->n_outputs;
  if (n < 1 || n > MAX_PARTS) return tn_low_unsupported(t, "so many outputs");
  int32_t parts[MAX_PARTS];
  const int32_t inputs[] = {tn_low_in(t, input), sizes ? tn_low_ints_const(t, sizes, n) : TN_NO_ID};
  const tn_attr attrs[] = {tn_attr_int("axis", axis), tn_attr_int("num_outputs", n)};
  const tn_status s =
      tn_low_emit_many(t, "Split", inputs, sizes ? 2 : 1, attrs, sizes ? 1 : 2, n, parts);
  if (s) return s;
  for (uint32_t k = 0; k < n && squeezes; k++)
    parts[k] = tn_low_2(t, "Squeeze", parts[k], tn_low_ints_const(t, &axis, 1));
  return tn_low_done_many(t, parts, n);
}

tn_status tflite_unpack(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return split(&t, 0, tn_low_int(&t, "axis", 0), NULL, true);
}

tn_status tflite_split(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t axis[TN_MAX_RANK], n;
  const tn_status s = tfl_const_dims(&t, 0, axis, &n);
  if (s) return s;
  return n == 1 ? split(&t, 1, axis[0], NULL, false)
                : tn_low_unsupported(&t, "other than one axis");
}

tn_status tflite_split_v(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t sizes[MAX_PARTS], axis[TN_MAX_RANK], n, m, sum = 0;
  int32_t dim = 0;
  tn_status s = tn_const_ints(call, 1, sizes, MAX_PARTS, &n);
  if (!s) s = tfl_const_dims(&t, 2, axis, &m);
  if (!s && m != 1) s = tn_low_unsupported(&t, "other than one axis");
  if (!s) s = tn_axis_normalize(call, axis[0], tn_low_type(&t, 0)->rank, &dim);
  if (!s && n != (int64_t)call->n_outputs)
    s = tn_low_unsupported(&t, "other than one size per output");
  if (s) return s;
  for (int64_t k = 0; k < n; k++)
    if (sizes[k] > 0 && tn_add_i64(sum, sizes[k], &sum)) return TN_ERR_OVERFLOW;
  for (int64_t k = 0; k < n; k++)
    if (sizes[k] == -1) sizes[k] = tn_low_type(&t, 0)->shape[dim] - sum;
  return split(&t, 0, dim, sizes, false);
}
