/* Nodes of XNNPACK that are neither windows nor products, and which node is what. */
#include "tenon/kit/element.h"
#include "xnnpack.h"

#include <math.h>

/* A list of the node. At most `most`. */
static tn_status list_of(xnn_part *x, const tn_flat_table *t, uint32_t index, int64_t *out,
                         uint64_t most, uint64_t *out_n) {
  const tn_flat_vector v = tn_flat_vec(t, index, 4);
  if (v.n > most)
    return xnn_fail(x, TN_ERR_INVALID, v.at, "a list has %llu elements", (unsigned long long)v.n);
  for (uint64_t k = 0; k < v.n; k++) out[k] = tn_flat_int_at(&v, k) & 0xffffffff;
  *out_n = v.n;
  return xnn_status(x);
}

static tn_status number_of(xnn_part *x, uint32_t dtype, float number, int32_t *out) {
  float data = 0;
  tn_store_f64(dtype, &data, 0, number);
  const tn_tensor t = tn_tensor_make(dtype, 0, NULL, &data);
  return xnn_constant(x, &t, out);
}

/* dtype: what is computed in. */
static tn_status clip(xnn_part *x, uint32_t dtype, float low, float high, int32_t *io) {
  int32_t in[3] = {*io, TN_NO_ID, TN_NO_ID};
  tn_status s = low > -INFINITY ? number_of(x, dtype, low, &in[1]) : TN_OK;
  if (!s && high < INFINITY) s = number_of(x, dtype, high, &in[2]);
  if (!s && low <= -INFINITY && high >= INFINITY) return TN_OK;
  return s ? s : xnn_emit(x, "Clip", in, 3, NULL, 0, io);
}

tn_status xnn_finish(xnn_part *x, const tn_flat_table *range, int64_t id, int32_t made) {
  const float low = (float)tn_flat_float(range, 0, 0), high = (float)tn_flat_float(range, 1, 0);
  const tn_status s = range->at ? clip(x, x->dtype, low, high, &made) : TN_OK;
  return s ? s : xnn_output(x, id, made);
}

/* ---- one input, two inputs ---- */

static tn_status unary(xnn_part *x, const char *op, const tn_flat_table *t, uint32_t first,
                       const tn_attr *attrs, uint32_t n_attrs, const tn_flat_table *range) {
  int32_t in[2], out;
  tn_status s = xnn_input(x, xnn_field(t, first), &in[0]);
  in[1] = in[0];
  if (!s && !strcmp(op, "Rsqrt")) {
    s = xnn_emit(x, "Sqrt", in, 1, NULL, 0, &out);
    if (!s) s = xnn_emit(x, "Reciprocal", &out, 1, NULL, 0, &out);
  } else if (!s && *op) {
    s = xnn_emit(x, op, in, strcmp(op, "Mul") ? 1 : 2, attrs, n_attrs, &out);
  } else if (!s) {
    out = in[0];
  }
  return s ? s : xnn_finish(x, range, xnn_field(t, first + 1), out);
}

static tn_status binary(xnn_part *x, const char *op, const tn_flat_table *t,
                        const tn_flat_table *range) {
  int32_t in[2], out;
  tn_status s = xnn_input(x, xnn_field(t, 0), &in[0]);
  if (!s) s = xnn_input(x, xnn_field(t, 1), &in[1]);
  if (!s) s = xnn_emit(x, op, in, 2, NULL, 0, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, 2), out);
}

static tn_status concatenate(xnn_part *x, uint32_t n, const tn_flat_table *t,
                             const tn_flat_table *range) {
  static const uint32_t places[] = {1, 2, 3, 4, 7};
  int32_t in[5], out;
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n && !s; k++) s = xnn_input(x, xnn_field(t, places[k]), &in[k]);
  const tn_attr axis = XNN_INT("axis", xnn_field(t, 0));
  if (!s) s = xnn_emit(x, "Concat", in, n, &axis, 1, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, 5), out);
}

static tn_status mean(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  static const int64_t axes[] = {1, 2};
  int32_t in[2], out;
  tn_status s = xnn_input(x, xnn_field(t, 0), &in[0]);
  if (!s) s = xnn_ints(x, axes, 2, &in[1]);
  if (!s) s = xnn_emit(x, "ReduceMean", in, 2, NULL, 0, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, 1), out);
}

/* ---- moves ---- */

