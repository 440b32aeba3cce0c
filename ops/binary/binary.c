/* Functions of two or more broadcast tensors, element by element: what the operators mean
 * (references), inference, epilogues, and the lowering of old versions. In f64; integers
 * exactly, modulo 2^width. */
#include <math.h>
#include <string.h>

#include "binary.gen.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/coords.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/tensor.h"

/* ---- References ---- */

static double load_f64(const tn_call *call, uint32_t input, int64_t i) {
  const tn_tensor *x = call->inputs[input];
  return tn_load_f64(x->dtype, x->data, tn_index_broadcast(x, call->outputs[0], i));
}

static int64_t load_i64(const tn_call *call, uint32_t input, int64_t i) {
  const tn_tensor *x = call->inputs[input];
  return tn_load_i64(x->dtype, x->data, tn_index_broadcast(x, call->outputs[0], i));
}

typedef double (*f64_fn)(const tn_call *call, double a, double b);
typedef int64_t (*i64_fn)(const tn_call *call, int64_t a,
                          int64_t b); /* u64 is its two's complement twin */

static bool is_unsigned(const tn_call *call) {
  return !tn_dtype(call->inputs[0]->dtype)->is_signed;
}

/* y = f(f(f(x0, x1), x2), ...), in f64 or in i64, rounded or cut to the type of y once. */
static tn_status fold(const tn_call *call, f64_fn f, i64_fn g) {
  const tn_tensor *y = call->outputs[0];
  const int64_t n = tn_elements(y);
  const bool exact = g && tn_dtype_exact_i64(call->inputs[0]->dtype);
  for (int64_t i = 0; i < n; i++) {
    if (exact) {
      int64_t value = load_i64(call, 0, i);
      for (uint32_t k = 1; k < call->n_inputs; k++) value = g(call, value, load_i64(call, k, i));
      tn_store_i64(y->dtype, y->data, i, value);
    } else {
      double value = load_f64(call, 0, i);
      for (uint32_t k = 1; k < call->n_inputs; k++) value = f(call, value, load_f64(call, k, i));
      tn_store_f64(y->dtype, y->data, i, value);
    }
  }
  return TN_OK;
}

#define MEANING(op, float_value, int_value)                            \
  static double op##_f64(const tn_call *call, double a, double b) {    \
    (void)call;                                                        \
    return (float_value);                                              \
  }                                                                    \
  static int64_t op##_i64(const tn_call *call, int64_t a, int64_t b) { \
    (void)call;                                                        \
    return (int64_t)(int_value);                                       \
  }
#define REFERENCE(op, float_value, int_value) \
  MEANING(op, float_value, int_value)         \
  tn_status op##_reference(const tn_call *call) { return fold(call, op##_f64, op##_i64); }

static bool less(const tn_call *call, int64_t a, int64_t b) {
  return is_unsigned(call) ? (uint64_t)a < (uint64_t)b : a < b;
}

