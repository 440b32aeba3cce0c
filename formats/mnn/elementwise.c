/* What works element by element, as nodes of ai.onnx. */
#include "nodes.h"

static int32_t one_of(mnn_reader *r, const char *const *ops, size_t n, int64_t k) {
  if (k >= 0 && (size_t)k < n && ops[k]) return mnn_emit_1(r, ops[k], mnn_in(r, 0));
  return mnn_refuse(r, "this function of one value");
}

static int32_t unary(mnn_reader *r) {
  static const char *const ops[] = {
      [0] = "Abs",       [1] = "Neg",   [2] = "Floor",  [3] = "Ceil",        [5] = "Sqrt",
      [7] = "Exp",       [8] = "Log",   [9] = "Sin",    [10] = "Cos",        [11] = "Tan",
      [12] = "Asin",     [13] = "Acos", [14] = "Atan",  [15] = "Reciprocal", [17] = "Softplus",
      [18] = "Acosh",    [19] = "Sinh", [20] = "Asinh", [21] = "Atanh",      [22] = "Sign",
      [23] = "Round",    [24] = "Cosh", [25] = "Erf",   [29] = "Sigmoid",    [30] = "Tanh",
      [31] = "HardSwish"};
  enum { SQUARE = 4, RSQRT = 6, LOG1P = 16, EXPM1 = 28, GELU = 32, GELU_EXACT = 33, SILU = 34 };
  const int64_t how = mnn_param_int(r, 0, 0);
  const int32_t x = mnn_in(r, 0);
  switch (how) {
    case SQUARE: return mnn_emit_2(r, "Mul", x, x);
    case RSQRT: return mnn_emit_1(r, "Reciprocal", mnn_emit_1(r, "Sqrt", x));
    case LOG1P: return mnn_emit_1(r, "Log", mnn_emit_2(r, "Add", x, mnn_number(r, TN_F32, 1)));
    case EXPM1: return mnn_emit_2(r, "Sub", mnn_emit_1(r, "Exp", x), mnn_number(r, TN_F32, 1));
    case GELU: {
      const tn_attr a = tn_attr_str("approximate", "tanh");
      return mnn_emit(r, "Gelu", &x, 1, &a, 1);
    }
    case GELU_EXACT: return mnn_emit_1(r, "Gelu", x);
    case SILU: return mnn_emit_2(r, "Mul", x, mnn_emit_1(r, "Sigmoid", x));
    default: return one_of(r, ops, sizeof ops / sizeof *ops, how);
  }
}

static int32_t truth(mnn_reader *r, int32_t x) { return mnn_cast(r, x, TN_BOOL); }

static int32_t binary(mnn_reader *r) {
  static const char *const ops[] = {"Add", "Sub", "Mul", "Div", "Max",
                                    "Min", "Pow", "Div", "Min", "Max"};
  static const char *const tests[] = {[10] = "Greater",
                                      [11] = "GreaterOrEqual",
                                      [12] = "Less",
                                      [15] = "Equal",
                                      [16] = "LessOrEqual"};
  enum {
    SQUARED_DIFFERENCE = 14,
    FLOOR_MOD = 17,
    MOD = 19,
    OR = 21,
    NOT_EQUAL = 22,
    AND = 23,
    BIT_OR = 24,
    BIT_XOR = 25,
    XOR = 26
  };
  const int64_t how = mnn_param_int(r, 0, 0);
  const int32_t x = mnn_in(r, 0), y = mnn_in(r, 1);
  int32_t z = TN_NO_ID;
  if (how >= 0 && how < 10) {
    z = mnn_emit_2(r, ops[how], x, y);
  } else if (how == SQUARED_DIFFERENCE) {
    const int32_t d = mnn_emit_2(r, "Sub", x, y);
    z = mnn_emit_2(r, "Mul", d, d);
  } else if (how == FLOOR_MOD || how == MOD) {
    const tn_attr a = tn_attr_int("floors", how == FLOOR_MOD);
    const int32_t in[] = {x, y};
    z = mnn_emit_in(r, "mnn", "Mod", in, 2, &a, 1);
  } else if (how == OR || how == XOR) {
    z = mnn_cast(r, mnn_emit_2(r, how == OR ? "Or" : "Xor", truth(r, x), truth(r, y)), TN_I32);
  } else if (how == NOT_EQUAL) {
    z = mnn_cast(r, mnn_emit_1(r, "Not", mnn_emit_2(r, "Equal", x, y)), TN_I32);
  } else if (how >= AND && how <= BIT_XOR) {
    static const char *const bits[] = {"BitwiseAnd", "BitwiseOr", "BitwiseXor"};
    z = mnn_emit_2(r, bits[how - AND], x, y);
  } else if (how >= 10 && (size_t)how < sizeof tests / sizeof *tests && tests[how]) {
    z = mnn_cast(r, mnn_emit_2(r, tests[how], x, y), TN_I32);
  } else {
    return mnn_refuse(r, "this function of two values");
  }
  return mnn_param_int(r, 2, 0) == 1 ? mnn_emit_1(r, "Relu", z) : z;
}

