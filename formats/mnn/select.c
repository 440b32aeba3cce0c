/* Elements that are chosen, counted, put elsewhere, or made of numbers, as nodes of ai.onnx. */
#include <float.h>

#include "nodes.h"

enum { MAX_PARTS = 64 };

/* Input k, a number, as i64 in one dim. */
static int32_t one_wide(mnn_reader *r, uint64_t k) {
  const int64_t one = 1;
  return mnn_emit_2(r, "Reshape", mnn_wide(r, k), mnn_i64s(r, &one, 1));
}

/* Input k, of one number, without dims. */
static int32_t scalar(mnn_reader *r, uint64_t k) {
  return mnn_emit_2(r, "Reshape", mnn_in(r, k), mnn_i64s(r, NULL, 0));
}

/* The axis or diagonal that input k says, a constant; false: it is none. */
static bool axis_of(mnn_reader *r, uint64_t k, int64_t *out) {
  tn_flat_vector v;
  if (r->in.n > k && mnn_ints(r, k, &v) && v.n == 1) {
    *out = tn_flat_int_at(&v, 0);
    return true;
  }
  mnn_refuse(r, "an axis or diagonal that is no constant");
  return false;
}

static int32_t range(mnn_reader *r) {
  const int32_t in[] = {scalar(r, 0), scalar(r, 1), scalar(r, 2)};
  return mnn_emit(r, "Range", in, 3, NULL, 0);
}

/* start, stop, how many */
static int32_t lin_space(mnn_reader *r) {
  const int32_t one = mnn_number(r, TN_I32, 1), zero = mnn_number(r, TN_I32, 0), n = scalar(r, 2),
                start = scalar(r, 0);
  const int32_t in[] = {zero, n, one};
  const int32_t steps = mnn_emit_2(r, "Max", mnn_emit_2(r, "Sub", n, one), one),
                step = mnn_emit_2(r, "Div", mnn_emit_2(r, "Sub", scalar(r, 1), start),
                                  mnn_cast(r, steps, TN_F32)),
                places = mnn_cast(r, mnn_emit(r, "Range", in, 3, NULL, 0), TN_F32);
  return mnn_emit_2(r, "Add", start, mnn_emit_2(r, "Mul", places, step));
}

/* With as many dims of a batch as its axis says, indices count on from batch to batch. */
static int32_t gather_nd(mnn_reader *r) {
  if (tn_flat_has(&r->op, OP_PARAM) && mnn_param_int(r, 0, 0))
    return mnn_refuse(r, "dims of a batch");
  return mnn_emit_2(r, "GatherND", mnn_in(r, 0), mnn_wide(r, 1));
}

static int32_t gather_elements(mnn_reader *r) {
  int64_t axis = 0;
  if (r->in.n > 2 && !axis_of(r, 2, &axis)) return TN_NO_ID;
  const tn_attr a = tn_attr_int("axis", axis);
  const int32_t in[] = {mnn_in(r, 0), mnn_in(r, 1)};
  return mnn_emit(r, "GatherElements", in, 2, &a, 1);
}

/* What happens to elements that are there: "none", or how new ones join them. NULL: refused. */
static const char *reduction_of(mnn_reader *r) {
  enum { OF_BINARY = 6, ADD = 0, MUL = 2 };
  if (tn_flat_int(&r->op, OP_PARAM_KIND, 1, 0) != OF_BINARY) return "none";
  const int64_t how = mnn_param_int(r, 0, 0);
  if (how == ADD || how == MUL || how == -1)
    return how == ADD ? "add" : how == MUL ? "mul" : "none";
  mnn_refuse(r, "this function of what is there and what comes");
  return NULL;
}

/* indices, updates, shape, and into what: zeros if it is left out. */
static int32_t scatter_nd(mnn_reader *r) {
  const char *how = reduction_of(r);
  if (!how) return TN_NO_ID;
  const tn_attr a = tn_attr_str("reduction", how);
  const int32_t updates = mnn_in(r, 1);
  int32_t into = TN_NO_ID;
  if (r->in.n > 3) {
    into = mnn_in(r, 3);
  } else {
    const int32_t zero = mnn_emit_2(r, "CastLike", mnn_number(r, TN_F32, 0), updates);
    into = mnn_emit_2(r, "Expand", zero, mnn_wide(r, 2));
  }
  const int32_t in[] = {into, mnn_wide(r, 0), updates};
  return mnn_emit(r, "ScatterND", in, 3, &a, 1);
}

