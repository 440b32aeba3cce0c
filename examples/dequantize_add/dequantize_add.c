/* y = (xq - z) * scale + bias. An item is a row. This file is the whole operator, as a shared
 * plug-in, as a static one, and in a folder under ops/. */
#include <string.h>

#include "dequantize_add.gen.h"

/* ---- the problem in plain numbers ---- */

typedef struct problem {
  int64_t rows, columns;
  int64_t scale_step, bias_step; /* 1: one per column, 0: one value */
  double zero;
} problem;

static problem problem_of(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *scale = call->inputs[1], *bias = call->inputs[2];
  problem p = {.rows = 1, .columns = x->rank ? x->shape[x->rank - 1] : 1};
  for (int32_t d = 0; d < x->rank - 1; d++) p.rows *= x->shape[d];
  p.scale_step = scale->rank && scale->shape[0] != 1;
  p.bias_step = bias->rank && bias->shape[0] != 1;
  p.zero = x->dtype == TN_U8 ? 128 : 32768;
  return p;
}

static int fits(const tn_tensor *x, const tn_tensor *per_column) {
  if (!per_column->rank) return 1;
  return per_column->rank == 1 &&
         (per_column->shape[0] == 1 || (x->rank && per_column->shape[0] == x->shape[x->rank - 1]));
}

tn_status dequantize_add_infer(const tn_call *call) {
  static const char *const names[] = {"xq", "scale", "bias"};
  const tn_dequantize_add_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  tn_tensor *y = call->outputs[0];
  for (int k = 1; k < 3; k++)
    if (!fits(x, call->inputs[k]))
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "%s must have one element, or one for each column of xq", names[k]);
  const int half = a->to.size == 3 && !memcmp(a->to.data, "f16", 3);
  if (!half && (a->to.size != 3 || memcmp(a->to.data, "f32", 3)))
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'to' is '%.*s', not f32 or f16",
                            (int)a->to.size, a->to.data);
  y->dtype = half ? TN_F16 : TN_F32;
  y->rank = x->rank;
  memcpy(y->shape, x->shape, sizeof x->shape);
  return TN_OK;
}

/* ---- elements ---- */

static uint16_t f32_to_f16(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  const uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
  u &= 0x7fffffff;
  if (u > 0x7f800000) return sign | 0x7e00;  /* NaN */
  if (u >= 0x47800000) return sign | 0x7c00; /* 65536 and more: infinite */
  if (u < 0x38800000) {                      /* subnormal: one ulp of 0.5 is one of f16 */
    memcpy(&f, &u, sizeof f);
    f += 0.5f;
    memcpy(&u, &f, sizeof u);
    return (uint16_t)(sign | (u - 0x3f000000));
  }
  u += 0xfff + (u >> 13 & 1); /* to the nearest, ties to even */
  return (uint16_t)(sign | (u - 0x38000000) >> 13);
}

static int32_t quantised(const tn_tensor *t, int64_t i) {
  return t->dtype == TN_U8 ? ((const uint8_t *)t->data)[i] : ((const uint16_t *)t->data)[i];
}

static void store(const tn_tensor *t, int64_t i, float value) {
  if (t->dtype == TN_F32)
    ((float *)t->data)[i] = value;
  else
    ((uint16_t *)t->data)[i] = f32_to_f16(value);
}

tn_status dequantize_add_reference(const tn_call *call) {
  const problem p = problem_of(call);
  const float *scale = call->inputs[1]->data, *bias = call->inputs[2]->data;
  for (int64_t i = 0; i < p.rows * p.columns; i++) {
    const int64_t c = i % p.columns;
    const double x = quantised(call->inputs[0], i) - p.zero;
    store(call->outputs[0], i,
          (float)(x * (double)scale[c * p.scale_step] + (double)bias[c * p.bias_step]));
  }
  return TN_OK;
}

/* ---- kernels ---- */

tn_status dequantize_add_plan(const tn_call *call, tn_kernel_plan *out) {
  const problem p = problem_of(call);
  out->items[0] = p.rows;
  out->grain[0] = 1 + 10000 / (p.columns + 1);
  return TN_OK;
}

/* Rows of X become rows of Y; CONVERT makes an element out of a float. */
#define ROWS(X, Y, CONVERT)                                                                   \
  for (int64_t r = begin; r < end; r++) {                                                     \
    const X *x = (const X *)call->inputs[0]->data + r * p.columns;                            \
    Y *y = (Y *)call->outputs[0]->data + r * p.columns;                                       \
    for (int64_t c = 0; c < p.columns; c++)                                                   \
      y[c] = CONVERT(((float)x[c] - zero) * scale[c * p.scale_step] + bias[c * p.bias_step]); \
  }

#define KERNEL(name, Y, CONVERT)                                                  \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    const problem p = problem_of(call);                                           \
    const float *scale = call->inputs[1]->data, *bias = call->inputs[2]->data;    \
    const float zero = (float)p.zero;                                             \
    (void)stage, (void)worker;                                                    \
    if (call->inputs[0]->dtype == TN_U8)                                          \
      ROWS(uint8_t, Y, CONVERT)                                                   \
    else                                                                          \
      ROWS(uint16_t, Y, CONVERT)                                                  \
    return TN_OK;                                                                 \
  }

KERNEL(dequantize_add_f32, float, )
KERNEL(dequantize_add_f16, uint16_t, f32_to_f16)
