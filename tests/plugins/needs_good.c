/* A plug-in with nothing but a kernel for the operator of another one. */
#include "tenon/kit/offers.h"
#include "tenon/plugin.h"

static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)call, (void)stage, (void)begin, (void)end, (void)worker;
  return TN_OK;
}

TN_ACCEPT(any, .arg = "*", .dtypes = TN_ANY_DTYPE);
TN_LIST(const tn_accept *, any_rows, &any);
static const tn_kernel kernel = {
    .head = TN_HEAD(tn_kernel),
    .name = "twice_f32_fast",
    .op = "com.acme::Twice",
    .device = "cpu",
    .rank = TN_RANK_PLUGIN + 1,
    TN_SET(accepts, any_rows),
    .run = run,
};
static const tn_kernel *const kernels[] = {&kernel};
static const tn_plugin plugin = {
    .head = TN_HEAD(tn_plugin),
    .name = "acme-twice-fast",
    .flavour = TN_FLAVOUR,
    .n_kernels = 1,
    .kernels = kernels,
};

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor;
  return &plugin;
}

#ifdef OFFERS
TN_OFFERS(OFFERS);
#endif