static int32_t scatter_elements(mnn_reader *r) {
  int64_t axis = 0;
  const char *how = reduction_of(r);
  if (!how || (r->in.n > 3 && !axis_of(r, 3, &axis))) return TN_NO_ID;
  const tn_attr a[] = {tn_attr_str("reduction", how), tn_attr_int("axis", axis)};
  const int32_t in[] = {mnn_in(r, 0), mnn_in(r, 1), mnn_in(r, 2)};
  return mnn_emit(r, "ScatterElements", in, 3, a, 2);
}

static int32_t one_hot(mnn_reader *r) {
  const int64_t one = 1;
  const tn_attr first = tn_attr_int("axis", 0), a = tn_attr_int("axis", mnn_param_int(r, 1, -1));
  const int32_t both[] = {mnn_emit_2(r, "Reshape", mnn_in(r, 3), mnn_i64s(r, &one, 1)),
                          mnn_emit_2(r, "Reshape", mnn_in(r, 2), mnn_i64s(r, &one, 1))};
  const int32_t in[] = {mnn_in(r, 0), one_wide(r, 1), mnn_emit(r, "Concat", both, 2, &first, 1)};
  return mnn_emit(r, "OneHot", in, 3, &a, 1);
}

static int32_t cumulative_sum(mnn_reader *r) {
  const tn_attr a[] = {tn_attr_int("exclusive", mnn_param_byte(r, 0, 0)),
                       tn_attr_int("reverse", mnn_param_byte(r, 1, 0))};
  const int32_t in[] = {mnn_in(r, 0), scalar(r, 1)};
  return mnn_emit(r, "CumSum", in, 2, a, 2);
}

static int32_t top_k(mnn_reader *r) {
  enum { LARGEST = 2 };
  int64_t axis = -1;
  if (r->in.n > 2 && !axis_of(r, 2, &axis)) return TN_NO_ID;
  const tn_attr a[] = {tn_attr_int("axis", axis),
                       tn_attr_int("largest", mnn_param_byte(r, LARGEST, 1))};
  const int32_t in[] = {mnn_in(r, 0), one_wide(r, 1)};
  const int32_t values = r->status ? TN_NO_ID : r->api->value(r->g, NULL),
                places = r->status ? TN_NO_ID : r->api->value(r->g, NULL);
  const int32_t out[] = {values, places};
  if (!mnn_add(r, "", "TopK", in, 2, out, 2, a, 2)) return TN_NO_ID;
  mnn_set(r, 0, values);
  if (r->out.n > 1) mnn_set(r, 1, mnn_cast(r, places, TN_I32));
  return TN_NO_ID;
}

static int32_t unpack(mnn_reader *r) {
  int32_t out[MAX_PARTS];
  const int64_t axis = mnn_param_int(r, 0, 0);
  if (!r->out.n || r->out.n > MAX_PARTS) return mnn_refuse(r, "so many parts");
  for (uint64_t k = 0; k < r->out.n; k++) {
    out[k] = r->status ? TN_NO_ID : r->api->value(r->g, NULL);
    if (out[k] < 0 && !r->status) r->status = mnn_fail(r, out[k], "it needs one more value");
  }
  const tn_attr a[] = {tn_attr_int("axis", axis), tn_attr_int("num_outputs", (int64_t)r->out.n)};
  const int32_t x = mnn_in(r, 0);
  mnn_add(r, "", "Split", &x, 1, out, (uint32_t)r->out.n, a, 2);
  for (uint64_t k = 0; k < r->out.n && !r->status; k++)
    mnn_set(r, k, mnn_emit_2(r, "Squeeze", out[k], mnn_i64s(r, &axis, 1)));
  return TN_NO_ID;
}

