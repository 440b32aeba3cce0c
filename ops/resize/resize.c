/* Resize and Upsample: lowering and the reference. */
#include <math.h>
#include <string.h>

#include "resize.h"
#include "tenon/kit/lower.h"

#include "resize.gen.h"

/* Resizing nothing is no work. */
tn_status resize_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  resize_spec spec;
  tn_status s = resize_parse(call, &spec);
  for (int32_t k = 0; k < spec.rank && !s; k++)
    if (spec.axes[k].resized) return TN_ERR_UNSUPPORTED;
  return s ? s : tn_lower_to_alias(call, graph, node, 0);
}

/* ---- Upsample and Resize-10: scales only, coordinates x / scale; nearest rounds down, but up
 * where it makes smaller ---- */

static tn_status infer_scaled(const tn_call *call, const double *scales, int64_t n) {
  const tn_tensor *in = call->inputs[0];
  int64_t dims[TN_MAX_RANK];
  if (n != in->rank)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "scales has %lld elements; the input has rank %d", (long long)n,
                            (int)in->rank);
  for (int64_t k = 0; k < n; k++) {
    float size = floorf((float)in->shape[k] * (float)scales[k]);
    if (!(scales[k] > 0) || size > 1e15f)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "scales[%lld] is %g", (long long)k,
                              scales[k]);
    dims[k] = (int64_t)size;
  }
  tn_infer_shape(call, 0, in->dtype, in->rank, dims);
  return TN_OK;
}

tn_status upsample_infer(const tn_call *call) {
  double scales[TN_MAX_RANK];
  int64_t n;
  tn_status s = tn_const_floats(call, 1, scales, TN_MAX_RANK, &n);
  return s ? s : infer_scaled(call, scales, n);
}

tn_status upsample_v7_infer(const tn_call *call) {
  const tn_upsample_v7_attrs *a = call->attrs;
  return infer_scaled(call, a->scales.data, a->scales.size);
}

/* Adds a Resize of `input` by these scales whose output is *out_value. */
static tn_status emit_resize(const tn_call *call, tn_graph *graph, int32_t input,
                             const double *scales, int64_t n, const char *mode,
                             const char *rounding, int32_t *out_value) {
  const tn_graph_api *api = call->host->graph;
  const tn_attr attrs[3] = {tn_attr_str("mode", mode),
                            tn_attr_str("coordinate_transformation_mode", "asymmetric"),
                            tn_attr_str("nearest_mode", rounding)};
  const tn_attr *const list[3] = {&attrs[0], &attrs[1], &attrs[2]};
  const int32_t inputs[3] = {input, -1, tn_emit_floats(call, graph, scales, n)};
  if (inputs[2] < 0) return inputs[2];
  if ((*out_value = api->value(graph, NULL)) < 0) return *out_value;
  const tn_node made = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "Resize",
                        .name = "",
                        .n_inputs = 3,
                        .n_outputs = 1,
                        .n_attrs = 3,
                        .inputs = inputs,
                        .outputs = out_value,
                        .attrs = list,
                        .offset = -1};
  int32_t id = api->add_node(graph, &made);
  return id < 0 ? id : TN_OK;
}

/* Larger axes first, then smaller ones, which round the other way. */
static tn_status lower_scaled(const tn_call *call, tn_graph *graph, int32_t node,
                              const double *scales, int64_t n, tn_str mode) {
  double larger[TN_MAX_RANK] = {0}, smaller[TN_MAX_RANK] = {0};
  int32_t value = tn_node_input(call, graph, node, 0);
  bool grows = false, shrinks = false, nearest = mode.size == 7;
  for (int64_t k = 0; k < n; k++) {
    larger[k] = scales[k] >= 1 || !nearest ? scales[k] : 1;
    smaller[k] = scales[k] >= 1 || !nearest ? 1 : scales[k];
    grows = grows || larger[k] != 1;
    shrinks = shrinks || smaller[k] != 1;
  }
  tn_status s = TN_OK;
  if (grows || !shrinks)
    s = emit_resize(call, graph, value, larger, n, nearest ? "nearest" : "linear", "floor", &value);
  if (!s && shrinks) s = emit_resize(call, graph, value, smaller, n, "nearest", "ceil", &value);
  return s ? s : call->host->graph->replace_node(graph, node, &value, 1);
}

static tn_status check_mode(const tn_call *call, tn_str mode) {
  bool known = (mode.size == 7 && !memcmp(mode.data, "nearest", 7)) ||
               (mode.size == 6 && !memcmp(mode.data, "linear", 6)) ||
               (mode.size == 8 && !memcmp(mode.data, "bilinear", 8));
  return known ? TN_OK
               : call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                                  "mode '%.*s' is neither nearest nor linear",
                                  (int)tn_min_i64(mode.size, 100), mode.data);
}