static tn_status transpose(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  int64_t perm[TN_MAX_RANK];
  uint64_t n;
  int32_t in, out;
  tn_status s = list_of(x, t, 1, perm, TN_MAX_RANK, &n);
  if (!s) s = xnn_input(x, xnn_field(t, 2), &in);
  if (!s) s = xnn_transpose(x, in, perm, (uint32_t)n, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, 3), out);
}

/* One dim of 0 is what is left. */
static tn_status reshape(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  int64_t shape[TN_MAX_RANK];
  uint64_t n;
  int32_t in[2], out;
  tn_status s = list_of(x, t, 1, shape, TN_MAX_RANK, &n);
  for (uint64_t k = 0; !s && k < n; k++)
    if (!shape[k]) shape[k] = -1;
  if (!s) s = xnn_input(x, xnn_field(t, 2), &in[0]);
  if (!s) s = xnn_ints(x, shape, n, &in[1]);
  if (!s) s = xnn_emit(x, "Reshape", in, 2, NULL, 0, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, 3), out);
}

static tn_status slice(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  int64_t from[TN_MAX_RANK], to[TN_MAX_RANK];
  uint64_t n, m;
  int32_t in[3], out;
  tn_status s = list_of(x, t, 1, from, TN_MAX_RANK, &n);
  if (!s) s = list_of(x, t, 2, to, TN_MAX_RANK, &m);
  if (!s && n != m) s = xnn_fail(x, TN_ERR_INVALID, x->at, "it has fewer sizes than offsets");
  for (uint64_t k = 0; !s && k < n; k++) to[k] += from[k];
  if (!s) s = xnn_input(x, xnn_field(t, 3), &in[0]);
  if (!s) s = xnn_ints(x, from, n, &in[1]);
  if (!s) s = xnn_ints(x, to, n, &in[2]);
  if (!s) s = xnn_emit(x, "Slice", in, 3, NULL, 0, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, 4), out);
}

static tn_status pad(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  int64_t pads[2 * TN_MAX_RANK];
  uint64_t n, m = 0;
  int32_t in[3], out;
  float fill = (float)tn_flat_float(t, 2, 0);
  const tn_tensor value = tn_tensor_make(TN_F32, 0, NULL, &fill);
  tn_status s = list_of(x, t, 0, pads, TN_MAX_RANK, &n);
  if (!s) s = list_of(x, t, 1, pads + n, TN_MAX_RANK, &m);
  if (!s && n != m) s = xnn_fail(x, TN_ERR_INVALID, x->at, "it pads fewer dims behind than before");
  if (!s) s = xnn_input(x, xnn_field(t, 3), &in[0]);
  if (!s) s = xnn_ints(x, pads, 2 * n, &in[1]);
  if (!s) s = xnn_constant(x, &value, &in[2]);
  if (!s) s = xnn_emit(x, "Pad", in, 3, NULL, 0, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, 4), out);
}

/* ---- all of them ---- */

typedef enum form {
  REFUSED,
  ONE,
  TWO,
  JOINED,
  FORM_FC,
  FORM_CONV,
  FORM_DEEP,
  FORM_TRANSPOSED_CONV,
  FORM_POOL,
  FORM_ARG_MAX,
  FORM_ATTENTION,
  FORM_MEAN,
  FORM_RESIZE,
  FORM_TRANSPOSE,
  FORM_RESHAPE,
  FORM_SLICE,
  FORM_PAD,
  FORM_ELU,
  FORM_LEAKY,
  FORM_SOFTMAX
} form;

