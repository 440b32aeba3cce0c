/* relu for aten::relu and for ONNX's Relu: kernels of two libraries in one plug-in. */
#include "torch.gen.h"
#include "torch_behind.gen.h"

static tn_status relu(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  const float *in = x->data;
  float *out = call->outputs[0]->data;
  int64_t n = 1;
  if (x->dtype != TN_F32) return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "f32 only");
  for (int32_t d = 0; d < x->rank; d++) n *= x->shape[d];
  for (int64_t k = 0; k < n; k++) out[k] = in[k] > 0 ? in[k] : 0;
  return TN_OK;
}

#define KERNEL(name)                                                              \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)begin, (void)end, (void)worker;                            \
    return relu(call);                                                            \
  }
KERNEL(my_custom_kernels_my_relu_out)
KERNEL(behind_relu_out_f32)
KERNEL(behind_onnx_relu)
