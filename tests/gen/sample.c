/* What good/sample.yaml names. The functions do nothing: the test looks at the tables. */
#include "sample.gen.h"
#include "tenon/graph.h"

tn_status conv2_d_v2_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  (void)call, (void)graph, (void)node;
  return TN_OK;
}
tn_status sample_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return conv2_d_v2_lower(call, graph, node);
}
tn_status sample_infer(const tn_call *call) { return call ? TN_OK : TN_ERR_INVALID; }
tn_status sin_reference(const tn_call *call) { return sample_infer(call); }
tn_status is_nan_reference(const tn_call *call) { return sample_infer(call); }
tn_status mat_mul_n_bits_reference(const tn_call *call) { return sample_infer(call); }
tn_status sample_epilogue(const tn_call *call, tn_epilogue *out) {
  (void)out;
  return sample_infer(call);
}
tn_status sample_flops(const tn_call *call, double *out_flops) {
  *out_flops = 0;
  return sample_infer(call);
}
tn_status sample_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)out;
  return sample_infer(call);
}
const char *sample_refuse(const tn_call *call) { return call ? 0 : "no call"; }
tn_status sample_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return sample_infer(call);
}
void sample_finish(const tn_call *call) { (void)call; }
tn_status sample_init(const tn_host *host, void *ctx, const tn_option *const *options,
                      uint32_t n_options, void **out_self) {
  (void)host, (void)ctx, (void)options, (void)n_options;
  *out_self = 0;
  return TN_OK;
}
void sample_shutdown(void *self) { (void)self; }

const tn_format sample_format = {.head = TN_HEAD(tn_format), .name = "sample"};