/* Toward zero; by zero: 0. */
static int64_t quotient(const tn_call *call, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (is_unsigned(call)) return (int64_t)((uint64_t)a / (uint64_t)b);
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static bool truncates(const tn_call *call) {
  return ((const tn_mod_attrs *)call->attrs)->fmod != 0;
}

/* a - floor(a/b)*b, or with fmod a - trunc(a/b)*b; 0 for b == 0. */
static int64_t remainder_i64(const tn_call *call, int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t r = (int64_t)((uint64_t)a - (uint64_t)quotient(call, a, b) * (uint64_t)b);
  if (truncates(call) || is_unsigned(call) || r == 0 || (r < 0) == (b < 0)) return r;
  return r + b;
}

static double remainder_f64(const tn_call *call, double a, double b) {
  const double r = fmod(a, b);
  if (truncates(call) || isnan(r)) return r;
  if (r == 0) return copysign(0.0, b);
  return (r < 0) == (b < 0) ? r : r + b;
}

/* By repeated multiplication; 1 / that, cut to an integer, for negative exponents; 0 where that
 * is infinite. */
static int64_t power_i64(int64_t x, int64_t n) {
  if (n < 0 && x != 1 && x != -1) return 0;
  uint64_t y = 1;
  for (uint64_t k = n < 0 ? (uint64_t)(n % 2 != 0) : (uint64_t)n; k > 0; k--) {
    if (x == 0 || x == 1 || (x == -1 && k % 2 == 0)) return x == 0 ? 0 : (int64_t)y;
    y *= (uint64_t)x;
  }
  return (int64_t)y;
}

REFERENCE(add, a + b, (uint64_t)a + (uint64_t)b)
REFERENCE(sub, a - b, (uint64_t)a - (uint64_t)b)
REFERENCE(mul, a *b, (uint64_t)a *(uint64_t)b)
REFERENCE(div, a / b, quotient(call, a, b))
REFERENCE(mod, remainder_f64(call, a, b), remainder_i64(call, a, b))
REFERENCE(max, isnan(a) || a > b ? a : b, less(call, a, b) ? b : a)
REFERENCE(min, isnan(a) || a < b ? a : b, less(call, b, a) ? b : a)
REFERENCE(p_relu, a < 0 ? a * b : a, less(call, a, 0) ? (uint64_t)a *(uint64_t)b : (uint64_t)a)
REFERENCE(less, a < b, less(call, a, b))
REFERENCE(greater, a > b, less(call, b, a))
REFERENCE(less_or_equal, a <= b, !less(call, b, a))
REFERENCE(greater_or_equal, a >= b, !less(call, a, b))
REFERENCE(and, a != 0 && b != 0, a &b)
REFERENCE(or, a != 0 || b != 0, a | b)
REFERENCE(xor, (a != 0) != (b != 0), a ^ b)
MEANING(equal, a == b, a == b)

tn_status sum_reference(const tn_call *call) { return fold(call, add_f64, NULL); }
tn_status bitwise_and_reference(const tn_call *call) { return fold(call, NULL, and_i64); }
tn_status bitwise_or_reference(const tn_call *call) { return fold(call, NULL, or_i64); }
tn_status bitwise_xor_reference(const tn_call *call) { return fold(call, NULL, xor_i64); }

tn_status mean_reference(const tn_call *call) {
  const tn_tensor *y = call->outputs[0];
  const int64_t n = tn_elements(y);
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (uint32_t k = 0; k < call->n_inputs; k++) sum += load_f64(call, k, i);
    tn_store_f64(y->dtype, y->data, i, sum / call->n_inputs);
  }
  return TN_OK;
}

/* What a power costs; a constant exponent may make it a product, an inverse or a root. */
tn_status pow_flops(const tn_call *call, double *out_flops) {
  const tn_tensor *e = call->inputs[1];
  const bool one = e->data && tn_elements(e) == 1;
  const double exponent = one ? tn_load_f64(e->dtype, e->data, 0) : 0;
  const bool cheap = exponent == 1 || exponent == 2 || exponent == -1 || exponent == 0.5;
  *out_flops = (double)tn_elements(call->outputs[0]) * (cheap ? 1 : exponent == 3 ? 2 : 20);
  return TN_OK;
}

/* An integer base with an integer exponent exactly, all else in f64. */
tn_status pow_reference(const tn_call *call) {
  const tn_tensor *y = call->outputs[0];
  const int64_t n = tn_elements(y);
  const bool exact =
      tn_dtype(call->inputs[0]->dtype)->is_int && tn_dtype(call->inputs[1]->dtype)->is_int;
  for (int64_t i = 0; i < n; i++) {
    if (exact)
      tn_store_i64(y->dtype, y->data, i, power_i64(load_i64(call, 0, i), load_i64(call, 1, i)));
    else
      tn_store_f64(y->dtype, y->data, i, pow(load_f64(call, 0, i), load_f64(call, 1, i)));
  }
  return TN_OK;
}

tn_status equal_reference(const tn_call *call) {
  const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
  if (a->dtype != TN_STRING) return fold(call, equal_f64, equal_i64);
  const int64_t n = tn_elements(y);
  for (int64_t i = 0; i < n; i++) {
    const tn_str s = ((const tn_str *)a->data)[tn_index_broadcast(a, y, i)],
                 t = ((const tn_str *)b->data)[tn_index_broadcast(b, y, i)];
    ((uint8_t *)y->data)[i] =
        s.size == t.size && (s.size == 0 || memcmp(s.data, t.data, (size_t)s.size) == 0);
  }
  return TN_OK;
}

static int64_t shift(const tn_call *call, int64_t a, int64_t amount) {
  const int64_t width = tn_dtype(call->inputs[0]->dtype)->bits;
  const bool left = ((const tn_bit_shift_attrs *)call->attrs)->direction.data[0] == 'L';
  const bool fills_ones = !left && !is_unsigned(call) && a < 0;
  if (amount < 0 || amount >= width) return fills_ones ? -1 : 0;
  if (left) return (int64_t)((uint64_t)a << amount);
  const uint64_t moved = (uint64_t)a >> amount;
  return (int64_t)(fills_ones && amount ? moved | UINT64_MAX << (64 - amount) : moved);
}
tn_status bit_shift_reference(const tn_call *call) { return fold(call, NULL, shift); }

/* ---- Inference ---- */

