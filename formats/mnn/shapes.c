/* Shapes, and what only moves elements, as nodes of ai.onnx. */
#include "nodes.h"

enum { MAX_INPUTS = 1024, MAX_OUTPUTS = 64 };

static int32_t shape(mnn_reader *r) {
  enum { HAS_START, START, HAS_END, END };
  const bool ends = mnn_param_byte(r, HAS_END, 0);
  const tn_attr a[] = {
      tn_attr_int("start", mnn_param_byte(r, HAS_START, 0) ? mnn_param_int(r, START, 0) : 0),
      tn_attr_int("end", mnn_param_int(r, END, 0))};
  const int32_t x = mnn_in(r, 0);
  return mnn_cast(r, mnn_emit(r, "Shape", &x, 1, a, ends ? 2 : 1), TN_I32);
}
static int32_t size(mnn_reader *r) {
  return mnn_cast(r, mnn_emit_1(r, "Size", mnn_in(r, 0)), TN_I32);
}
static int32_t rank(mnn_reader *r) {
  return mnn_cast(r, mnn_emit_1(r, "Size", mnn_emit_1(r, "Shape", mnn_in(r, 0))), TN_I32);
}

static int32_t reshape(mnn_reader *r) {
  const tn_flat_vector dims = tn_flat_vec(&r->param, 0, 4);
  return mnn_emit_2(r, "Reshape", mnn_in(r, 0),
                    r->in.n > 1 ? mnn_wide(r, 1) : mnn_ints_of(r, &dims));
}

static int32_t flatten(mnn_reader *r) {
  if (mnn_param_int(r, 1, 0)) return mnn_refuse(r, "an endAxis");
  return mnn_emit_int(r, "Flatten", mnn_in(r, 0), "axis", mnn_param_int(r, 0, 0));
}

/* The axes are in the file, or an input; none: all dims of 1. */
static int32_t squeeze(mnn_reader *r) {
  const tn_flat_vector dims = tn_flat_vec(&r->param, 0, 4);
  const int32_t x = mnn_in(r, 0);
  if (!dims.n && r->in.n < 2) return mnn_emit_1(r, r->row->name, x);
  const int64_t flat = -1;
  return mnn_emit_2(r, r->row->name, x,
                    dims.n ? mnn_ints_of(r, &dims)
                           : mnn_emit_2(r, "Reshape", mnn_wide(r, 1), mnn_i64s(r, &flat, 1)));
}

static int32_t expand_dims(mnn_reader *r) {
  const int64_t axis = mnn_param_int(r, 2, 0);
  if (r->in.n < 2) return mnn_emit_2(r, "Unsqueeze", mnn_in(r, 0), mnn_i64s(r, &axis, 1));
  const int64_t flat = -1;
  const int32_t axes = mnn_emit_2(r, "Reshape", mnn_wide(r, 1), mnn_i64s(r, &flat, 1));
  return mnn_emit_2(r, "Unsqueeze", mnn_in(r, 0), axes);
}

static int32_t transpose(mnn_reader *r, const tn_flat_vector *v) {
  int64_t order[TN_MAX_RANK];
  if (v->n > TN_MAX_RANK) return mnn_invalid(r, "more axes than a tensor may have");
  for (uint64_t k = 0; k < v->n; k++) order[k] = tn_flat_int_at(v, k);
  const tn_attr a = tn_attr_ints("perm", (tn_ints){order, (int64_t)v->n});
  const int32_t x = mnn_in(r, 0);
  return mnn_emit(r, "Transpose", &x, 1, &a, 1);
}

static int32_t permute(mnn_reader *r) {
  const bool given = r->in.n > 1;
  tn_flat_vector v = {0};
  const int32_t in[] = {mnn_in(r, 0), given ? mnn_in(r, 1) : TN_NO_ID};
  if (!given) v = tn_flat_vec(&r->param, 0, 4);
  if (given && !mnn_ints(r, 1, &v)) return mnn_emit_in(r, "mnn", "Transpose", in, 2, NULL, 0);
  return transpose(r, &v);
}

/* Between N, H, W, C and what has channels in front; blocks of channels are not in files. */
static int32_t convert(mnn_reader *r) {
  enum { NHWC = 1 };
  static const int64_t to_channels[] = {0, 3, 1, 2}, from_channels[] = {0, 2, 3, 1};
  const int64_t from = mnn_param_byte(r, 0, 0), to = mnn_param_byte(r, 1, 0);
  const int32_t x = mnn_in(r, 0);
  if (from > 2 || to > 2) return mnn_refuse(r, "this layout");
  if ((from == NHWC) == (to == NHWC)) return x;
  const tn_attr a = tn_attr_ints("perm", (tn_ints){from == NHWC ? to_channels : from_channels, 4});
  return mnn_emit(r, "Transpose", &x, 1, &a, 1);
}

