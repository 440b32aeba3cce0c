/* A plug-in of the next version. It uses what is new where the host has it; with NEEDS it says that
 * it cannot do without. */
#include <tenon/plugin.h>

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = 1;
  for (int32_t k = 0; k < call->outputs[0]->rank; k++) out->items[0] *= call->outputs[0]->shape[k];
  if (TN_HAS(out, next_text)) out->next_text = "an old host ends before this";
  return TN_OK;
}

/* y = x + 1, plus 1 where the host is new enough to be asked. */
static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  const float *x = call->inputs[0]->data;
  float *y = call->outputs[0]->data;
  const float more = TN_HAS(call, next) && TN_HAS(call->host, next) ? 2 : 1;
  (void)stage, (void)worker;
  for (int64_t i = begin; i < end; i++) y[i] = x[i] + more;
  return TN_OK;
}

static const tn_type_rule rule = {
    .head = TN_HEAD(tn_type_rule), .name = "T", .args = "x,y", .dtypes = TN_MASK(TN_F32)};
static const tn_type_rule *const rules[] = {&rule};
static const tn_op op = {.head = TN_HEAD(tn_op),
                         .domain = "com.acme",
                         .name = "More",
                         .schema = "(Tensor x) -> Tensor y",
                         .since = 1,
                         .flags = TN_OP_SAME_AS_INPUT,
                         .n_types = 1,
                         .types = rules,
                         .next = 11};
static const tn_op *const ops[] = {&op};
static const tn_accept row = {.head = TN_HEAD(tn_accept), .arg = "x", .dtypes = TN_MASK(TN_F32)};
static const tn_accept *const rows[] = {&row};
static const tn_kernel kernel = {.head = TN_HEAD(tn_kernel),
                                 .name = "more_f32",
                                 .op = "com.acme::More",
                                 .device = "cpu",
                                 .rank = TN_RANK_PLUGIN,
                                 .n_accepts = 1,
                                 .accepts = rows,
                                 .plan = plan,
                                 .run = run,
                                 .next = 7};
static const tn_kernel *const kernels[] = {&kernel};
static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                 .name = "next",
                                 .version = "1",
                                 .flavour = TN_FLAVOUR,
#ifdef NEEDS
                                 .needs = NEEDS,
#endif
                                 .n_ops = 1,
                                 .n_kernels = 1,
                                 .ops = ops,
                                 .kernels = kernels,
                                 .next = 13};

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor;
  return &plugin;
}