/* By the numbers of XNodeUnion, as the rows of executorch.yaml. op "": the input itself. */
static const struct kind {
  form form;
  const char *op;
} kinds[] = {{REFUSED, NULL},
             {TWO, "Add"},                 /* XNNAdd */
             {FORM_FC, NULL},              /* XNNFullyConnected */
             {FORM_SOFTMAX, "Softmax"},    /* XNNSoftmax */
             {ONE, "Sigmoid"},             /* XNNSigmoid */
             {FORM_TRANSPOSE, NULL},       /* XNNStaticTranspose */
             {ONE, ""},                    /* XNNClamp */
             {FORM_CONV, NULL},            /* XNNConv2d */
             {TWO, "Div"},                 /* XNNDiv */
             {FORM_RESIZE, NULL},          /* XNNStaticResizeBilinear2D */
             {FORM_PAD, NULL},             /* XNNStaticConstantPad */
             {FORM_POOL, "AveragePool"},   /* XNNAvgPooling2d */
             {TWO, "Min"},                 /* XNNMinimum */
             {FORM_DEEP, NULL},            /* XNNDepthwiseConv2d */
             {FORM_POOL, "MaxPool"},       /* XNNMaxPooling2d */
             {TWO, "Mul"},                 /* XNNMultiply */
             {TWO, "Sub"},                 /* XNNSubtract */
             {ONE, "Floor"},               /* XNNFloor */
             {ONE, ""},                    /* XNNConvert */
             {FORM_MEAN, NULL},            /* XNNGlobalAvgPooling2d */
             {FORM_RESHAPE, NULL},         /* XNNStaticReshape */
             {FORM_ARG_MAX, NULL},         /* XNNArgMaxPooling2d */
             {ONE, "Sqrt"},                /* XNNSquareRoot */
             {ONE, "Ceil"},                /* XNNCeiling */
             {ONE, "HardSwish"},           /* XNNHardswish */
             {FORM_LEAKY, "LeakyRelu"},    /* XNNLeakyReLU */
             {TWO, "Max"},                 /* XNNMaximum */
             {ONE, "Neg"},                 /* XNNNegate */
             {ONE, "Mul"},                 /* XNNSquare */
             {FORM_ELU, "Elu"},            /* XNNELU */
             {ONE, "Abs"},                 /* XNNAbs */
             {TWO, "PRelu"},               /* XNNPReLU */
             {JOINED, NULL},               /* XNNConcatenate2 */
             {JOINED, NULL},               /* XNNConcatenate3 */
             {JOINED, NULL},               /* XNNConcatenate4 */
             {FORM_SLICE, NULL},           /* XNNStaticSlice */
             {FORM_ATTENTION, NULL},       /* XNNScaledDotProductAttention */
             {TWO, "MatMul"},              /* XNNBatchMatrixMultiply */
             {JOINED, NULL},               /* XNNConcatenate5 */
             {FORM_TRANSPOSED_CONV, NULL}, /* XNNConvTranspose2d */
             {ONE, "Rsqrt"},               /* XNNReciprocalSquareRoot */
             {ONE, "Log"},                 /* XNNLog */
             {ONE, "Gelu"},                /* XNNGelu */
             {ONE, "Tanh"},                /* XNNTanh */
             {ONE, "Exp"},                 /* XNNExp */
             {ONE, "Sin"},                 /* XNNSin */
             {ONE, ""},                    /* XNNCopy */
             {ONE, "Cos"} /* XNNCos */};

tn_status xnn_node(xnn_part *x, int64_t kind, const tn_flat_table *t, const tn_flat_table *range) {
  const bool is_known = kind > 0 && kind < (int64_t)(sizeof kinds / sizeof *kinds);
  const struct kind *k = &kinds[is_known ? kind : 0];
  const tn_attr alpha = XNN_FLOAT("alpha", tn_flat_float(t, 0, 0)), last = XNN_INT("axis", -1);
  x->kind = is_known ? pte_xnn_kind(kind) : NULL;
  switch (k->form) {
    case ONE: return unary(x, k->op, t, 0, NULL, 0, range);
    case FORM_SOFTMAX: return unary(x, k->op, t, 0, &last, 1, range);
    case FORM_ELU:
    case FORM_LEAKY: return unary(x, k->op, t, 1, &alpha, 1, range);
    case TWO: return binary(x, k->op, t, range);
    case JOINED: return concatenate(x, (uint32_t)(x->kind[14] - '0'), t, range);
    case FORM_FC: return xnn_fully_connected(x, t, range);
    case FORM_CONV: return xnn_convolve(x, XNN_CONV, t, range);
    case FORM_DEEP: return xnn_convolve(x, XNN_DEEP_CONV, t, range);
    case FORM_TRANSPOSED_CONV: return xnn_convolve(x, XNN_TRANSPOSED_CONV, t, range);
    case FORM_POOL: return xnn_pool(x, k->op, t, range);
    case FORM_ARG_MAX: return xnn_arg_max_pool(x, t, range);
    case FORM_ATTENTION: return xnn_attention(x, t, range);
    case FORM_MEAN: return mean(x, t, range);
    case FORM_RESIZE: return xnn_resize(x, t, range);
    case FORM_TRANSPOSE: return transpose(x, t, range);
    case FORM_RESHAPE: return reshape(x, t, range);
    case FORM_SLICE: return slice(x, t, range);
    case FORM_PAD: return pad(x, t, range);
    default:
      return xnn_fail(x, TN_ERR_UNSUPPORTED, x->at, "not supported: a node of kind %lld",
                      (long long)kind);
  }
}
