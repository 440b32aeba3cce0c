/* The kernels that the YAML of ExecuTorch's documents names, and the shapes of their operators.
 * They know just enough for the test to see which of them ran. */
#include <math.h>

#include "doc_custom.gen.h"
#include "doc_fallback.gen.h"
#include "doc_functions.gen.h"

#define RUN(name) \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker)

static int64_t elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t d = 0; d < t->rank; d++) n *= t->shape[d];
  return n;
}

/* self + alpha * other for equal shapes, plus a mark of the kernel that ran. */
static tn_status add(const tn_call *call, double mark) {
  const tn_add_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->inputs[1];
  if (x->dtype != TN_F32 || elements(x) != elements(y))
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "the test adds f32 of equal shapes");
  const float *self = x->data, *other = y->data;
  float *out = call->outputs[0]->data;
  for (int64_t k = 0; k < elements(x); k++) out[k] = (float)(self[k] + a->alpha * other[k] + mark);
  return TN_OK;
}

RUN(torch_executor_opt_add_out) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return add(call, 100);
}
RUN(torch_executor_add_out) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return add(call, 0);
}

static tn_status like_input(const tn_call *call) {
  for (uint32_t k = 0; k < call->n_outputs; k++) {
    const tn_tensor *x = call->inputs[0];
    call->outputs[k]->dtype = x->dtype;
    call->outputs[k]->rank = x->rank;
    for (int32_t d = 0; d < x->rank; d++) call->outputs[k]->shape[d] = x->shape[d];
  }
  return TN_OK;
}
static tn_status one_bool(const tn_call *call) {
  call->outputs[0]->dtype = TN_BOOL;
  call->outputs[0]->rank = 0;
  return TN_OK;
}

tn_status aten_allclose_infer(const tn_call *call) { return one_bool(call); }
tn_status my_ops_mul3_infer(const tn_call *call) { return like_input(call); }
tn_status aten_linear_scratch_example_infer(const tn_call *call) { return like_input(call); }
tn_status torchvision_nms_infer(const tn_call *call) { return like_input(call); }
tn_status quantized_decomposed_choose_qparams_tensor_infer(const tn_call *call) {
  return like_input(call);
}

RUN(torch_executor_allclose_out) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const tn_allclose_attrs *a = call->attrs;
  const float *self = call->inputs[0]->data, *other = call->inputs[1]->data;
  uint8_t *out = call->outputs[0]->data;
  *out = 1;
  for (int64_t k = 0; k < elements(call->inputs[0]); k++)
    if (!(fabs((double)self[k] - other[k]) <= a->atol + a->rtol * fabs((double)other[k]))) *out = 0;
  return TN_OK;
}
RUN(custom_mul3_out_impl) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const float *input = call->inputs[0]->data;
  float *output = call->outputs[0]->data;
  for (int64_t k = 0; k < elements(call->inputs[0]); k++) output[k] = 3 * input[k];
  return TN_OK;
}

/* These are named, and never run here. */
static tn_status never(const tn_call *call) {
  return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "the test does not run this kernel");
}
RUN(torch_executor_choose_qparams_tensor_out) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return never(call);
}
RUN(torch_executor_nms_out) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return never(call);
}
RUN(torch_executor_linear_scratch_example) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return never(call);
}
