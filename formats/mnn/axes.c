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
  if (r->in.n > 2) return mnn_refuse(r, "a bias");
  if (!a && !b) return mnn_emit(r, "MatMul", in, 2, NULL, 0);
  const tn_attr equation = tn_attr_str(
      "equation", a ? b ? "...ji,...kj->...ik" : "...ji,...jk->...ik" : "...ij,...kj->...ik");
  return mnn_emit(r, "Einsum", in, 2, &equation, 1);
}

static int32_t layer_norm(mnn_reader *r) {
  enum { AXIS, EPSILON, GAMMA, BETA, GROUP, EXTERNAL, RMS };
  const tn_flat_vector axes = tn_flat_vec(&r->param, AXIS, 4),
                       gamma = tn_flat_vec(&r->param, GAMMA, 4),
                       beta = tn_flat_vec(&r->param, BETA, 4);
  const int64_t n = (int64_t)gamma.n;
  if (tn_flat_has(&r->param, EXTERNAL) || mnn_param_byte(r, RMS, 0) || axes.n != 1 || !gamma.n ||
      mnn_param_int(r, GROUP, 1) != 1)
    return mnn_refuse(r, "a normalisation other than of the last axis, with scale");
  const tn_attr a[] = {tn_attr_int("axis", -1),
                       tn_attr_float("epsilon", tn_flat_float(&r->param, EPSILON, 0))};
  const int32_t in[] = {mnn_in(r, 0), mnn_floats(r, &gamma, 1, &n),
                        beta.n ? mnn_floats(r, &beta, 1, &n) : TN_NO_ID};
  return mnn_emit(r, "LayerNormalization", in, beta.n ? 3 : 2, a, 2);
}

const mnn_maker mnn_axes[] = {{"ArgMax", arg_max},      {"ArgMin", arg_max},
                              {"BatchMatMul", product}, {"LayerNorm", layer_norm},
                              {"MatMul", product},      {"Reduction", reduction},
                              {"Softmax", softmax},     {NULL, NULL}};
