/* STABLEHLO_REDUCE_WINDOW, REDUCE_WINDOW and DILATE: windows over any dims, one dim after the
 * other. */
#include "lower.h"
#include "tflite.gen.h"

enum { MOST_PLACES = 1 << 24 };

/* What windows are reduced by, by elements and by pairs. */
typedef struct reducer {
  const char *reduce, *combine;
} reducer;

/* ---- dilating ---- */

int32_t tfl_dilated(const tn_lowering *t, int32_t x, int32_t rank, int64_t *shape,
                    const int64_t *steps, int32_t fill) {
  for (int32_t k = 0; k < rank; k++) {
    if (steps[k] <= 1 || shape[k] <= 1) continue;
    int64_t apart[TN_MAX_RANK + 1], pads[2 * TN_MAX_RANK + 2] = {0}, from[TN_MAX_RANK] = {0};
    if (rank == TN_MAX_RANK) return tn_low_unsupported(t, "so many dims");
    for (int32_t d = 0; d <= rank; d++)
      apart[d] = d <= k ? shape[d] : d == k + 1 ? 1 : shape[d - 1];
    pads[rank + 1 + k + 1] = steps[k] - 1;
    const int32_t inputs[] = {tn_low_reshape(t, x, rank + 1, apart),
                              tn_low_ints_const(t, pads, 2 * (rank + 1)), fill};
    const int32_t spread = tn_low_emit(t, "Pad", inputs, 3, NULL, 0);
    if (tn_mul_i64(shape[k], steps[k], &shape[k])) return TN_ERR_OVERFLOW;
    const int32_t joined = tn_low_reshape(t, spread, rank, shape);
    shape[k] -= steps[k] - 1;
    x = tfl_slice(t, joined, rank, from, shape, NULL);
  }
  return x;
}

tn_status tflite_dilate(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  int64_t steps[TN_MAX_RANK], shape[TN_MAX_RANK], n;
  const tn_status s = tfl_const_dims(&t, 1, steps, &n);
  if (s) return s;
  if (n != x->rank) return tn_low_unsupported(&t, "dilations that are not one for each dim");
  for (int32_t k = 0; k < x->rank; k++) {
    shape[k] = x->shape[k];
    if (steps[k] < 1) return tn_low_unsupported(&t, "dilations below 1");
  }
  return tn_low_done(&t,
                     tfl_dilated(&t, tn_low_in(&t, 0), x->rank, shape, steps, tn_low_in(&t, 2)));
}

/* ---- reducing ---- */

/* Dim k as windows: [.., windows, width, ..]. */
static int32_t windows_of(const tn_lowering *t, int32_t x, int32_t k, int64_t n, int64_t width,
                          int64_t step, int64_t apart) {
  const int64_t shape[] = {n, width};
  int64_t count;
  if (tn_mul_i64(n, width, &count) || count > MOST_PLACES)
    return tn_low_unsupported(t, "windows of so many places");
  int64_t *places = t->call->host->alloc(t->call->ctx, (uint64_t)(count + 1) * sizeof *places);
  if (!places) return TN_ERR_MEMORY;
  for (int64_t i = 0; i < count; i++) places[i] = i / width * step + i % width * apart;
  const tn_tensor box = tn_tensor_make(TN_I64, 2, shape, places);
  const int32_t inputs[] = {x, tn_emit_const(t->call, t->graph, &box)};
  t->call->host->free(t->call->ctx, places);
  const tn_attr axis = tn_attr_int("axis", k);
  return tn_low_emit(t, "Gather", inputs, 2, &axis, 1);
}

/* ai.onnx sums and multiplies no narrow integers, and compares no booleans in all versions. */
static uint32_t reduced_as(uint32_t dtype) {
  const tn_dtype_info *d = tn_dtype(dtype);
  return dtype == TN_BOOL || (d->is_int && d->bits < 32) ? TN_I32 : dtype;
}

typedef struct window {
  int64_t width[TN_MAX_RANK], step[TN_MAX_RANK], apart[TN_MAX_RANK];
} window;

/* x, of that shape, by windows; what stands at input 1 is combined with each. */
static tn_status reduced(const tn_lowering *t, int32_t x, int64_t *shape, const window *w,
                         const reducer *by) {
  const uint32_t dtype = tn_low_type(t, 0)->dtype, wide = reduced_as(dtype);
  int32_t first = tn_low_in(t, 1);
  if (wide != dtype) x = tn_low_cast(t, x, wide), first = tn_low_cast(t, first, wide);
  for (int32_t k = 0; k < tn_low_type(t, 0)->rank; k++) {
    int64_t span;
    if (w->width[k] < 1 || w->step[k] < 1 || w->apart[k] < 1)
      return tn_low_unsupported(t, "windows, strides or dilations below 1");
    if (tn_mul_i64(w->width[k] - 1, w->apart[k], &span)) return TN_ERR_OVERFLOW;
    if (w->width[k] == 1 && w->step[k] == 1) continue;
    shape[k] = shape[k] <= span ? 0 : (shape[k] - span - 1) / w->step[k] + 1;
    const int64_t axis = k + 1;
    const int32_t inputs[] = {windows_of(t, x, k, shape[k], w->width[k], w->step[k], w->apart[k]),
                              tn_low_ints_const(t, &axis, 1)};
    const tn_attr keep = tn_attr_int("keepdims", 0);
    x = tn_low_emit(t, by->reduce, inputs, 2, &keep, 1);
  }
  x = tn_low_2(t, by->combine, x, first);
  return tn_low_done(t, wide == dtype ? x : tn_low_cast(t, x, dtype));
}

