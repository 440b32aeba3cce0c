/* Numbers of the program: known ones are computed here, others by nodes on tensors of rank 0. */
#include <math.h>
#include <stdio.h>

#include "reader.h"
#include "tenon/kit/checked.h"

/* ---- conversions ---- */

static bool is_float(const ts_value *v) { return v->kind == TS_V_FLOAT; }
static double f_of(const ts_value *v) { return is_float(v) ? v->f : (double)v->i; }

static ts_value *item_of(ts_reader *r, ts_value *tensor, ts_value_kind kind, uint32_t dtype) {
  const ts_ssa x = ts_read_tensor(r, tensor), to[] = {x, ts_const_ints(r, NULL, 0)};
  const ts_ssa flat = x.id < 0 ? x : ts_op_int(r, "Reshape", to, 2, "allowzero", 1);
  return flat.id < 0 ? NULL : ts_ssa_value(r, kind, ts_cast(r, flat, dtype));
}

ts_value *ts_to_float(ts_reader *r, ts_value *v) {
  if (!ts_usable(r, v)) return NULL;
  if (v->kind == TS_V_TENSOR) return item_of(r, v, TS_V_FLOAT, TN_F64);
  if (v->kind == TS_V_STR && (!strcmp(v->text, "inf") || !strcmp(v->text, "-inf")))
    return ts_float(r, *v->text == '-' ? -INFINITY : INFINITY);
  if (!ts_is_number(v)) return ts_null(r, "%s cannot be a float", ts_kind_text(v));
  if (is_float(v)) return v;
  if (v->known) return ts_float(r, (double)v->i);
  return ts_ssa_value(r, TS_V_FLOAT, ts_cast(r, ts_scalar(r, v), TN_F64));
}

ts_value *ts_to_int(ts_reader *r, ts_value *v) {
  if (!ts_usable(r, v)) return NULL;
  if (v->kind == TS_V_TENSOR) return item_of(r, v, TS_V_INT, TN_I64);
  if (!ts_is_number(v)) return ts_null(r, "%s cannot be an int", ts_kind_text(v));
  if (v->kind == TS_V_INT || v->kind == TS_V_DTYPE) return v;
  if (!v->known) return ts_ssa_value(r, TS_V_INT, ts_cast(r, ts_scalar(r, v), TN_I64));
  if (is_float(v) && !(fabs(v->f) < 9e18)) return ts_null(r, "%g cannot be an int", v->f);
  return ts_int(r, is_float(v) ? (int64_t)v->f : v->i);
}

ts_value *ts_truth(ts_reader *r, ts_value *v) {
  if (!ts_usable(r, v)) return NULL;
  if (v->kind == TS_V_TENSOR) return item_of(r, v, TS_V_BOOL, TN_BOOL);
  if (!ts_is_number(v) || v->kind == TS_V_DTYPE)
    return ts_null(r, "%s is no condition", ts_kind_text(v));
  if (v->known) return ts_bool(r, is_float(v) ? v->f != 0 : v->i != 0);
  if (v->kind == TS_V_BOOL) return v;
  return ts_ssa_value(r, TS_V_BOOL, ts_cast(r, ts_scalar(r, v), TN_BOOL));
}

/* ---- arithmetic on what is known ---- */

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* False: it overflows, or divides by zero. */
static bool int_result(const char *op, int64_t a, int64_t b, int64_t *out) {
  if (!strcmp(op, "add")) return !tn_add_i64(a, b, out);
  if (!strcmp(op, "sub")) return !__builtin_sub_overflow(a, b, out);
  if (!strcmp(op, "mul")) return !tn_mul_i64(a, b, out);
  if (!strcmp(op, "min")) return *out = a < b ? a : b, true;
  if (!strcmp(op, "max")) return *out = a > b ? a : b, true;
  if (!strcmp(op, "__and__")) return *out = a & b, true;
  if (!strcmp(op, "__or__")) return *out = a | b, true;
  if (!strcmp(op, "__xor__")) return *out = a ^ b, true;
  if (!b || (b == -1 && a == INT64_MIN)) return false;
  *out = !strcmp(op, "floordiv") ? floor_div(a, b) : a - b * floor_div(a, b);
  return !strcmp(op, "floordiv") || !strcmp(op, "remainder");
}

