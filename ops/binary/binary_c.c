/* Portable float kernels of the binary family, by way of binary_f32.h, and what all its kernels
 * share: refusals, plans. */
#define BINARY_RUN(op) op##_float_c
#include "binary_f32.h"

const char *binary_refuse(const tn_call *call) {
  tn_broadcast b;
  if (call->n_inputs != 2) return "takes two inputs";
  return tn_broadcast_init(&b, call->outputs[0], 2, call->inputs)
             ? "these layouts do not broadcast without conversion"
             : NULL;
}

/* For rows in which one operand is plain while the rest is not. */
const char *binary_refuse_mixed(const tn_call *call) {
  if (call->outputs[0]->layout == TN_PLAIN) return "all is plain: the other rows serve that";
  return binary_refuse(call);
}

/* Output 0 may lie on the first operand that has as many elements of the same size. */
static tn_status plan_with(const tn_call *call, tn_kernel_plan *out, double ns) {
  const tn_tensor *y = call->outputs[0];
  const tn_status status = tn_plan_elementwise(call, out, ns);
  for (uint32_t k = 1; k < call->n_inputs && out->in_place[0] < 0; k++) {
    const tn_tensor *x = call->inputs[k];
    if (x && tn_dtype(x->dtype)->bits == tn_dtype(y->dtype)->bits && x->layout == y->layout &&
        tn_storage_elements(x) == tn_storage_elements(y)) {
      out->in_place[0] = (int32_t)k;
    }
  }
  return status;
}

tn_status binary_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan_with(call, out, 0.25);
}
tn_status binary_plan_slow(const tn_call *call, tn_kernel_plan *out) {
  return plan_with(call, out, 3.0);
}

/* powf, unless all elements have one exponent that is cheap. */
tn_status pow_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *e = call->inputs[1];
  const double exponent = e->data && tn_elements(e) == 1 ? tn_load_f64(e->dtype, e->data, 0) : 0.0;
  const bool cheap =
      exponent == 2 || exponent == 1 || exponent == 3 || exponent == -1 || exponent == 0.5;
  return plan_with(call, out, cheap ? 0.3 : 12.0);
}
