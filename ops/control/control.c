/* Helpers of the control-flow operators; see control.h. */
#include "control.h"

static tn_tensor unknown(void) { return tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL); }

tn_tensor control_merge(const tn_tensor *a, const tn_tensor *b) {
  tn_tensor r = *a;
  if (a->dtype != b->dtype || a->kind != b->kind || a->rank != b->rank) {
    r = unknown();
    r.kind = a->kind;
    r.elements = a->elements;
    if (a->kind == TN_KIND_OPTIONAL &&
        b->kind != TN_KIND_OPTIONAL) { /* bodies give bare what they take as an optional */
      r.kind = a->elements & 15u;
      r.elements = (a->elements & UINT32_C(0xff000000)) | (a->elements & UINT32_C(0xffffff)) >> 4;
    }
    r.dtype = a->dtype == b->dtype ? a->dtype : TN_NONE;
    return r;
  }
  for (int32_t k = 0; k < a->rank; k++)
    if (a->shape[k] != b->shape[k]) r.shape[k] = TN_DIM_UNKNOWN;
  return r;
}

tn_status control_one(const tn_call *call, uint32_t input, const char *name, const void **out) {
  const tn_tensor *t = tn_input(call, input);
  *out = NULL;
  if (!t || tn_elements(t) < 0) return TN_OK;
  if (tn_elements(t) != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "input '%s' has %lld elements, not one", name,
                            (long long)tn_elements(t));
  *out = t->data;
  return TN_OK;
}