static bool float_result(const char *op, double a, double b, double *out) {
  if (!strcmp(op, "add")) return *out = a + b, true;
  if (!strcmp(op, "sub")) return *out = a - b, true;
  if (!strcmp(op, "mul")) return *out = a * b, true;
  if (!strcmp(op, "min")) return *out = a < b ? a : b, true;
  if (!strcmp(op, "max")) return *out = a > b ? a : b, true;
  if (!strcmp(op, "pow")) return *out = pow(a, b), true;
  if (b == 0) return false;
  if (!strcmp(op, "div")) return *out = a / b, true;
  if (!strcmp(op, "floordiv")) return *out = floor(a / b), true;
  if (!strcmp(op, "remainder")) return *out = a - b * floor(a / b), true;
  return false;
}

static bool is_comparison(const char *op) {
  static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  for (size_t k = 0; k < 6; k++)
    if (!strcmp(op, names[k])) return true;
  return false;
}

static bool compared(const char *op, const ts_value *a, const ts_value *b) {
  const bool floats = is_float(a) || is_float(b);
  const int less = floats ? f_of(a) < f_of(b) : a->i < b->i,
            equal = floats ? f_of(a) == f_of(b) : a->i == b->i,
            more = floats ? f_of(a) > f_of(b) : a->i > b->i;
  if (op[0] == 'e') return equal;
  if (op[0] == 'n') return !equal;
  if (op[0] == 'l') return less || (op[1] == 'e' && equal);
  return more || (op[1] == 'e' && equal);
}

static ts_value *known_op(ts_reader *r, const char *op, const ts_value *a, const ts_value *b) {
  int64_t i;
  double f;
  if (is_comparison(op)) return ts_bool(r, compared(op, a, b));
  const bool floats =
      is_float(a) || is_float(b) || !strcmp(op, "div") || !strcmp(op, "pow"); /* of ints, too */
  if (floats && float_result(op, f_of(a), f_of(b), &f)) return ts_float(r, f);
  if (!floats && int_result(op, a->i, b->i, &i)) {
    ts_value *v = ts_int(r, i);
    const bool logic = op[0] == '_' && a->kind == TS_V_BOOL && b->kind == TS_V_BOOL;
    if (v && logic) v->kind = TS_V_BOOL;
    return v;
  }
  return ts_null(r, "'%s' of %g and %g has no result", op, f_of(a), f_of(b));
}

/* ---- and on what is not ---- */

static const char *onnx_of(const char *op) {
  static const char *const names[][2] = {
      {"add", "Add"},     {"sub", "Sub"},        {"mul", "Mul"},    {"div", "Div"},
      {"min", "Min"},     {"max", "Max"},        {"pow", "Pow"},    {"eq", "Equal"},
      {"lt", "Less"},     {"le", "LessOrEqual"}, {"gt", "Greater"}, {"ge", "GreaterOrEqual"},
      {"__and__", "And"}, {"__or__", "Or"},      {"__xor__", "Xor"}};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (!strcmp(op, names[k][0])) return names[k][1];
  return NULL;
}

/* a - (a mod b) is a multiple of b. */
static ts_ssa divided(ts_reader *r, const ts_ssa *in, bool floats, bool wants_rest) {
  if (floats) {
    const ts_ssa ratio = ts_op(r, "Div", in, 2), whole = ts_op(r, "Floor", &ratio, 1),
                 back[] = {whole, in[1]}, product = ts_op(r, "Mul", back, 2),
                 rest[] = {in[0], product};
    return wants_rest ? ts_op(r, "Sub", rest, 2) : whole;
  }
  const ts_ssa rest = ts_op(r, "Mod", in, 2);
  if (wants_rest) return rest;
  const ts_ssa less[] = {in[0], rest}, multiple[] = {ts_op(r, "Sub", less, 2), in[1]};
  return ts_op(r, "Div", multiple, 2);
}