static const reducer sum = {"ReduceSum", "Add"}, product = {"ReduceProd", "Mul"},
                     least = {"ReduceMin", "Min"}, most = {"ReduceMax", "Max"};

/* Inputs: x, the first value, then widths, steps and dilations of windows. */
tn_status tflite_reduce_window(const tn_call *call, tn_graph *graph, int32_t node) {
  static const reducer *const functions[] = {NULL, &sum, &product, &least, &most, &least, &most};
  enum { FUNCTIONS = sizeof functions / sizeof *functions };
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  const int64_t function = tn_low_int(&t, "reduce_function", 0);
  window w;
  int64_t *lists[] = {w.width, w.step, w.apart}, n, shape[TN_MAX_RANK];
  if (function < 1 || function >= FUNCTIONS)
    return tn_low_unsupported(&t, "a reduction of this number");
  for (uint32_t k = 0; k < 3; k++) {
    const tn_status s = tfl_const_dims(&t, 2 + k, lists[k], &n);
    if (s) return s;
    if (n != x->rank) return tn_low_unsupported(&t, "windows that are not one for each dim");
  }
  for (int32_t k = 0; k < x->rank; k++) shape[k] = x->shape[k];
  return reduced(&t, tn_low_in(&t, 0), shape, &w, functions[function]);
}

static const reducer *reducer_of(const tn_lowering *t) {
  static const struct {
    const char *name;
    const reducer *by;
  } all[] = {{"add", &sum}, {"mul", &product}, {"min", &least}, {"max", &most}};
  const tn_attr *a = tn_pattern_attr(tn_low_node(t), "computation", TN_ATTR_STR);
  for (size_t k = 0; a && k < sizeof all / sizeof *all; k++)
    if (tn_str_is(a->s, all[k].name)) return all[k].by;
  return NULL;
}

/* The numbers of an attribute, one for each dim; 1 each where it is left out. */
static bool read_dims(const tn_lowering *t, const char *name, int32_t rank, int64_t *out) {
  const tn_ints given = tn_low_ints(t, name);
  for (int32_t k = 0; k < rank; k++) out[k] = given.size == rank ? given.data[k] : 1;
  return !given.size || given.size == rank;
}

tn_status tflite_stablehlo_reduce_window(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  const int32_t rank = x->rank;
  const reducer *by = reducer_of(&t);
  const tn_ints padding = tn_low_ints(&t, "padding");
  window w;
  int64_t base[TN_MAX_RANK], shape[TN_MAX_RANK], pads[2 * TN_MAX_RANK] = {0};
  if (!by) return tn_low_unsupported(&t, "a reduction of this kind");
  if (!read_dims(&t, "window_dimensions", rank, w.width) ||
      !read_dims(&t, "window_strides", rank, w.step) ||
      !read_dims(&t, "window_dilations", rank, w.apart) ||
      !read_dims(&t, "base_dilations", rank, base) || (padding.size && padding.size != 2 * rank))
    return tn_low_unsupported(&t, "windows that are not one for each dim");
  bool is_padded = false;
  for (int32_t k = 0; k < rank; k++) {
    if (base[k] < 1) return tn_low_unsupported(&t, "dilations below 1");
    shape[k] = x->shape[k];
    if (!padding.size) continue;
    pads[k] = padding.data[2 * k], pads[rank + k] = padding.data[2 * k + 1];
    is_padded = is_padded || pads[k] || pads[rank + k];
  }
  int32_t y = tfl_dilated(&t, tn_low_in(&t, 0), rank, shape, base, tn_low_in(&t, 1));
  if (is_padded) {
    const int32_t inputs[] = {y, tn_low_ints_const(&t, pads, 2 * rank), tn_low_in(&t, 1)};
    y = tn_low_emit(&t, "Pad", inputs, 3, NULL, 0);
  }
  for (int32_t k = 0; k < rank; k++)
    if (tn_add_i64(shape[k], pads[k], &shape[k]) || tn_add_i64(shape[k], pads[rank + k], &shape[k]))
      return TN_ERR_OVERFLOW;
  return reduced(&t, y, shape, &w, by);
}
