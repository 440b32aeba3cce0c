/* @FULL@: y = scale * x + shift. Its meaning, then its kernels. What each function may read and
 * must answer stands in <tenon/plugin.h>. */
#include "@WORD@.gen.h" /* written by tenon-gen from @WORD@.yaml */

static int64_t elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t d = 0; d < t->rank; d++) n *= t->shape[d];
  return n;
}

/* In f64, one element after the other: slow, and plainly right. */
tn_status @WORD@_reference(const tn_call *call) {
  const tn_@WORD@_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  tn_tensor *y = call->outputs[0];
  for (int64_t k = 0; k < elements(x); k++) {
    if (x->dtype == TN_F32)
      ((float *)y->data)[k] = (float)(a->scale * ((const float *)x->data)[k] + a->shift);
    else
      ((double *)y->data)[k] = a->scale * ((const double *)x->data)[k] + a->shift;
  }
  return TN_OK;
}

/* How the work may be cut: an item is an element, and 10000 are worth a thread. */
tn_status @WORD@_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = elements(call->outputs[0]);
  out->grain[0] = 10000;
  out->in_place[0] = 0; /* y may lie where x lies */
  out->elements_per_item = 1;
  out->flags = TN_PLAN_ELEMENTWISE;
  return TN_OK;
}

/* Items begin .. end-1, on any thread. Reads and writes nothing but its tensors. */
#define KERNEL(name, T)                                                                     \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,           \
                 uint32_t worker) {                                                         \
    const tn_@WORD@_attrs *a = call->attrs;                                                 \
    const T *x = call->inputs[0]->data, scale = (T)a->scale, shift = (T)a->shift;           \
    T *y = call->outputs[0]->data;                                                          \
    (void)stage, (void)worker;                                                              \
    for (int64_t k = begin; k < end; k++) y[k] = scale * x[k] + shift;                      \
    return TN_OK;                                                                           \
  }
KERNEL(@WORD@_f32, float)
KERNEL(@WORD@_f64, double)