static ts_value *open_op(ts_reader *r, const char *op, ts_value *a, ts_value *b) {
  const bool floats = is_float(a) || is_float(b) || !strcmp(op, "div") || !strcmp(op, "pow");
  const bool logic = a->kind == TS_V_BOOL && b->kind == TS_V_BOOL;
  const bool is_logic = op[0] == '_';
  if (is_logic && !logic) return ts_null(r, "not supported: bits of ints that only a run knows");
  a = floats ? ts_to_float(r, a) : is_logic ? a : ts_to_int(r, a);
  b = !a ? NULL : floats ? ts_to_float(r, b) : is_logic ? b : ts_to_int(r, b);
  if (!b) return NULL;
  const ts_ssa in[] = {ts_scalar(r, a), ts_scalar(r, b)};
  if (r->status) return NULL;
  const ts_value_kind kind = is_comparison(op) || is_logic ? TS_V_BOOL
                             : floats                      ? TS_V_FLOAT
                                                           : TS_V_INT;
  if (!strcmp(op, "floordiv") || !strcmp(op, "remainder"))
    return ts_ssa_value(r, kind, divided(r, in, floats, *op == 'r'));
  if (!strcmp(op, "ne")) {
    const ts_ssa same = ts_op(r, "Equal", in, 2);
    return ts_ssa_value(r, kind, ts_op(r, "Not", &same, 1));
  }
  const char *onnx = onnx_of(op);
  return onnx ? ts_ssa_value(r, kind, ts_op(r, onnx, in, 2))
              : ts_null(r, "not supported: '%s' of numbers that only a run knows", op);
}

/* Dtypes are compared when the types of tensors are known: a cast to one of them tells. */
static ts_value *dtype_op(ts_reader *r, const char *op, ts_value *a, ts_value *b) {
  const bool same = a->kind == b->kind && a->ssa.id == b->ssa.id && a->ssa.scope == b->ssa.scope;
  if (same && is_comparison(op)) return ts_bool(r, *op == 'e');
  if (*op != 'e' && *op != 'n') return ts_null(r, "not supported: '%s' of dtypes", op);
  ts_value *first = ts_dtype_number(r, a), *second = first ? ts_dtype_number(r, b) : NULL;
  return second ? ts_scalar_op(r, op, first, second) : NULL;
}

ts_value *ts_scalar_op(ts_reader *r, const char *op, ts_value *a, ts_value *b) {
  if (a->kind == TS_V_DTYPE || b->kind == TS_V_DTYPE) return dtype_op(r, op, a, b);
  return a->known && b->known ? known_op(r, op, a, b) : open_op(r, op, a, b);
}

/* ---- builtins ---- */

static bool binary(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n < 2 || !ts_is_number(args->v[0]) || !ts_is_number(args->v[1])) return true;
  const char *op = strstr(name, "::") + 2;
  *out = ts_scalar_op(r, !strcmp(op, "true_divide") ? "div" : op, args->v[0], args->v[1]);
  return *out != NULL;
}

static bool text_equal(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n == 2 && args->v[0]->kind == TS_V_STR && args->v[1]->kind == TS_V_STR) {
    if (!args->v[0]->known || !args->v[1]->known)
      return ts_null(r, "not supported: comparing a text that only a run knows"), false;
    const bool same = !strcmp(args->v[0]->text, args->v[1]->text);
    *out = ts_bool(r, same == !strcmp(name, "aten::eq"));
    return *out != NULL;
  }
  return binary(r, name, args, out);
}

static bool is_none(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n != 2) return false;
  const ts_value *a = args->v[0], *b = args->v[1];
  const bool none = b->kind == TS_V_NONE   ? a->kind == TS_V_NONE
                    : a->kind == TS_V_NONE ? false
                                           : a == b || (a->cell && a->cell == b->cell);
  *out = ts_bool(r, none == !strcmp(name, "aten::__is__"));
  return *out != NULL;
}

static bool negate(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (args->n != 1 || !ts_is_number(args->v[0])) return true;
  ts_value *zero = is_float(args->v[0]) ? ts_float(r, -0.0) : ts_int(r, 0);
  *out = zero ? ts_scalar_op(r, "sub", zero, args->v[0]) : NULL;
  return *out != NULL;
}