static int32_t eltwise(mnn_reader *r) {
  static const char *const ops[] = {"Mul", "Add", "Max", "Sub"};
  const int64_t how = mnn_param_byte(r, 0, 0);
  if (how < 0 || how > 3 || tn_flat_vec(&r->param, 1, 4).n) return mnn_refuse(r, "coefficients");
  int32_t y = mnn_in(r, 0);
  for (uint64_t k = 1; k < r->in.n && !r->status; k++) y = mnn_emit_2(r, ops[how], y, mnn_in(r, k));
  return y;
}

static int32_t relu(mnn_reader *r) {
  const double slope = tn_flat_float(&r->param, 0, 0);
  const int32_t x = mnn_in(r, 0);
  return slope != 0 ? mnn_emit_float(r, "LeakyRelu", x, "alpha", slope) : mnn_emit_1(r, "Relu", x);
}

static int32_t clip(mnn_reader *r) {
  const int32_t in[] = {mnn_in(r, 0), mnn_number(r, TN_F32, tn_flat_float(&r->param, 0, 0)),
                        mnn_number(r, TN_F32, tn_flat_float(&r->param, 1, 6))};
  return mnn_emit(r, "Clip", in, 3, NULL, 0);
}

static int32_t elu(mnn_reader *r) {
  return mnn_emit_float(r, "Elu", mnn_in(r, 0), "alpha", tn_flat_float(&r->param, 0, 0));
}

/* One number for each channel, which are dim 1 of x. */
static int32_t by_channel(mnn_reader *r, int32_t x, mnn_span numbers) {
  const int32_t in[] = {mnn_vector(r, numbers), x};
  return mnn_emit_in(r, "mnn", "ByChannel", in, 2, NULL, 0);
}

static int32_t prelu(mnn_reader *r) {
  const tn_flat_vector v = tn_flat_vec(&r->param, 1, 4);
  const int32_t x = mnn_in(r, 0);
  return mnn_emit_2(r, "PRelu", x, by_channel(r, x, mnn_span_of(&v)));
}

static int32_t scale(mnn_reader *r) {
  enum { SCALE = 1, BIAS, EXTERNAL };
  const tn_flat_vector factors = tn_flat_vec(&r->param, SCALE, 4),
                       bias = tn_flat_vec(&r->param, BIAS, 4),
                       beside = tn_flat_vec(&r->param, EXTERNAL, 8);
  mnn_span times = mnn_span_of(&factors), plus = mnn_span_of(&bias);
  const int32_t x = mnn_in(r, 0);
  if (beside.n && !factors.n) {
    mnn_beside(r, &beside, 0, &times);
    mnn_beside(r, &beside, 1, &plus);
  }
  const int32_t y = mnn_emit_2(r, "Mul", x, by_channel(r, x, times));
  return plus.size ? mnn_emit_2(r, "Add", y, by_channel(r, x, plus)) : y;
}

static int32_t convert_type(mnn_reader *r) {
  enum { BOOL = 10 };
  const int64_t to = mnn_param_int(r, 1, 0);
  const int32_t x = mnn_in(r, 0);
  if (to == BOOL) return mnn_cast(r, truth(r, x), TN_I32);
  return mnn_dtype(to) == TN_NONE ? mnn_refuse(r, "this type") : mnn_cast(r, x, mnn_dtype(to));
}

/* A number that stands for all others may be of another type. */
static int32_t choose(mnn_reader *r) {
  const int32_t yes = mnn_in(r, 1), no = mnn_emit_2(r, "CastLike", mnn_in(r, 2), yes);
  const int32_t in[] = {truth(r, mnn_in(r, 0)), yes, no};
  return mnn_emit(r, "Where", in, 3, NULL, 0);
}

static int32_t selu(mnn_reader *r) {
  const tn_attr a[] = {tn_attr_float("gamma", tn_flat_float(&r->param, 0, 0)),
                       tn_attr_float("alpha", tn_flat_float(&r->param, 1, 0))};
  const int32_t x = mnn_in(r, 0);
  return mnn_emit(r, "Selu", &x, 1, a, 2);
}

static int32_t threshold(mnn_reader *r) {
  const int32_t limit = mnn_number(r, TN_F32, tn_flat_float(&r->param, 0, 0));
  return mnn_cast(r, mnn_emit_2(r, "Greater", mnn_in(r, 0), limit), TN_F32);
}

const mnn_maker mnn_elementwise[] = {
    {"BinaryOp", binary}, {"Cast", convert_type},   {"ELU", elu},
    {"Eltwise", eltwise}, {"PReLU", prelu},         {"ReLU", relu},
    {"ReLU6", clip},      {"Scale", scale},         {"Select", choose},
    {"Selu", selu},       {"Threshold", threshold}, {"UnaryOp", unary},
    {NULL, NULL}};