static tn_status lower_scaled_input(const tn_call *call, tn_graph *graph, int32_t node,
                                    tn_str mode) {
  double scales[TN_MAX_RANK];
  int64_t n;
  tn_status s = check_mode(call, mode);
  if (!s) s = tn_const_floats(call, 1, scales, TN_MAX_RANK, &n);
  return s ? s : lower_scaled(call, graph, node, scales, n, mode);
}

tn_status upsample_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return lower_scaled_input(call, graph, node, ((const tn_upsample_attrs *)call->attrs)->mode);
}

tn_status resize_v10_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return lower_scaled_input(call, graph, node, ((const tn_resize_v10_attrs *)call->attrs)->mode);
}

tn_status upsample_v7_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_upsample_v7_attrs *a = call->attrs;
  tn_status s = check_mode(call, a->mode);
  return s ? s : lower_scaled(call, graph, node, a->scales.data, a->scales.size, a->mode);
}

/* ---- reference: ONNX's own, element by element ---- */

typedef struct sampling { /* one output place along one axis */
  int64_t n, first; /* elements first .. first+n-1, those outside of the input meaning its edge */
  double x;         /* where it lies in the input */
  bool outside;
} sampling;

static double reference_place(const resize_spec *sp, const resize_axis *a, double x) {
  double in = (double)a->in, out = (double)a->out;
  switch (sp->coords) {
    case COORDS_ALIGN_CORNERS: return a->width == 1 ? 0 : x * (in - 1) / (a->width - 1);
    case COORDS_ASYMMETRIC: return x * (in / a->width);
    case COORDS_TF_HALF_PIXEL_FOR_NN: return (x + 0.5) * (in / a->width);
    case COORDS_PYTORCH_HALF_PIXEL: return a->out > 1 ? (x + 0.5) * (in / a->width) - 0.5 : 0;
    case COORDS_HALF_PIXEL_SYMMETRIC:
      return in / 2 * (1 - out / a->width) + (x + 0.5) * (in / a->width) - 0.5;
    case COORDS_TF_CROP_AND_RESIZE:
      return a->start * (in - 1) +
             (a->out > 1 ? x / (out - 1) : 0.5) * (a->end - a->start) * (in - 1);
    default: return (x + 0.5) * (in / a->width) - 0.5;
  }
}

/* x is rounded to 40 bits below the point, so that no sum decides on which side of a pixel's border
 * it falls; for nearest neighbours, to a border within the error of a scale given as f32. */
static double settle(const resize_spec *sp, double x) {
  const double twice = round(2 * x);
  if (sp->mode == RESIZE_NEAREST && fabs(2 * x - twice) * 4194304 <= fabs(twice)) return twice / 2;
  return round(x * 1099511627776.0) / 1099511627776.0;
}

static sampling sample_at(const resize_spec *sp, const resize_axis *a, int64_t at) {
  double x = settle(sp, a->resized ? reference_place(sp, a, (double)at) : (double)at),
         scale = sp->antialias ? fmin(a->scale, 1) : 1;
  sampling s = {.n = 1,
                .x = x,
                .outside = sp->coords == COORDS_TF_CROP_AND_RESIZE && a->resized &&
                           (x < 0 || x > (double)(a->in - 1))};
  double low = floor(x), high = ceil(x);
  if (!a->resized) {
    s.first = at;
  } else if (sp->mode == RESIZE_NEAREST) {
    bool down = a->rounding == ROUND_FLOOR ||
                (a->rounding == ROUND_PREFER_FLOOR && x - low <= 0.5) ||
                (a->rounding == ROUND_PREFER_CEIL && x - low < 0.5);
    s.first = (int64_t)(down ? low : high);
  } else {
    int64_t half = (int64_t)ceil((sp->mode == RESIZE_CUBIC ? 2 : 1) / scale);
    s.n = 2 * half;
    s.first = (int64_t)high - half;
  }
  return s;
}

