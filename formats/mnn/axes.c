/* What sums up or normalises axes, as nodes of ai.onnx. */
#include "nodes.h"

static int32_t softmax(mnn_reader *r) {
  return mnn_emit_int(r, "Softmax", mnn_in(r, 0), "axis", mnn_param_int(r, 0, 0));
}

static int32_t reduction(mnn_reader *r) {
  static const char *const ops[] = {"ReduceSum", "ReduceL1",  "ReduceSumSquare", "ReduceMean",
                                    "ReduceMax", "ReduceMin", "ReduceProd"};
  enum { OPERATION, DIM, COEFF, KEEP };
  const tn_flat_vector dims = tn_flat_vec(&r->param, DIM, 4);
  const int64_t how = mnn_param_byte(r, OPERATION, 0);
  if (how < 0 || how > 6) return mnn_refuse(r, "any and all");
  const tn_attr a = tn_attr_int("keepdims", mnn_param_byte(r, KEEP, 0) != 0);
  const bool given = r->in.n > 1;
  const int32_t in[] = {mnn_in(r, 0), given    ? mnn_wide(r, 1)
                                      : dims.n ? mnn_ints_of(r, &dims)
                                               : TN_NO_ID};
  return mnn_emit(r, ops[how], in, given || dims.n ? 2 : 1, &a, 1);
}

static int32_t arg_max(mnn_reader *r) {
  if (mnn_param_int(r, 0, 0) || mnn_param_int(r, 1, 0) > 1)
    return mnn_refuse(r, "values, or more than one place");
  const tn_attr a[] = {tn_attr_int("axis", mnn_param_int(r, 2, 0)), tn_attr_int("keepdims", 0)};
  const int32_t x = mnn_in(r, 0);
  return mnn_cast(r, mnn_emit(r, r->row->name, &x, 1, a, 2), TN_I32);
}

static int32_t product(mnn_reader *r) {
  const bool batch = !strcmp(r->row->name, "BatchMatMul");
  const bool a = mnn_param_byte(r, batch ? 0 : 1, 0), b = mnn_param_byte(r, batch ? 1 : 2, 0);
  const int32_t in[] = {mnn_in(r, 0), mnn_in(r, 1)};
  const tn_attr equation = tn_attr_str(
      "equation", a ? b ? "...ji,...kj->...ik" : "...ji,...jk->...ik" : "...ij,...kj->...ik");
  const int32_t y =
      a || b ? mnn_emit(r, "Einsum", in, 2, &equation, 1) : mnn_emit(r, "MatMul", in, 2, NULL, 0);
  return r->in.n > 2 ? mnn_emit_2(r, "Add", y, mnn_in(r, 2)) : y;
}

/* The last dims, as many as it names axes; or all but the first, in groups. */
static int32_t layer_norm(mnn_reader *r) {
  enum { AXIS, EPSILON, GAMMA, BETA, GROUP, EXTERNAL, RMS };
  const tn_flat_vector axes = tn_flat_vec(&r->param, AXIS, 4),
                       gamma = tn_flat_vec(&r->param, GAMMA, 4),
                       beta = tn_flat_vec(&r->param, BETA, 4),
                       beside = tn_flat_vec(&r->param, EXTERNAL, 8);
  mnn_span scale = mnn_span_of(&gamma), bias = mnn_span_of(&beta);
  const bool rms = mnn_param_byte(r, RMS, 0);
  if (beside.n && !gamma.n) {
    mnn_beside(r, &beside, 0, &scale);
    mnn_beside(r, &beside, 1, &bias);
  }
  if (mnn_param_int(r, GROUP, 1) != 1 || !axes.n || axes.n > TN_MAX_RANK)
    return mnn_refuse(r, "a normalisation of groups");
  const int64_t n = (int64_t)axes.n;
  const tn_attr a[] = {tn_attr_int("axis", -n),
                       tn_attr_float("epsilon", tn_flat_float(&r->param, EPSILON, 0))};
  const int32_t x = mnn_in(r, 0);
  const int32_t factors = scale.size
                              ? mnn_vector(r, scale)
                              : mnn_emit_2(r, "Expand", mnn_number(r, TN_F32, 1),
                                           mnn_emit_int(r, "Shape", x, "start", -n)); /* ones */
  if (n > 1 && scale.size) return mnn_refuse(r, "a scale of more than one dim");
  const int32_t in[] = {x, factors, bias.size ? mnn_vector(r, bias) : TN_NO_ID};
  if (rms && !bias.size) return mnn_emit(r, "RMSNormalization", in, 2, a, 2);
  return rms ? mnn_refuse(r, "a bias of a root mean square")
             : mnn_emit(r, "LayerNormalization", in, bias.size ? 3 : 2, a, 2);
}

