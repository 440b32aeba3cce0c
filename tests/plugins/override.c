/* A plug-in with a kernel for Neg, an operator that ships with Tenon. So that tests can see which
 * kernel ran, its answers are wrong: -x - 1000. It takes no more than 32 elements, and says so.
 * RANK and NAME are set by the build: one module that wins by its rank, one that needs a pin. */
#include "tenon/kit/offers.h"
#include "tenon/plugin.h"

static int64_t count(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t k = 0; k < t->rank; k++) n *= t->shape[k];
  return n;
}

static const char *refuse(const tn_call *call) {
  return count(call->inputs[0]) > 32 ? "takes no more than 32 elements" : NULL;
}

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = count(call->inputs[0]);
  out->grain[0] = 4096;
  return TN_OK;
}

static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  const float *x = call->inputs[0]->data;
  float *y = call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) y[k] = -x[k] - 1000;
  return TN_OK;
}

static const tn_accept x_f32 = {TN_HEAD(tn_accept), "X", TN_MASK(TN_F32), TN_PLAIN, 0, 0, 0};
static const tn_accept *const accepts[] = {&x_f32};
static const tn_kernel neg = {
    .head = TN_HEAD(tn_kernel),
    .name = NAME,
    .op = "Neg",
    .device = "cpu",
    .rank = RANK,
    .accepts = accepts,
    .n_accepts = 1,
    .refuse = refuse,
    .plan = plan,
    .run = run,
};
static const tn_kernel *const kernels[] = {&neg};
static const tn_plugin plugin = {
    .head = TN_HEAD(tn_plugin),
    .name = "acme-" NAME,
    .version = "1.0",
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