tn_status bit_shift_infer(const tn_call *call) {
  const tn_str d = ((const tn_bit_shift_attrs *)call->attrs)->direction;
  const bool known =
      (d.size == 4 && !memcmp(d.data, "LEFT", 4)) || (d.size == 5 && !memcmp(d.data, "RIGHT", 5));
  if (!known)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute direction is neither LEFT nor RIGHT");
  return tn_infer_broadcast(call);
}

/* The slope broadcasts to the input, not the other way. */
tn_status p_relu_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  const tn_status status = tn_infer_broadcast(call);
  if (status || x->rank < 0 || call->outputs[0]->rank < 0) return status;
  bool same = call->outputs[0]->rank == x->rank;
  for (int32_t k = 0; same && k < x->rank; k++)
    same = tn_dims_equal_or_unknown(call->outputs[0]->shape[k], x->shape[k]);
  if (!same)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the slope does not broadcast to the shape of X");
  return tn_infer_like(call, 0, 0);
}

/* ---- Epilogues ---- */

/* Sum with two inputs is Add. */
tn_status add_epilogue(const tn_call *call, tn_epilogue *out) {
  if (call->n_inputs != 2) return TN_ERR_UNSUPPORTED;
  out->kind = TN_EPILOGUE_ADD;
  out->input = 1;
  return TN_OK;
}

tn_status mul_epilogue(const tn_call *call, tn_epilogue *out) {
  (void)call;
  out->kind = TN_EPILOGUE_MUL;
  out->input = 1;
  return TN_OK;
}

/* ---- Old versions ---- */

/* The node becomes the newest version of its operator without attributes, with input 1 reshaped:
 * its dims stand under those of input 0 from `axis` on, where numpy's rule would put them at the
 * end. */
static tn_status lower_with_axis(const tn_call *call, tn_graph *graph, int32_t node, int64_t axis) {
  const tn_graph_api *api = call->host->graph;
  const int32_t first = tn_node_input(call, graph, node, 0),
                second = tn_node_input(call, graph, node, 1);
  const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
  const int64_t rank = a->rank - axis;
  int64_t dims[TN_MAX_RANK];
  for (int64_t k = 0; k < rank; k++) dims[k] = k < b->rank ? b->shape[k] : 1;
  const int32_t shape = tn_emit_ints(call, graph, dims, rank), reshaped = api->value(graph, NULL);
  if (shape < 0 || reshaped < 0) return shape < 0 ? shape : reshaped;
  const int32_t from[2] = {second, shape}, inputs[2] = {first, reshaped};
  const tn_node reshape = {.head = TN_HEAD(tn_node),
                           .domain = "",
                           .op = "Reshape",
                           .name = "",
                           .inputs = from,
                           .n_inputs = 2,
                           .outputs = &reshaped,
                           .n_outputs = 1,
                           .offset = -1};
  const int32_t added = api->add_node(graph, &reshape);
  return added < 0 ? added : tn_lower_as(call, graph, node, NULL, inputs, 2, NULL, 0);
}

/* Versions 1 to 6: with broadcast=1, the dims of B stand under those of A from `axis` on (left
 * out: at the end). Lowered when the types are known. */
tn_status binary_lower_v1(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const dropped[] = {"axis", "broadcast", "consumed_inputs", NULL};
  const tn_node *n = call->host->graph->node(graph, node);
  const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
  int64_t axis = -1;
  bool broadcast = false;
  for (uint32_t k = 0; k < n->n_attrs; k++) {
    if (!strcmp(n->attrs[k]->name, "axis"))
      axis = n->attrs[k]->i < 0 ? n->attrs[k]->i + a->rank : n->attrs[k]->i;
    if (!strcmp(n->attrs[k]->name, "broadcast")) broadcast = n->attrs[k]->i != 0;
  }
  if (!broadcast || axis < 0 || axis + b->rank >= a->rank)
    return tn_lower_without(call, graph, node, dropped);
  return lower_with_axis(call, graph, node, axis);
}

/* Versions 1 to 6: one slope per channel (dim 1), or one for all. */
tn_status p_relu_lower_v1(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const dropped[] = {"consumed_inputs", NULL};
  const tn_tensor *x = call->inputs[0], *slope = call->inputs[1];
  const bool per_channel = slope->rank == 1 && slope->shape[0] != 1 && x->rank > 2;
  return per_channel ? lower_with_axis(call, graph, node, 1)
                     : tn_lower_without(call, graph, node, dropped);
}

tn_status variadic_lower_v1(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const dropped[] = {"consumed_inputs", NULL};
  return tn_lower_without(call, graph, node, dropped);
}
