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
    const tn_attr a = tn_attr_int("fmod", how == MOD);
    const int32_t in[] = {x, y};
    z = mnn_emit(r, "Mod", in, 2, &a, 1);
  } else if (how == OR || how == XOR) {
    z = mnn_cast(r, mnn_emit_2(r, how == OR ? "Or" : "Xor", truth(r, x), truth(r, y)), TN_I32);
  } else if (how == NOT_EQUAL) {
    z = mnn_cast(r, mnn_emit_1(r, "Not", mnn_emit_2(r, "Equal", x, y)), TN_I32);
  } else if (how == AND) {
    z = mnn_emit_2(r, "BitwiseAnd", x, y);
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

/* One number for each channel of a picture. */
static int32_t by_channel(mnn_reader *r, uint32_t field) {
  const tn_flat_vector v = tn_flat_vec(&r->param, field, 4);
  const int64_t shape[] = {(int64_t)v.n, 1, 1};
  return mnn_floats(r, &v, 3, shape);
}

static int32_t prelu(mnn_reader *r) {
  return mnn_emit_2(r, "PRelu", mnn_in(r, 0), by_channel(r, 1));
}

static int32_t scale(mnn_reader *r) {
  if (tn_flat_has(&r->param, 3)) return mnn_refuse(r, "weights in another file");
  const int32_t y = mnn_emit_2(r, "Mul", mnn_in(r, 0), by_channel(r, 1));
  return tn_flat_vec(&r->param, 2, 4).n ? mnn_emit_2(r, "Add", y, by_channel(r, 2)) : y;
}

static int32_t convert_type(mnn_reader *r) {
  enum { BOOL = 10 };
  const int64_t to = mnn_param_int(r, 1, 0);
  const int32_t x = mnn_in(r, 0);
  if (to == BOOL) return mnn_cast(r, truth(r, x), TN_I32);
  return mnn_dtype(to) == TN_NONE ? mnn_refuse(r, "this type") : mnn_cast(r, x, mnn_dtype(to));
}

static int32_t choose(mnn_reader *r) {
  const int32_t in[] = {truth(r, mnn_in(r, 0)), mnn_in(r, 1), mnn_in(r, 2)};
  return mnn_emit(r, "Where", in, 3, NULL, 0);
}

const mnn_maker mnn_elementwise[] = {
    {"BinaryOp", binary}, {"Cast", convert_type}, {"ELU", elu},    {"Eltwise", eltwise},
    {"PReLU", prelu},     {"ReLU", relu},         {"ReLU6", clip}, {"Scale", scale},
    {"Select", choose},   {"UnaryOp", unary},     {NULL, NULL}};