static bool logical_not(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (args->n != 1) return false;
  ts_value *v = ts_truth(r, args->v[0]);
  if (!v) return false;
  if (v->known) return *out = ts_bool(r, !v->i), *out != NULL;
  const ts_ssa x = ts_scalar(r, v);
  *out = ts_ssa_value(r, TS_V_BOOL, ts_op(r, "Not", &x, 1));
  return *out != NULL;
}

typedef struct math_row {
  const char *name, *onnx;
  double (*known)(double);
  bool is_int; /* the result is an int */
} math_row;

static const math_row maths[] = {
    {"sqrt", "Sqrt", sqrt, false},   {"exp", "Exp", exp, false},      {"log", "Log", log, false},
    {"floor", "Floor", floor, true}, {"ceil", "Ceil", ceil, true},    {"sin", "Sin", sin, false},
    {"cos", "Cos", cos, false},      {"round", "Round", rint, false}, {"abs", "Abs", fabs, false}};

static bool math(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n != 1 || !ts_is_number(args->v[0])) return true;
  const math_row *row = maths;
  for (size_t k = 0; k < sizeof maths / sizeof *maths; k++)
    if (!strcmp(maths[k].name, strstr(name, "::") + 2)) row = &maths[k];
  ts_value *v = args->v[0];
  if (v->kind == TS_V_INT && row->known == fabs) {
    ts_value *minus = ts_call_1(r, "aten::neg", v);
    return *out = minus ? ts_scalar_op(r, "max", v, minus) : NULL, *out != NULL;
  }
  v = ts_to_float(r, v);
  if (!v) return false;
  if (v->known) {
    ts_value *f = ts_float(r, row->known(v->f));
    return *out = f && row->is_int ? ts_to_int(r, f) : f, *out != NULL;
  }
  const ts_ssa x = ts_scalar(r, v), y = ts_op(r, row->onnx, &x, 1);
  ts_value *f = ts_ssa_value(r, TS_V_FLOAT, y);
  return *out = f && row->is_int ? ts_to_int(r, f) : f, *out != NULL;
}

static bool to_number(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n < 1) return false;
  const char *op = strstr(name, "::") + 2;
  *out = !strcmp(op, "Float") || !strcmp(op, "FloatImplicit") ? ts_to_float(r, args->v[0])
         : !strcmp(op, "Bool")                                ? ts_truth(r, args->v[0])
                                                              : ts_to_int(r, args->v[0]);
  return *out != NULL;
}

/* How many steps a range has: (end - begin) / step, rounded up, and not below 0. */
static bool range_length(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (args->n != 3 || (args->v[2]->known && !args->v[2]->i)) return false;
  ts_value *zero = ts_int(r, 0), *way = ts_scalar_op(r, "sub", args->v[0], args->v[1]);
  ts_value *v = way ? ts_scalar_op(r, "floordiv", way, args->v[2]) : NULL;
  if (v) v = ts_scalar_op(r, "sub", zero, v);
  return *out = v ? ts_scalar_op(r, "max", v, zero) : NULL, *out != NULL;
}

static bool derive_index(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (args->n != 3) return false;
  ts_value *way = ts_scalar_op(r, "mul", args->v[0], args->v[2]);
  return *out = way ? ts_scalar_op(r, "add", args->v[1], way) : NULL, *out != NULL;
}

/* ---- texts and what only has effects outside ---- */

static void add_text(char *text, size_t size, const ts_value *v) {
  const size_t n = strlen(text);
  char *to = text + n;
  if (v->kind == TS_V_STR)
    snprintf(to, size - n, "%s", v->text);
  else if (ts_is_number(v) && v->known && v->kind == TS_V_FLOAT)
    snprintf(to, size - n, "%g", v->f);
  else if (ts_is_number(v) && v->known)
    snprintf(to, size - n, "%lld", (long long)v->i);
  else
    snprintf(to, size - n, "?");
}

