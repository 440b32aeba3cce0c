/* Elements of tensors and errors in few words, for references and kernels. Numbers of elements are
 * known not to overflow: the host has checked every type that comes in, up to TN_MAX_ELEMENTS.
 * Attributes it has not: arithmetic on those is checked. */
#ifndef CONTRIB_ELEMENTS_H
#define CONTRIB_ELEMENTS_H

#include "tenon/kit/elementwise.h"
#include "tenon/kit/infer.h"

static inline tn_status fail(const tn_call *call, tn_status code, const char *what) {
  return call->host->fail(call->ctx, code, "%s", what);
}

static inline double load(const tn_tensor *t, int64_t k) {
  return tn_load_f64(t->dtype, t->data, k);
}

static inline void store(const tn_tensor *t, int64_t k, double value) {
  tn_store_f64(t->dtype, t->data, k, value);
}

/* Element k of an input that may be left out, or may hold one element for all. */
static inline double load_or(const tn_tensor *t, int64_t k, double absent) {
  return t ? load(t, tn_elements(t) == 1 ? 0 : k) : absent;
}

#endif