static int32_t concat(mnn_reader *r) {
  int32_t in[MAX_INPUTS];
  const bool stacks = !strcmp(r->row->name, "Pack");
  const int64_t axis = mnn_param_int(r, stacks ? 1 : 0, 0);
  const tn_attr a = tn_attr_int("axis", axis);
  if (!r->in.n || r->in.n > MAX_INPUTS) return mnn_refuse(r, "so many inputs");
  for (uint64_t k = 0; k < r->in.n && !r->status; k++) {
    in[k] = mnn_in(r, k);
    if (stacks) in[k] = mnn_emit_2(r, "Unsqueeze", in[k], mnn_i64s(r, &axis, 1));
  }
  return mnn_emit(r, "Concat", in, (uint32_t)r->in.n, &a, 1);
}

/* size -1: to the end; begin below 0: from the end, which 0 then is */
static int32_t slice_by_size(mnn_reader *r) {
  const int32_t begin = mnn_in(r, 1), n = mnn_in(r, 2), zero = mnn_number(r, TN_I32, 0),
                end = mnn_emit_2(r, "Add", begin, n);
  const int32_t is_last = mnn_emit_2(r, "And", mnn_emit_2(r, "Less", begin, zero),
                                     mnn_emit_2(r, "GreaterOrEqual", end, zero));
  const int32_t where[] = {mnn_emit_2(r, "Or", mnn_emit_2(r, "Less", n, zero), is_last),
                           mnn_number(r, TN_I32, INT32_MAX), end};
  const int32_t in[] = {mnn_in(r, 0), begin, mnn_emit(r, "Where", where, 3, NULL, 0)};
  return mnn_emit(r, "Slice", in, 3, NULL, 0);
}

/* TensorFlow's: bit k of a mask is about dim k. Begin, end and strides are constants. */
static int32_t masked_slice(mnn_reader *r) {
  enum { BEGIN = 2, END, ELLIPSIS, NEW_AXIS, SHRINK };
  tn_flat_vector list[3];
  int64_t from[TN_MAX_RANK], to[TN_MAX_RANK], steps[TN_MAX_RANK], axes[TN_MAX_RANK];
  int64_t gone[TN_MAX_RANK], n_gone = 0;
  if (mnn_param_int(r, ELLIPSIS, 0) || mnn_param_int(r, NEW_AXIS, 0))
    return mnn_refuse(r, "its masks");
  for (uint64_t k = 0; k < 3; k++)
    if (!mnn_ints(r, k + 1, &list[k]))
      return mnn_refuse(r, "a begin, end or stride that is computed");
  const int64_t n = (int64_t)list[0].n;
  if (n > TN_MAX_RANK || list[1].n != list[0].n || list[2].n != list[0].n)
    return mnn_invalid(r, "its begin, end and strides are not of one length");
  for (int64_t k = 0; k < n; k++) {
    from[k] = tn_flat_int_at(&list[0], (uint64_t)k);
    to[k] = tn_flat_int_at(&list[1], (uint64_t)k);
    steps[k] = tn_flat_int_at(&list[2], (uint64_t)k);
    axes[k] = k;
    const bool shrinks = mnn_param_int(r, SHRINK, 0) >> k & 1;
    if (shrinks) {
      gone[n_gone++] = k;
      to[k] = from[k] == -1 ? INT32_MAX : from[k] + 1;
      steps[k] = 1;
      continue;
    }
    if (mnn_param_int(r, BEGIN, 0) >> k & 1) from[k] = steps[k] < 0 ? INT32_MAX : 0;
    if (mnn_param_int(r, END, 0) >> k & 1) to[k] = steps[k] < 0 ? -INT32_MAX : INT32_MAX;
  }
  const int32_t in[] = {mnn_in(r, 0), mnn_i64s(r, from, n), mnn_i64s(r, to, n),
                        mnn_i64s(r, axes, n), mnn_i64s(r, steps, n)};
  const int32_t y = mnn_emit(r, "Slice", in, 5, NULL, 0);
  return n_gone ? mnn_emit_2(r, "Squeeze", y, mnn_i64s(r, gone, n_gone)) : y;
}

