/* Cast, CastLike and BitCast: what they mean, inference, and what they lower to. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cast.gen.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/narrow.h"
#include "tenon/kit/onnx_dtype.h"
#include "tenon/kit/tensor.h"

/* ---- Inference ---- */

static tn_status infer_to(const tn_call *call, int64_t to, uint32_t *out_dtype) {
  *out_dtype = tn_dtype_of_onnx(to);
  if (*out_dtype == TN_NONE) {
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute to is %lld, which is no type",
                            (long long)to);
  }
  const tn_tensor *x = call->inputs[0];
  tn_infer_shape(call, 0, *out_dtype, x->rank, x->shape);
  return TN_OK;
}

tn_status cast_infer(const tn_call *call) {
  const tn_cast_attrs *a = call->attrs;
  const tn_str m = a->round_mode;
  uint32_t dtype;
  const bool known = (m.size == 2 && !memcmp(m.data, "up", 2)) ||
                     (m.size == 4 && !memcmp(m.data, "down", 4)) ||
                     (m.size == 7 && !memcmp(m.data, "nearest", 7));
  if (!known)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute round_mode is neither up, down nor nearest");
  return infer_to(call, a->to, &dtype);
}

tn_status cast_like_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  tn_infer_shape(call, 0, call->inputs[1]->dtype, x->rank, x->shape);
  return TN_OK;
}

tn_status bit_cast_infer(const tn_call *call) {
  uint32_t to;
  const tn_status status = infer_to(call, ((const tn_bit_cast_attrs *)call->attrs)->to, &to);
  const uint32_t from = call->inputs[0]->dtype;
  if (status || tn_dtype(to)->bits == tn_dtype(from)->bits) return status;
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s and %s are not of the same width",
                          tn_dtype(from)->name, tn_dtype(to)->name);
}

/* ---- References ---- */

/* The power of two that stands for |x| in f8e8m0: 2^(answer - 127). */
static uint32_t scale_of(double x, bool saturate, tn_str mode) {
  if (isnan(x)) return 255;
  const double e = log2(fabs(x)) + 127; /* -inf for 0 */
  double r = mode.size == 2 ? ceil(e) : floor(e);
  if (mode.size == 7 && fabs(x) >= 1.5 * exp2(r - 127)) r += 1;
  if (r < 0) return saturate ? 0 : 255;
  if (r > 254) return saturate ? 254 : 255;
  return (uint32_t)r;
}

static void convert(const tn_call *call, int64_t i) {
  const tn_cast_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const double value = tn_load_f64(x->dtype, x->data, i);
  const bool is_f8 = tn_dtype(y->dtype)->bits == 8 && !tn_dtype_exact_i64(y->dtype);
  if (y->dtype == TN_F8E8M0)
    ((uint8_t *)y->data)[i] = (uint8_t)scale_of(value, a->saturate != 0, a->round_mode);
  else if (is_f8)
    ((uint8_t *)y->data)[i] = tn_f64_to_f8(y->dtype, value, a->saturate != 0);
  else if (x->dtype == TN_U64 && !tn_dtype_exact_i64(y->dtype))
    tn_store_f64(y->dtype, y->data, i, value);
  else if (tn_dtype_exact_i64(x->dtype))
    tn_store_i64(y->dtype, y->data, i, tn_load_i64(x->dtype, x->data, i));
  else
    tn_store_f64(y->dtype, y->data, i, value);
}

/* Floats: the fewest digits that read back as the same number (types below 16 bits: all digits);
 * fixed-point from 1e-4 to below 1e16. */
static void print(const tn_tensor *x, int64_t i, char *text, size_t size) {
  const double value = tn_load_f64(x->dtype, x->data, i);
  const bool negative = value < 0;
  const uint32_t type = tn_dtype(x->dtype)->bits < 16 ? TN_F64 : x->dtype;
  uint64_t back = 0;
  int digits = 0, exponent = 0;
  if (x->dtype == TN_BOOL) {
    snprintf(text, size, "%s", value != 0 ? "True" : "False");
    return;
  }
  if (x->dtype == TN_U64) {
    snprintf(text, size, "%llu", (unsigned long long)tn_load_i64(x->dtype, x->data, i));
    return;
  }
  if (tn_dtype(x->dtype)->is_int) {
    snprintf(text, size, "%lld", (long long)tn_load_i64(x->dtype, x->data, i));
    return;
  }
  if (!isfinite(value)) {
    snprintf(text, size, "%s", isnan(value) ? "NaN" : negative ? "-INF" : "INF");
    return;
  }
  do {
    snprintf(text, size, "%.*e", digits, value);
    tn_store_f64(type, &back, 0, strtod(text, NULL));
  } while (tn_load_f64(type, &back, 0) != value && digits++ < 17);
  sscanf(strchr(text, 'e') + 1, "%d", &exponent);
  if (exponent >= -4 && exponent < 16)
    snprintf(text, size, "%.*f", digits > exponent ? digits - exponent : 1, value);
}