/* What is written as PyTorch writes it, to the letter. */
static bool is_exact(const ts_value *v) {
  return (v->kind == TS_V_STR || v->kind == TS_V_INT) && v->known;
}

/* "{}" stands for the next argument; what only a run knows is "?". A text that is not exact is not
 * known: it can be said, and not be compared. */
static bool format(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  char text[400] = "";
  int32_t next = 1;
  bool known = true;
  if (args->n < 1 || args->v[0]->kind != TS_V_STR) return false;
  for (const char *c = args->v[0]->text; *c && strlen(text) + 2 < sizeof text; c++) {
    if (c[0] == '{' && c[1] == '}' && next < args->n) {
      known = known && is_exact(args->v[next]);
      add_text(text, sizeof text, args->v[next++]);
      c++;
    } else {
      const size_t n = strlen(text);
      text[n] = *c;
      text[n + 1] = 0;
    }
  }
  *out = ts_str(r, ts_format(r, "%s", text));
  if (*out) (*out)->known = known && args->v[0]->known && strlen(text) + 2 < sizeof text;
  return *out != NULL;
}

static bool raise(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  (void)out;
  const char *text = args->n && args->v[0]->kind == TS_V_STR ? args->v[0]->text : "";
  if (r->n_branches && !r->status) { /* branch.c takes the other way */
    r->raised = text;
    r->status = TN_ERR_CANCELLED;
    return false;
  }
  ts_fail(r, TN_ERR_INVALID, "the program raises an exception: %s", text);
  return false;
}

static bool no_effect(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  (void)args;
  return *out = ts_none(r), *out != NULL;
}

static bool always_false(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  (void)args;
  return *out = ts_bool(r, false), *out != NULL;
}

static bool same_value(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)r;
  (void)name;
  return args->n ? *out = args->v[0], true : false;
}

/* Devices are texts; of a tensor, size.c says it. */
static bool device_of(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)r;
  (void)name;
  if (args->n == 1 && args->v[0]->kind == TS_V_STR) *out = args->v[0];
  return true;
}

const ts_builtin_row ts_scalar_builtins[] = {
    {"aten::add", binary},
    {"aten::sub", binary},
    {"aten::mul", binary},
    {"aten::div", binary},
    {"aten::true_divide", binary},
    {"aten::floordiv", binary},
    {"aten::remainder", binary},
    {"aten::pow", binary},
    {"aten::eq", text_equal},
    {"aten::ne", text_equal},
    {"aten::lt", binary},
    {"aten::le", binary},
    {"aten::gt", binary},
    {"aten::ge", binary},
    {"aten::__and__", binary},
    {"aten::__or__", binary},
    {"aten::__xor__", binary},
    {"prim::min", binary},
    {"prim::max", binary},
    {"aten::neg", negate},
    {"aten::__not__", logical_not},
    {"aten::__is__", is_none},
    {"aten::__isnot__", is_none},
    {"aten::sqrt", math},
    {"aten::exp", math},
    {"aten::log", math},
    {"aten::floor", math},
    {"aten::ceil", math},
    {"aten::sin", math},
    {"aten::cos", math},
    {"aten::round", math},
    {"prim::abs", math},
    {"aten::Int", to_number},
    {"aten::Float", to_number},
    {"aten::Bool", to_number},
    {"aten::IntImplicit", to_number},
    {"aten::FloatImplicit", to_number},
    {"aten::__range_length", range_length},
    {"aten::__derive_index", derive_index},
    {"aten::format", format},
    {"prim::RaiseException", raise},
    {"aten::device", same_value},
    {"prim::device", device_of},
    {"aten::warn", no_effect},
    {"prim::Print", no_effect},
    {"aten::set_grad_enabled", no_effect},
    {"aten::manual_seed", no_effect},
    {"aten::_assert_async", no_effect},
    {"aten::is_grad_enabled", always_false},
    {"aten::is_autocast_enabled", always_false},
    {"aten::is_autocast_cpu_enabled", always_false},
    {"prim::unchecked_unwrap_optional", same_value},
    {"aten::_unwrap_optional", same_value},
    {"prim::unchecked_cast", same_value},
    {NULL, NULL},
};
