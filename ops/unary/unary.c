/* Functions of one tensor, element by element: what the operators mean (references), and the
 * lowering of old versions. In f64; integers exactly. NaN in, NaN out. */
#include <math.h>

#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/tensor.h"
#include "unary.gen.h"

/* y[i] = f(x[i]), rounded once to the type of y. */
static tn_status map_f64(const tn_call *call, double (*f)(double)) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t n = tn_elements(y);
  for (int64_t i = 0; i < n; i++)
    tn_store_f64(y->dtype, y->data, i, f(tn_load_f64(x->dtype, x->data, i)));
  return TN_OK;
}

/* The same for integers; u64 is its two's complement twin in i64. */
static tn_status map_i64(const tn_call *call, int64_t (*f)(int64_t, bool is_signed)) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t n = tn_elements(y);
  const bool is_signed = tn_dtype(x->dtype)->is_signed;
  for (int64_t i = 0; i < n; i++)
    tn_store_i64(y->dtype, y->data, i, f(tn_load_i64(x->dtype, x->data, i), is_signed));
  return TN_OK;
}

#define REFERENCE(op, value)                           \
  static double op##_f64(double x) { return (value); } \
  tn_status op##_reference(const tn_call *call) { return map_f64(call, op##_f64); }

REFERENCE(ceil, ceil(x))
REFERENCE(floor, floor(x))
REFERENCE(round, nearbyint(x)) /* halves to even */
REFERENCE(sqrt, sqrt(x))
REFERENCE(reciprocal, 1.0 / x)
REFERENCE(exp, exp(x))
REFERENCE(log, log(x))
REFERENCE(sin, sin(x))
REFERENCE(cos, cos(x))
REFERENCE(tan, tan(x))
REFERENCE(asin, asin(x))
REFERENCE(acos, acos(x))
REFERENCE(atan, atan(x))
REFERENCE(sinh, sinh(x))
REFERENCE(cosh, cosh(x))
REFERENCE(tanh, tanh(x))
REFERENCE(asinh, asinh(x))
REFERENCE(acosh, acosh(x))
REFERENCE(atanh, atanh(x))
REFERENCE(erf, erf(x))
REFERENCE(not, x == 0.0)
REFERENCE(is_nan, isnan(x))

/* Operators for floats and integers alike. Integers wrap: -(-128) is -128 in i8. */
#define REFERENCE_NUMBER(op, float_value, int_value)                              \
  static double op##_f64(double x) { return (float_value); }                      \
  static int64_t op##_i64(int64_t x, bool is_signed) {                            \
    (void)is_signed;                                                              \
    return (int64_t)(int_value);                                                  \
  }                                                                               \
  tn_status op##_reference(const tn_call *call) {                                 \
    if (tn_dtype(call->inputs[0]->dtype)->is_int) return map_i64(call, op##_i64); \
    return map_f64(call, op##_f64);                                               \
  }

REFERENCE_NUMBER(abs, fabs(x), is_signed &&x < 0 ? 0 - (uint64_t)x : (uint64_t)x)
REFERENCE_NUMBER(neg, -x, 0 - (uint64_t)x)
REFERENCE_NUMBER(sign, isnan(x) ? x : (x > 0) - (x < 0), is_signed &&x < 0 ? -1 : x != 0)

static int64_t bitwise_not_i64(int64_t x, bool is_signed) {
  (void)is_signed;
  return ~x;
}

tn_status bitwise_not_reference(const tn_call *call) { return map_i64(call, bitwise_not_i64); }

tn_status is_inf_reference(const tn_call *call) {
  const tn_is_inf_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  uint8_t *y = call->outputs[0]->data;
  const int64_t n = tn_elements(x);
  for (int64_t i = 0; i < n; i++) {
    const double value = tn_load_f64(x->dtype, x->data, i);
    y[i] = isinf(value) && (value > 0 ? a->detect_positive : a->detect_negative);
  }
  return TN_OK;
}

tn_status tanh_epilogue(const tn_call *call, tn_epilogue *out) {
  (void)call;
  out->kind = TN_EPILOGUE_TANH;
  return TN_OK;
}

/* consumed_inputs of versions 1 to 5 was a hint about memory. */
tn_status unary_lower_v1(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const dropped[] = {"consumed_inputs", NULL};
  return tn_lower_without(call, graph, node, dropped);
}