static tn_status parse(const tn_call *call, int64_t i) {
  const tn_tensor *y = call->outputs[0];
  const tn_str s = ((const tn_str *)call->inputs[0]->data)[i];
  char text[64], *end;
  snprintf(text, sizeof text, "%.*s", (int)s.size, s.data);
  const long long whole = strtoll(text, &end, 10);
  if (tn_dtype_exact_i64(y->dtype) && !*end) {
    tn_store_i64(y->dtype, y->data, i,
                 *text == '-' ? (int64_t)whole : (int64_t)strtoull(text, NULL, 10));
    return TN_OK;
  }
  tn_store_f64(y->dtype, y->data, i,
               !strcmp(text, "True")    ? 1
               : !strcmp(text, "False") ? 0
                                        : strtod(text, &end));
  return TN_OK;
}

/* Integers are cut to their width; floats to the integer part, and that to its width; anything
 * but 0 is true. */
tn_status cast_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  const int64_t n = tn_elements(call->outputs[0]);
  tn_status status = TN_OK;
  for (int64_t i = 0; i < n && !status; i++) {
    char text[64] = "";
    if (x->dtype != TN_STRING && call->outputs[0]->dtype != TN_STRING)
      convert(call, i);
    else if (call->outputs[0]->dtype != TN_STRING)
      status = parse(call, i);
    else if (x->dtype == TN_STRING)
      status = call->host->string_set(call->ctx, 0, i, ((const tn_str *)x->data)[i].data,
                                      ((const tn_str *)x->data)[i].size);
    else
      print(x, i, text, sizeof text),
          status = call->host->string_set(call->ctx, 0, i, text, (int64_t)strlen(text));
  }
  return status;
}

tn_status bit_cast_reference(const tn_call *call) {
  const int64_t bytes = tn_bytes(call->inputs[0]);
  for (int64_t i = 0; i < bytes; i++)
    ((uint8_t *)call->outputs[0]->data)[i] = ((const uint8_t *)call->inputs[0]->data)[i];
  return TN_OK;
}

/* ---- Lowering ---- */

/* Cast to the type that the input has is nothing. */
tn_status cast_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  if (call->inputs[0]->dtype != call->outputs[0]->dtype) return TN_ERR_UNSUPPORTED;
  const int32_t input = tn_node_input(call, graph, node, 0);
  return call->host->graph->replace_node(graph, node, &input, 1);
}

tn_status cast_like_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_cast_like_attrs *a = call->attrs;
  const int32_t input = tn_node_input(call, graph, node, 0);
  tn_attr attrs[] = {tn_attr_int("to", tn_onnx_of_dtype(call->outputs[0]->dtype)),
                     tn_attr_int("saturate", a->saturate), tn_attr_str("round_mode", "")};
  attrs[2].s = a->round_mode;
  return tn_lower_as(call, graph, node, "Cast", &input, 1, attrs, 3);
}

/* Up to version 5 the type was a name of TensorProto.DataType. */
tn_status cast_lower_v1(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const names[] = {"FLOAT",  "UINT8",  "INT8",   "UINT16", "INT16",
                                      "INT32",  "INT64",  "STRING", "BOOL",   "FLOAT16",
                                      "DOUBLE", "UINT32", "UINT64"};
  const tn_str to = ((const tn_cast_v1_attrs *)call->attrs)->to;
  const int32_t input = tn_node_input(call, graph, node, 0);
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    if ((size_t)to.size != strlen(names[k]) || memcmp(to.data, names[k], (size_t)to.size)) continue;
    const tn_attr attr = tn_attr_int("to", (int64_t)k + 1);
    return tn_lower_as(call, graph, node, "Cast", &input, 1, &attr, 1);
  }
  return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute to is '%.*s', which is no type",
                          (int)to.size, to.data);
}
