/* Attributes and inputs of Resize, and the shape of its output. */
#include <math.h>
#include <string.h>

#include "resize.h"

#include "resize.gen.h"

static tn_status parse_word(const tn_call *call, const char *what, tn_str given,
                            const char *const *words, int *out) {
  for (*out = 0; words[*out]; ++*out)
    if ((int64_t)strlen(words[*out]) == given.size &&
        !memcmp(words[*out], given.data, (size_t)given.size))
      return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "%s '%.*s' is unknown", what,
                          (int)tn_min_i64(given.size, 100), given.data);
}

static tn_status parse_modes(const tn_call *call, const tn_resize_attrs *a, resize_spec *out) {
  static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
  static const char *const coords[] = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",   "align_corners",
      "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn", NULL};
  static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil", NULL};
  int mode = 0, coord = 0, rounding = 0;
  tn_status s = parse_word(call, "mode", a->mode, modes, &mode);
  if (!s)
    s = parse_word(call, "coordinate_transformation_mode", a->coordinate_transformation_mode,
                   coords, &coord);
  if (!s) s = parse_word(call, "nearest_mode", a->nearest_mode, roundings, &rounding);
  out->mode = (resize_mode)mode;
  out->coords = (resize_coords)coord;
  for (int32_t k = 0; k < out->rank; k++) out->axes[k].rounding = (resize_rounding)rounding;
  out->antialias = a->antialias && out->mode != RESIZE_NEAREST;
  out->exclude_outside = a->exclude_outside != 0;
  out->cubic_a = a->cubic_coeff_a;
  out->extrapolation = a->extrapolation_value;
  return s;
}

/* Which axis the k-th element of roi, scales and sizes belongs to. */
typedef struct axis_list {
  int64_t n;
  int32_t axis[TN_MAX_RANK];
} axis_list;

static tn_status parse_axes(const tn_call *call, const tn_resize_attrs *a, axis_list *out) {
  int32_t rank = call->inputs[0]->rank;
  uint32_t seen = 0;
  out->n = a->has_axes ? a->axes.size : rank;
  if (out->n > rank)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "there are %lld axes for rank %d",
                            (long long)out->n, (int)rank);
  for (int64_t k = 0; k < out->n; k++) {
    tn_status s = tn_axis_normalize(call, a->has_axes ? a->axes.data[k] : k, rank, &out->axis[k]);
    if (s) return s;
    if (seen >> out->axis[k] & 1)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "axes name dim %d twice",
                              (int)out->axis[k]);
    seen |= UINT32_C(1) << out->axis[k];
  }
  return TN_OK;
}

static bool is_given(const tn_call *call, uint32_t input) {
  return tn_has_input(call, input) && tn_elements(call->inputs[input]) != 0;
}

static tn_status parse_roi(const tn_call *call, const axis_list *list, resize_spec *out) {
  double roi[2 * TN_MAX_RANK];
  int64_t n;
  if (out->coords != COORDS_TF_CROP_AND_RESIZE || !is_given(call, 1)) return TN_OK;
  tn_status s = tn_const_floats(call, 1, roi, 2 * TN_MAX_RANK, &n);
  if (s) return s;
  if (n != 2 * list->n)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "roi has %lld elements for %lld axes; it needs two per axis",
                            (long long)n, (long long)list->n);
  for (int64_t k = 0; k < list->n; k++) {
    out->axes[list->axis[k]].start = roi[k];
    out->axes[list->axis[k]].end = roi[k + n / 2];
  }
  return TN_OK;
}

/* Output sizes are found in f32, as everybody does: 10 * 0.7f is 7. */
static tn_status parse_scales(const tn_call *call, const axis_list *list, resize_spec *out) {
  double scales[TN_MAX_RANK];
  int64_t n;
  tn_status s = tn_const_floats(call, 2, scales, TN_MAX_RANK, &n);
  if (s) return s;
  if (n != list->n)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "scales has %lld elements for %lld axes",
                            (long long)n, (long long)list->n);
  for (int64_t k = 0; k < n; k++) {
    resize_axis *axis = &out->axes[list->axis[k]];
    double part = out->coords == COORDS_TF_CROP_AND_RESIZE ? axis->end - axis->start : 1;
    float size = floorf((float)((double)(float)axis->in * part) * (float)scales[k]);
    if (!(scales[k] > 0) || !(size >= 0) || size > 1e15f)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "scales[%lld] is %g", (long long)k,
                              scales[k]);
    axis->out = (int64_t)size;
    axis->scale = scales[k];
    axis->width = scales[k] * (double)axis->in;
  }
  return TN_OK;
}