/* Places of what is not 0, one in each row. */
static int32_t where(mnn_reader *r) {
  static const int64_t transposed[] = {1, 0};
  const tn_attr perm = tn_attr_ints("perm", (tn_ints){transposed, 2});
  const int32_t places = mnn_emit_1(r, "NonZero", mnn_in(r, 0));
  return mnn_cast(r, mnn_emit(r, "Transpose", &places, 1, &perm, 1), TN_I32);
}

static int32_t reverse(mnn_reader *r) {
  const int64_t last = -1, before = INT64_MIN + 1;
  int64_t axis;
  if (!axis_of(r, 1, &axis)) return TN_NO_ID;
  const int32_t in[] = {mnn_in(r, 0), mnn_i64s(r, &last, 1), mnn_i64s(r, &before, 1),
                        mnn_i64s(r, &axis, 1), mnn_i64s(r, &last, 1)};
  return mnn_emit(r, "Slice", in, 5, NULL, 0);
}

static int32_t reverse_sequence(mnn_reader *r) {
  const tn_attr a[] = {tn_attr_int("batch_axis", mnn_param_int(r, 0, 0)),
                       tn_attr_int("time_axis", mnn_param_int(r, 1, 0))};
  const int32_t in[] = {mnn_in(r, 0), mnn_wide(r, 1)};
  return mnn_emit(r, "ReverseSequence", in, 2, a, 2);
}

static int32_t zeros_like(mnn_reader *r) {
  const int32_t x = mnn_in(r, 0);
  const int32_t zero = mnn_emit_2(r, "CastLike", mnn_number(r, TN_F32, 0), x);
  return mnn_emit_2(r, "Expand", zero, mnn_emit_1(r, "Shape", x));
}

static int32_t cast_like(mnn_reader *r) {
  return mnn_emit_2(r, "CastLike", mnn_in(r, 0), mnn_in(r, 1));
}

/* So many diagonals below and above the main one; below 0: all. */
static int32_t band(mnn_reader *r) {
  int64_t below, above;
  if (!axis_of(r, 1, &below) || !axis_of(r, 2, &above)) return TN_NO_ID;
  int32_t y = mnn_in(r, 0);
  for (int upper = 0; upper < 2; upper++) {
    const int64_t n = upper ? below : above, k = upper ? -n : n;
    const tn_attr a = tn_attr_int("upper", upper);
    const int32_t in[] = {y, n < 0 ? TN_NO_ID : mnn_i64s(r, &k, -1)};
    if (n >= 0) y = mnn_emit(r, "Trilu", in, 2, &a, 1);
  }
  return y;
}

/* Ones on the diagonal that the second input says. */
static int32_t eye_like(mnn_reader *r) {
  int64_t diagonal = 0;
  if (r->in.n > 1 && !axis_of(r, 1, &diagonal)) return TN_NO_ID;
  const tn_attr a = tn_attr_int("k", diagonal);
  const int32_t in[] = {mnn_in(r, 0)};
  return mnn_emit(r, "EyeLike", in, 1, &a, 1);
}