static int32_t moments(mnn_reader *r) {
  const tn_flat_vector dims = tn_flat_vec(&r->param, 0, 4);
  const tn_attr keep = tn_attr_int("keepdims", 1),
                a = tn_attr_int("keepdims", mnn_param_byte(r, 1, 1));
  const int32_t x = mnn_in(r, 0), axes = mnn_ints_of(r, &dims), in[] = {x, axes};
  const int32_t centred = mnn_emit_2(r, "Sub", x, mnn_emit(r, "ReduceMean", in, 2, &keep, 1)),
                squares[] = {mnn_emit_2(r, "Mul", centred, centred), axes};
  mnn_set(r, 0, mnn_emit(r, "ReduceMean", in, 2, &a, 1));
  if (r->out.n > 1) mnn_set(r, 1, mnn_emit(r, "ReduceMean", squares, 2, &a, 1));
  return TN_NO_ID;
}

static int32_t batch_norm(mnn_reader *r) {
  enum { CHANNELS, SLOPE, MEAN, VARIANCE, BIAS, EPSILON = 7 };
  static const uint32_t fields[] = {SLOPE, BIAS, MEAN, VARIANCE};
  int32_t in[5] = {mnn_in(r, 0)};
  for (uint32_t k = 0; k < 4; k++) {
    const tn_flat_vector v = tn_flat_vec(&r->param, fields[k], 4);
    in[k + 1] = mnn_vector(r, mnn_span_of(&v));
  }
  const tn_attr a = tn_attr_float("epsilon", tn_flat_float(&r->param, EPSILON, 0.001));
  return mnn_emit(r, "BatchNormalization", in, 5, &a, 1);
}

static int32_t local_response(mnn_reader *r) {
  enum { REGION, SIZE, ALPHA, BETA, BIAS };
  if (mnn_param_int(r, REGION, 0)) return mnn_refuse(r, "regions within a channel");
  const tn_attr a[] = {tn_attr_int("size", mnn_param_int(r, SIZE, 0)),
                       tn_attr_float("alpha", tn_flat_float(&r->param, ALPHA, 0)),
                       tn_attr_float("beta", tn_flat_float(&r->param, BETA, 0)),
                       tn_attr_float("bias", tn_flat_float(&r->param, BIAS, 1))};
  const int32_t x = mnn_in(r, 0);
  return mnn_emit(r, "LRN", &x, 1, a, 4);
}

/* Each pixel by its length over the channels. */
static int32_t normalize(mnn_reader *r) {
  enum { ACROSS, SHARED, EPSILON, SCALE };
  const tn_flat_vector v = tn_flat_vec(&r->param, SCALE, 4);
  const int64_t one = 1, shape[] = {(int64_t)v.n, 1, 1};
  if (mnn_param_int(r, ACROSS, 0)) return mnn_refuse(r, "a length of all pixels");
  const int32_t x = mnn_in(r, 0), in[] = {x, mnn_i64s(r, &one, 1)};
  const int32_t squares = mnn_emit(r, "ReduceSumSquare", in, 2, NULL, 0),
                eps = mnn_number(r, TN_F32, tn_flat_float(&r->param, EPSILON, 0)),
                length = mnn_emit_1(r, "Sqrt", mnn_emit_2(r, "Add", squares, eps));
  return mnn_emit_2(r, "Mul", mnn_emit_2(r, "Div", x, length), mnn_floats(r, &v, 3, shape));
}

const mnn_maker mnn_axes[] = {
    {"ArgMax", arg_max},       {"ArgMin", arg_max},     {"BatchMatMul", product},
    {"BatchNorm", batch_norm}, {"LRN", local_response}, {"LayerNorm", layer_norm},
    {"MatMul", product},       {"Moments", moments},    {"Normalize", normalize},
    {"Reduction", reduction},  {"Softmax", softmax},    {NULL, NULL}};
