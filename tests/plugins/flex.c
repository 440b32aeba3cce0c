/* A plug-in with an operator that models of TensorFlow Lite may have from TensorFlow. So that tests
 * can see that it is taken, its answers are wrong: -1000. */
#include "tenon/plugin.h"

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = 1;
  for (int32_t k = 0; k < call->inputs[0]->rank; k++) out->items[0] *= call->inputs[0]->shape[k];
  out->grain[0] = 4096;
  return TN_OK;
}

static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  float *y = call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) y[k] = -1000;
  return TN_OK;
}

static const tn_type_rule types = {TN_HEAD(tn_type_rule), "T", "X,Y", TN_MASK(TN_F32)};
static const tn_type_rule *const rules[] = {&types};
static const tn_op tangent = {
    .head = TN_HEAD(tn_op),
    .domain = "tflite",
    .name = "FlexTan",
    .since = 1,
    .schema = "(Tensor X, *, str? custom_options=None) -> Tensor Y",
    .types = rules,
    .n_types = 1,
    .flags = TN_OP_SAME_AS_INPUT | TN_OP_ELEMENTWISE,
    .doc = "-1000",
};
static const tn_op *const ops[] = {&tangent};

static const tn_accept x_f32 = {TN_HEAD(tn_accept), "X", TN_MASK(TN_F32), TN_PLAIN, 0, 0, 0};
static const tn_accept *const accepts[] = {&x_f32};
static const tn_kernel kernel = {
    .head = TN_HEAD(tn_kernel),
    .name = "flex_acme",
    .op = "tflite::FlexTan",
    .device = "cpu",
    .rank = TN_RANK_PLUGIN,
    .accepts = accepts,
    .n_accepts = 1,
    .plan = plan,
    .run = run,
};
static const tn_kernel *const kernels[] = {&kernel};
static const tn_plugin plugin = {
    .head = TN_HEAD(tn_plugin),
    .name = "acme-flex",
    .version = "1.0",
    .flavour = TN_FLAVOUR,
    .n_ops = 1,
    .ops = ops,
    .n_kernels = 1,
    .kernels = kernels,
};

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor;
  return &plugin;
}
