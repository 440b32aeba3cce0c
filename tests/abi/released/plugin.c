/* Copies tensors of any type. Built with the header of ABI 1.0, with that of today (NAME copy_new),
 * and once more with the old one as a kernel for somebody else's operator (KERNEL_ONLY). */
#include <string.h>

#include <tenon/plugin.h>

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->items[0] = 1;
  return TN_OK;
}

/* Tensors of [4] whose elements have a byte or are f32. */
static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  memcpy(call->outputs[0]->data, call->inputs[0]->data, call->inputs[0]->dtype == TN_F32 ? 16 : 4);
  return TN_OK;
}

#ifndef KERNEL_ONLY
static const tn_op op = {.head = TN_HEAD(tn_op),
                         .domain = "com.acme",
                         .name = "Copy",
                         .schema = "(Tensor x) -> Tensor y",
                         .since = 1,
                         .flags = TN_OP_SAME_AS_INPUT};
static const tn_op *const ops[] = {&op};
#endif
/* A row for any type, and an output without a row. */
static const tn_accept row = {.head = TN_HEAD(tn_accept), .arg = "x"};
static const tn_accept *const rows[] = {&row};
static const tn_kernel kernel = {.head = TN_HEAD(tn_kernel),
                                 .name = NAME,
                                 .op = "com.acme::Copy",
                                 .device = "cpu",
                                 .rank = RANK,
                                 .n_accepts = 1,
                                 .accepts = rows,
                                 .plan = plan,
                                 .run = run};
static const tn_kernel *const kernels[] = {&kernel};
static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                 .name = NAME,
                                 .version = "1",
                                 .flavour = TN_FLAVOUR,
#ifndef KERNEL_ONLY
                                 .n_ops = 1,
                                 .ops = ops,
#endif
                                 .n_kernels = 1,
                                 .kernels = kernels};

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor;
  return &plugin;
}