static int32_t strided_slice(mnn_reader *r) {
  enum { FROM_TYPE = 7, OF_ONNX = 1 };
  int32_t in[5];
  if (r->in.n < 3 || r->in.n > 5) return mnn_invalid(r, "has not as many inputs as it takes");
  const bool of_onnx = mnn_param_int(r, FROM_TYPE, 0) == OF_ONNX;
  bool masked = false;
  for (uint32_t mask = 2; mask < 7; mask++) masked |= mnn_param_int(r, mask, 0) != 0;
  if (!of_onnx && masked) return masked_slice(r);
  for (uint64_t k = 0; k < r->in.n; k++) in[k] = mnn_in(r, k);
  if (!of_onnx && r->in.n == 4) { /* strides of all axes */
    const int32_t all[] = {in[0], in[1], in[2], TN_NO_ID, in[3]};
    return mnn_emit(r, "Slice", all, 5, NULL, 0);
  }
  return mnn_emit(r, "Slice", in, (uint32_t)r->in.n, NULL, 0);
}

/* Parts that end where the points say, and a last one. */
static int32_t cut(mnn_reader *r, const tn_flat_vector *points) {
  const int64_t axis = mnn_param_int(r, 0, 0);
  for (uint64_t k = 0; k <= points->n && !r->status; k++) {
    const int64_t from = k ? tn_flat_int_at(points, k - 1) : 0,
                  to = k < points->n ? tn_flat_int_at(points, k) : INT64_MAX;
    const int32_t in[] = {mnn_in(r, 0), mnn_i64s(r, &from, 1), mnn_i64s(r, &to, 1),
                          mnn_i64s(r, &axis, 1)};
    const int32_t out = mnn_out(r, k);
    mnn_set(r, k, out);
    mnn_add(r, "", "Slice", in, 4, &out, 1, NULL, 0);
  }
  return TN_NO_ID;
}

static int32_t split(mnn_reader *r) {
  const tn_flat_vector points = tn_flat_vec(&r->param, 1, 4);
  int32_t out[MAX_OUTPUTS];
  int64_t sizes[MAX_OUTPUTS];
  enum { OF_TENSORFLOW = 1 };
  const bool by_size = mnn_param_byte(r, 2, 0) == OF_TENSORFLOW || points.n == r->out.n;
  if (points.n && !by_size && points.n + 1 == r->out.n) return cut(r, &points);
  if (r->out.n < 1 || r->out.n > 2 * TN_MAX_RANK) return mnn_refuse(r, "so many parts");
  if (points.n > 1 && (!by_size || points.n != r->out.n))
    return mnn_refuse(r, "these points of a slice");
  for (uint64_t k = 0; k < r->out.n; k++) {
    out[k] = mnn_out(r, k);
    mnn_set(r, k, out[k]);
    if (points.n > 1) sizes[k] = tn_flat_int_at(&points, k);
  }
  const tn_attr a[] = {tn_attr_int("axis", mnn_param_int(r, 0, 0)),
                       tn_attr_int("num_outputs", (int64_t)r->out.n)};
  const bool given = r->in.n > 1, sized = given || points.n > 1;
  const int32_t in[] = {mnn_in(r, 0), given   ? mnn_wide(r, 1)
                                      : sized ? mnn_i64s(r, sizes, (int64_t)r->out.n)
                                              : TN_NO_ID};
  mnn_add(r, "", "Split", in, sized ? 2 : 1, out, (uint32_t)r->out.n, a, sized ? 1 : 2);
  return TN_NO_ID;
}

static int32_t gather(mnn_reader *r) {
  tn_flat_vector v = {0};
  const bool is_old = !strcmp(r->row->name, "Gather"), has_axis = r->in.n > 2;
  const int32_t in[] = {mnn_in(r, 0), mnn_in(r, 1), has_axis ? mnn_in(r, 2) : TN_NO_ID};
  if (has_axis && !mnn_ints(r, 2, &v)) return mnn_emit_in(r, "mnn", "GatherV2", in, 3, NULL, 0);
  const tn_attr a = tn_attr_int("axis", v.n      ? tn_flat_int_at(&v, 0)
                                        : is_old ? mnn_param_int(r, 3, 0)
                                                 : 0);
  return mnn_emit(r, "Gather", in, 2, &a, 1);
}

static int32_t pad(mnn_reader *r) {
  static const char *const modes[] = {"constant", "reflect", NULL, "edge"};
  static const int64_t transposed[] = {1, 0}, flat = -1;
  const int64_t mode = mnn_param_byte(r, 0, 0);
  if (mode < 0 || mode > 3 || !modes[mode]) return mnn_refuse(r, "symmetric padding");
  const tn_attr perm = tn_attr_ints("perm", (tn_ints){transposed, 2}),
                a = tn_attr_str("mode", modes[mode]);
  const int64_t pairs[] = {-1, 2};
  const int32_t by_pair = mnn_emit_2(r, "Reshape", mnn_wide(r, 1), mnn_i64s(r, pairs, 2));
  const int32_t pads = mnn_emit(r, "Transpose", &by_pair, 1, &perm, 1);
  const int32_t in[] = {mnn_in(r, 0), mnn_emit_2(r, "Reshape", pads, mnn_i64s(r, &flat, 1)),
                        r->in.n > 2 ? mnn_in(r, 2) : TN_NO_ID};
  return mnn_emit(r, "Pad", in, r->in.n > 2 ? 3 : 2, &a, 1);
}