/* The boxes that are left, by falling scores, and -1 behind them: as many as there may be. */
static int32_t non_max_suppression(mnn_reader *r) {
  enum { SCORES = 1, MOST, OVERLAP, LEAST_SCORE };
  const int64_t first = 0, last = 2, one = 1, rest = -1, rows[] = {1, -1, 4}, row[] = {1, 1, -1};
  const tn_attr axis = tn_attr_int("axis", 0), column = tn_attr_int("axis", 1);
  if (r->in.n <= OVERLAP)
    return mnn_refuse(r, "boxes that may overlap by an amount that is not said");
  const int32_t scores = mnn_emit_2(r, "Reshape", mnn_in(r, SCORES), mnn_i64s(r, &rest, 1)),
                n = mnn_emit(r, "Shape", &scores, 1, NULL, 0),
                most = mnn_emit_2(r, "Min", one_wide(r, MOST), n),
                lowest = r->in.n > LEAST_SCORE ? mnn_in(r, LEAST_SCORE)
                                               : mnn_number(r, TN_F32, -FLT_MAX);
  const int32_t in[] = {mnn_emit_2(r, "Reshape", mnn_in(r, 0), mnn_i64s(r, rows, 3)),
                        mnn_emit_2(r, "Reshape", scores, mnn_i64s(r, row, 3)), most,
                        mnn_emit_2(r, "Reshape", mnn_in(r, OVERLAP), mnn_i64s(r, &one, 1)),
                        mnn_emit_2(r, "Reshape", lowest, mnn_i64s(r, &one, 1))};
  const int32_t found[] = {mnn_emit(r, "NonMaxSuppression", in, 5, NULL, 0),
                           mnn_i64s(r, &last, -1)};
  const int32_t boxes = mnn_emit(r, "Gather", found, 2, &column, 1),
                n_found = mnn_emit(r, "Shape", &boxes, 1, NULL, 0);
  const int32_t pads[] = {mnn_i64s(r, &first, 1), mnn_emit_2(r, "Sub", most, n_found)};
  const int32_t padded[] = {mnn_cast(r, boxes, TN_I32), mnn_emit(r, "Concat", pads, 2, &axis, 1),
                            mnn_number(r, TN_I32, -1)};
  return mnn_emit(r, "Pad", padded, 3, NULL, 0);
}

static int32_t grid_sample(mnn_reader *r) {
  static const char *const borders[] = {"zeros", "border", "reflection"};
  const int64_t border = mnn_param_byte(r, 1, 0);
  if (border < 0 || border > 2 || mnn_param_byte(r, 3, 0)) return mnn_refuse(r, "this border");
  const tn_attr a[] = {tn_attr_str("mode", mnn_param_byte(r, 0, 0) ? "nearest" : "linear"),
                       tn_attr_str("padding_mode", borders[border]),
                       tn_attr_int("align_corners", mnn_param_byte(r, 2, 0))};
  const int32_t in[] = {mnn_in(r, 0), mnn_in(r, 1)};
  return mnn_emit(r, "GridSample", in, 2, a, 3);
}

static int32_t roi_align(mnn_reader *r) {
  enum { WIDTH, HEIGHT, SCALE, RATIO, ALIGNED, TYPE, GRADIENT };
  if (mnn_param_byte(r, GRADIENT, 0) || r->in.n != 3)
    return mnn_refuse(r, "regions without a batch, or gradients");
  const tn_attr a[] = {
      tn_attr_str("mode", mnn_param_byte(r, TYPE, 1) ? "avg" : "max"),
      tn_attr_str("coordinate_transformation_mode",
                  mnn_param_byte(r, ALIGNED, 0) ? "half_pixel" : "output_half_pixel"),
      tn_attr_int("output_height", mnn_param_int(r, HEIGHT, 0)),
      tn_attr_int("output_width", mnn_param_int(r, WIDTH, 0)),
      tn_attr_float("spatial_scale", tn_flat_float(&r->param, SCALE, 0)),
      tn_attr_int("sampling_ratio",
                  mnn_param_int(r, RATIO, -1) < 0 ? 0 : mnn_param_int(r, RATIO, 0))};
  const int32_t in[] = {mnn_in(r, 0), mnn_in(r, 1), mnn_wide(r, 2)};
  return mnn_emit(r, "RoiAlign", in, 3, a, 6);
}

const mnn_maker mnn_select[] = {{"CastLike", cast_like},
                                {"CumSum", cumulative_sum},
                                {"EyeLike", eye_like},
                                {"GatherElements", gather_elements},
                                {"GatherND", gather_nd},
                                {"GridSample", grid_sample},
                                {"LinSpace", lin_space},
                                {"MatrixBandPart", band},
                                {"NonMaxSuppressionV2", non_max_suppression},
                                {"OneHot", one_hot},
                                {"ROIAlign", roi_align},
                                {"Range", range},
                                {"Reverse", reverse},
                                {"ReverseSequence", reverse_sequence},
                                {"ScatterElements", scatter_elements},
                                {"ScatterNd", scatter_nd},
                                {"TopKV2", top_k},
                                {"Unpack", unpack},
                                {"Where", where},
                                {"ZerosLike", zeros_like},
                                {NULL, NULL}};
