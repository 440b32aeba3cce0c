/* Elements and shapes of tensors, errors and texts, for references and kernels. A plug-in links
 * nothing of Tenon: these are the few that it needs of what base/dtype.h offers to the parts
 * inside. Numbers of elements are known not to overflow: the host has checked every type that comes
 * in, up to TN_MAX_ELEMENTS. Attributes it has not: arithmetic on those is checked. */
#ifndef CONTRIB_ELEMENTS_H
#define CONTRIB_ELEMENTS_H

#include <string.h>

#include "base/elementwise.h"
#include "base/infer.h"

static inline tn_status fail(const tn_call *call, tn_status code, const char *what) {
  return call->host->fail(call->ctx, code, "%s", what);
}

static inline bool is_text(tn_str s, const char *text) {
  return s.size == (int64_t)strlen(text) && !memcmp(s.data, text, (size_t)s.size);
}

static inline int64_t elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t k = 0; k < t->rank; k++) n *= t->shape[k];
  return n;
}

/* Element k of a tensor of floats, integers of at most 64 bits or bool. */
static inline double load(const tn_tensor *t, int64_t k) {
  float wide;
  switch (t->dtype) {
    case TN_F32: return (double)((const float *)t->data)[k];
    case TN_F64: return ((const double *)t->data)[k];
    case TN_F16: tn_widen_f16((const uint16_t *)t->data + k, &wide, 1); return (double)wide;
    case TN_BF16: tn_widen_bf16((const uint16_t *)t->data + k, &wide, 1); return (double)wide;
    case TN_I8: return (double)((const int8_t *)t->data)[k];
    case TN_I32: return (double)((const int32_t *)t->data)[k];
    case TN_I64: return (double)((const int64_t *)t->data)[k];
    default: return (double)((const uint8_t *)t->data)[k];
  }
}

/* The same, the other way. Integers must be in range. */
static inline void store(const tn_tensor *t, int64_t k, double value) {
  const float f = (float)value;
  switch (t->dtype) {
    case TN_F32: ((float *)t->data)[k] = f; break;
    case TN_F64: ((double *)t->data)[k] = value; break;
    case TN_F16: tn_narrow_f16(&f, (uint16_t *)t->data + k, 1); break;
    case TN_BF16: tn_narrow_bf16(&f, (uint16_t *)t->data + k, 1); break;
    case TN_I8: ((int8_t *)t->data)[k] = (int8_t)value; break;
    case TN_I32: ((int32_t *)t->data)[k] = (int32_t)value; break;
    case TN_I64: ((int64_t *)t->data)[k] = (int64_t)value; break;
    default: ((uint8_t *)t->data)[k] = (uint8_t)value; break;
  }
}

static inline const tn_tensor *input_of(const tn_call *call, uint32_t k) {
  return tn_has_input(call, k) ? call->inputs[k] : NULL;
}
static inline tn_tensor *output_of(const tn_call *call, uint32_t k) {
  return tn_has_output(call, k) ? call->outputs[k] : NULL;
}

/* Element k of an input that may be left out, or may hold one element for all. */
static inline double load_or(const tn_tensor *t, int64_t k, double absent) {
  return t ? load(t, elements(t) == 1 ? 0 : k) : absent;
}

#endif