static double kernel_value(const resize_spec *sp, double x) {
  double a = sp->cubic_a, d = fabs(x);
  if (sp->mode == RESIZE_LINEAR) return d < 1 ? 1 - d : 0;
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

static double weight_of(const resize_spec *sp, const resize_axis *a, const sampling *s,
                        int64_t index) {
  double scale = sp->antialias ? fmin(a->scale, 1) : 1;
  if (sp->exclude_outside && s->n > 1 && (index < 0 || index >= a->in)) return 0;
  return s->n == 1 ? 1 : kernel_value(sp, ((double)index - s->x) * scale);
}

static double normalizer(const resize_spec *sp, const resize_axis *a, const sampling *s) {
  double sum = 0;
  if (s->n == 1 || !(sp->antialias || sp->exclude_outside)) return 1;
  for (int64_t k = 0; k < s->n; k++) sum += weight_of(sp, a, s, s->first + k);
  return sum == 0 ? 1 : sum;
}

/* Sum over all taps of dims k.., for the element at `base` of the dims before. */
static double reference_sum(const tn_tensor *in, const resize_spec *sp, const sampling *at,
                            int32_t k, int64_t base) {
  if (k == sp->rank) return tn_load_f64(in->dtype, in->data, base);
  const resize_axis *a = &sp->axes[k];
  double sum = 0;
  for (int64_t t = 0; t < at[k].n; t++) {
    int64_t index = at[k].first + t, inside = tn_min_i64(tn_max_i64(index, 0), a->in - 1);
    double w = weight_of(sp, a, &at[k], index);
    if (w != 0) sum += w * reference_sum(in, sp, at, k + 1, base * a->in + inside);
  }
  return sum / normalizer(sp, a, &at[k]);
}

/* Nearest moves bits: index of the one element that is taken. */
static int64_t reference_index(const resize_spec *sp, const sampling *at) {
  int64_t index = 0;
  for (int32_t k = 0; k < sp->rank; k++)
    index = index * sp->axes[k].in + tn_min_i64(tn_max_i64(at[k].first, 0), sp->axes[k].in - 1);
  return index;
}

static tn_status reference_put(const tn_call *call, int64_t to, const resize_spec *sp,
                               const sampling *at, bool outside) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  size_t bytes = tn_dtype(out->dtype)->bits / 8;
  if (out->dtype == TN_STRING) {
    tn_str text = {"", 0};
    if (!outside) text = ((const tn_str *)in->data)[reference_index(sp, at)];
    return call->host->string_set(call->ctx, 0, to, text.data, text.size);
  }
  if (sp->mode == RESIZE_NEAREST && !outside && bytes) {
    memcpy((uint8_t *)out->data + (size_t)to * bytes,
           (const uint8_t *)in->data + (size_t)reference_index(sp, at) * bytes, bytes);
    return TN_OK;
  }
  double x = outside ? sp->extrapolation : reference_sum(in, sp, at, 0, 0);
  if (tn_dtype(out->dtype)->is_int) { /* cut off, within the limits of the type */
    double limit =
        ldexp(1, (int)tn_dtype(out->dtype)->bits - (tn_dtype(out->dtype)->is_signed ? 1 : 0));
    x = trunc(fmin(fmax(x, tn_dtype(out->dtype)->is_signed ? -limit : 0), nextafter(limit, 0)));
  }
  tn_store_f64(out->dtype, out->data, to, x);
  return TN_OK;
}

static tn_status reference(const tn_call *call, const resize_spec *sp) {
  const tn_tensor *out = call->outputs[0];
  tn_status s = TN_OK;
  for (int64_t i = 0; !s && i < tn_elements(out); i++) {
    sampling at[TN_MAX_RANK];
    bool outside = false;
    int64_t rest = i;
    for (int32_t k = out->rank - 1; k >= 0; k--) {
      at[k] = sample_at(sp, &sp->axes[k], rest % out->shape[k]);
      outside = outside || at[k].outside;
      rest /= out->shape[k];
    }
    s = reference_put(call, i, sp, at, outside);
  }
  return s;
}

tn_status resize_reference(const tn_call *call) {
  resize_spec sp;
  tn_status s = resize_parse(call, &sp);
  return s ? s : reference(call, &sp);
}

/* Upsample and Resize-10. */
static tn_status reference_scaled(const tn_call *call, const double *scales, tn_str mode) {
  const tn_tensor *in = call->inputs[0];
  resize_spec sp = {.mode = mode.size == 7 ? RESIZE_NEAREST : RESIZE_LINEAR,
                    .coords = COORDS_ASYMMETRIC,
                    .rank = in->rank};
  for (int32_t k = 0; k < in->rank; k++) {
    const resize_axis axis = {.in = in->shape[k],
                              .out = call->outputs[0]->shape[k],
                              .scale = scales[k],
                              .width = scales[k] * (double)in->shape[k],
                              .resized = true,
                              .rounding = scales[k] < 1 ? ROUND_CEIL : ROUND_FLOOR};
    sp.axes[k] = axis;
  }
  return reference(call, &sp);
}

static tn_status reference_scaled_input(const tn_call *call, tn_str mode) {
  double scales[TN_MAX_RANK];
  int64_t n;
  tn_status s = tn_const_floats(call, 1, scales, TN_MAX_RANK, &n);
  return s ? s : reference_scaled(call, scales, mode);
}

tn_status upsample_reference(const tn_call *call) {
  return reference_scaled_input(call, ((const tn_upsample_attrs *)call->attrs)->mode);
}

tn_status resize_v10_reference(const tn_call *call) {
  return reference_scaled_input(call, ((const tn_resize_v10_attrs *)call->attrs)->mode);
}

tn_status upsample_v7_reference(const tn_call *call) {
  const tn_upsample_v7_attrs *a = call->attrs;
  return reference_scaled(call, a->scales.data, a->mode);
}