/* One scale for all axes: none larger, or none smaller, than wanted. */
static tn_status keep_aspect(const tn_call *call, const axis_list *list, bool larger,
                             resize_spec *out) {
  double scale = larger ? 0 : INFINITY;
  for (int64_t k = 0; k < list->n; k++)
    scale = larger ? fmax(scale, out->axes[list->axis[k]].scale)
                   : fmin(scale, out->axes[list->axis[k]].scale);
  for (int64_t k = 0; k < list->n; k++) {
    resize_axis *axis = &out->axes[list->axis[k]];
    double size = floor(scale * (double)axis->in + 0.5);
    if (!(size >= 0 && size < 1e15))
      return call->host->fail(call->ctx, TN_ERR_INVALID, "sizes ask for a scale of %g", scale);
    axis->out = (int64_t)size;
    axis->scale = scale;
    axis->width = scale * (double)axis->in;
  }
  return TN_OK;
}

static tn_status parse_sizes(const tn_call *call, const tn_resize_attrs *a, const axis_list *list,
                             resize_spec *out) {
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
  int64_t sizes[TN_MAX_RANK], n;
  int policy = 0;
  tn_status s =
      parse_word(call, "keep_aspect_ratio_policy", a->keep_aspect_ratio_policy, policies, &policy);
  if (!s) s = tn_const_ints(call, 3, sizes, TN_MAX_RANK, &n);
  if (s) return s;
  if (n != list->n)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "sizes has %lld elements for %lld axes",
                            (long long)n, (long long)list->n);
  for (int64_t k = 0; k < n; k++) {
    resize_axis *axis = &out->axes[list->axis[k]];
    if (sizes[k] < 0)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "sizes[%lld] is %lld", (long long)k,
                              (long long)sizes[k]);
    axis->out = sizes[k];
    axis->scale = axis->in ? (double)sizes[k] / (double)axis->in : 1;
    axis->width = (double)sizes[k];
  }
  return policy ? keep_aspect(call, list, policy == 2, out) : TN_OK;
}

/* An axis of the same size stays as it is, unless a region of it is taken. */
static void mark_resized(resize_spec *out) {
  for (int32_t k = 0; k < out->rank; k++) {
    resize_axis *axis = &out->axes[k];
    bool crops = out->coords == COORDS_TF_CROP_AND_RESIZE && (axis->start != 0 || axis->end != 1);
    axis->resized = axis->out != axis->in || axis->scale != 1 || crops;
  }
}

tn_status resize_parse(const tn_call *call, resize_spec *out) {
  const tn_resize_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  axis_list list;
  memset(out, 0, sizeof *out);
  out->rank = in->rank;
  for (int32_t k = 0; k < in->rank; k++) {
    const resize_axis same = {.in = in->shape[k],
                              .out = in->shape[k],
                              .scale = 1,
                              .width = (double)in->shape[k],
                              .end = 1};
    out->axes[k] = same;
  }
  tn_status s = parse_modes(call, a, out);
  if (!s) s = parse_axes(call, a, &list);
  if (!s) s = parse_roi(call, &list, out);
  if (s) return s;
  bool scales = is_given(call, 2), sizes = is_given(call, 3);
  if (scales == sizes && list.n > 0)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "%s of scales and sizes given; one is needed",
                            scales ? "both" : "none");
  s = scales ? parse_scales(call, &list, out) : sizes ? parse_sizes(call, a, &list, out) : TN_OK;
  for (int32_t k = 0; k < in->rank && !s; k++)
    if (out->axes[k].in == 0 && out->axes[k].out > 0)
      s = call->host->fail(call->ctx, TN_ERR_SHAPE, "dim %d has no elements to make %lld from",
                           (int)k, (long long)out->axes[k].out);
  mark_resized(out);
  return s;
}

/* A product and a sum for each element that is mixed in. */
tn_status resize_flops(const tn_call *call, double *out_flops) {
  resize_spec spec;
  tn_status s = resize_parse(call, &spec);
  if (s) return s;
  double taps = spec.mode == RESIZE_NEAREST ? 0 : 1;
  for (int32_t k = 0; k < spec.rank; k++)
    if (spec.axes[k].resized) taps *= (double)resize_taps(&spec, &spec.axes[k]);
  *out_flops = 2 * taps * (double)tn_elements(call->outputs[0]);
  return TN_OK;
}

tn_status resize_infer(const tn_call *call) {
  resize_spec spec;
  int64_t dims[TN_MAX_RANK];
  tn_status s = resize_parse(call, &spec);
  for (int32_t k = 0; k < spec.rank; k++) dims[k] = spec.axes[k].out;
  if (!s) tn_infer_shape(call, 0, call->inputs[0]->dtype, spec.rank, dims);
  return s;
}
