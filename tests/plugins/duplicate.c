/* A plug-in that brings an operator Neg of its own, which overlaps the one that ships with Tenon
 * and differs from it, with a kernel and a rewrite; and com.acme::Half, which nobody else has. */
#include "tenon/graph.h"

static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)call, (void)stage, (void)begin, (void)end, (void)worker;
  return TN_ERR_INTERNAL; /* never called for the built-in Neg */
}
static tn_status apply(const tn_call *call, tn_graph *graph, int32_t node) {
  (void)call, (void)graph, (void)node;
  return TN_ERR_INTERNAL;
}

static const tn_op neg = {
    .head = TN_HEAD(tn_op),
    .name = "Neg",
    .since = 2,
    .schema = "(Tensor X, *, float bias=1.0) -> Tensor Y",
    .flags = TN_OP_SAME_AS_INPUT,
};
static const tn_op half = {
    .head = TN_HEAD(tn_op),
    .domain = "com.acme",
    .name = "Half",
    .since = 1,
    .schema = "(Tensor X) -> Tensor Y",
    .flags = TN_OP_SAME_AS_INPUT,
};
TN_ACCEPT(any, .arg = "*", .dtypes = TN_ANY_DTYPE);
TN_LIST(const tn_accept *, any_rows, &any);
static const tn_kernel neg_kernel = {.head = TN_HEAD(tn_kernel),
                                     .name = "neg_with_bias",
                                     .op = "Neg",
                                     .device = "cpu",
                                     .rank = TN_RANK_PLUGIN,
                                     TN_SET(accepts, any_rows),
                                     .run = run};
static const tn_kernel half_kernel = {.head = TN_HEAD(tn_kernel),
                                      .name = "half_c",
                                      .op = "com.acme::Half",
                                      .device = "cpu",
                                      .rank = TN_RANK_PLUGIN,
                                      TN_SET(accepts, any_rows),
                                      .run = run};
static const tn_rewrite rewrite = {TN_HEAD(tn_rewrite), "neg_away", "Neg", apply, NULL};
static const tn_op *const ops[] = {&neg, &half};
static const tn_kernel *const kernels[] = {&neg_kernel, &half_kernel};
static const tn_rewrite *const rewrites[] = {&rewrite};
static const tn_plugin plugin = {
    .head = TN_HEAD(tn_plugin),
    .name = "acme-duplicate",
    .flavour = TN_FLAVOUR,
    .n_ops = 2,
    .n_kernels = 2,
    .n_rewrites = 1,
    .ops = ops,
    .kernels = kernels,
    .rewrites = rewrites,
};

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor;
  return &plugin;
}