static int32_t with_shape(mnn_reader *r) {
  return mnn_emit_2(r, r->row->to, mnn_in(r, 0), mnn_wide(r, 1));
}
static int32_t fill(mnn_reader *r) { return mnn_emit_2(r, "Expand", mnn_in(r, 1), mnn_wide(r, 0)); }

static int32_t depth_space(mnn_reader *r) {
  const bool down = !strcmp(r->row->name, "SpaceToDepth");
  const tn_attr a[] = {tn_attr_int("blocksize", mnn_param_int(r, 0, 0)),
                       tn_attr_str("mode", mnn_param_byte(r, 1, 0) ? "CRD" : "DCR")};
  const int32_t x = mnn_in(r, 0);
  return mnn_emit(r, r->row->name, &x, 1, a, down ? 1 : 2);
}

/* To a size of height and width, or a shape or scales of all dims: an input, or in the file. */
static int32_t interp(mnn_reader *r) {
  enum {
    WIDTH_SCALE,
    HEIGHT_SCALE,
    WIDTH,
    HEIGHT,
    TYPE,
    ALIGN,
    HALF,
    CUBIC = 9,
    MODE,
    DEPTH_SCALE
  };
  enum { DEPTH = 12, N_MODES = 5, NEAREST = 1, LINEAR, CUBES, ROUNDED };
  static const char *const modes[N_MODES] = {"asymmetric", "align_corners", "half_pixel",
                                             "pytorch_half_pixel", "asymmetric"},
                           *const kinds[] = {NULL, "nearest", "linear", "cubic", "nearest"};
  const int64_t how = mnn_param_int(r, TYPE, 0);
  int64_t mode = mnn_param_byte(r, MODE, 0);
  if (how < NEAREST || how > ROUNDED || mode < 0 || mode >= N_MODES)
    return mnn_refuse(r, "this way to resize");
  const bool half = mnn_param_byte(r, HALF, 0) && how != NEAREST;
  if (!mode) mode = half ? 2 : mnn_param_byte(r, ALIGN, 0) ? 1 : 0;
  const tn_attr a[] = {tn_attr_str("mode", kinds[how]),
                       tn_attr_str("nearest_mode", how == NEAREST ? "floor" : "round_prefer_floor"),
                       tn_attr_str("coordinate_transformation_mode", modes[mode]),
                       tn_attr_float("cubic_coeff_a", tn_flat_float(&r->param, CUBIC, -0.75)),
                       tn_attr_int("depth", mnn_param_int(r, DEPTH, 0)),
                       tn_attr_int("height", mnn_param_int(r, HEIGHT, 0)),
                       tn_attr_int("width", mnn_param_int(r, WIDTH, 0)),
                       tn_attr_float("depth_scale", tn_flat_float(&r->param, DEPTH_SCALE, 0)),
                       tn_attr_float("height_scale", tn_flat_float(&r->param, HEIGHT_SCALE, 0)),
                       tn_attr_float("width_scale", tn_flat_float(&r->param, WIDTH_SCALE, 0))};
  const int32_t in[] = {mnn_in(r, 0), r->in.n > 1 ? mnn_in(r, 1) : TN_NO_ID};
  return mnn_emit_in(r, "mnn", "Interp", in, r->in.n > 1 ? 2 : 1, a, 10);
}

const mnn_maker mnn_shapes[] = {{"BroadcastTo", with_shape},
                                {"Concat", concat},
                                {"ConvertTensor", convert},
                                {"DepthToSpace", depth_space},
                                {"ExpandDims", expand_dims},
                                {"Fill", fill},
                                {"Flatten", flatten},
                                {"Gather", gather},
                                {"GatherV2", gather},
                                {"Interp", interp},
                                {"Interp3D", interp},
                                {"Pack", concat},
                                {"Padding", pad},
                                {"Permute", permute},
                                {"Rank", rank},
                                {"Reshape", reshape},
                                {"Shape", shape},
                                {"Size", size},
                                {"Slice", split},
                                {"SliceTf", slice_by_size},
                                {"SpaceToDepth", depth_space},
                                {"Squeeze", squeeze},
                                {"StridedSlice", strided_slice},
                                {"Tile", with_shape},
                                {"Transpose", permute},
                                {"Unsqueeze", squeeze},
                                {NULL, NULL}};
