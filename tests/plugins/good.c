/* A plug-in as its author would write it: one operator, one kernel, a state of its own. It includes
 * tenon/plugin.h and links nothing. TENON_TEST_LOG names a file that gets a line per event. */
#include <stdio.h>
#include <stdlib.h>

#include "tenon/kit/offers.h"
#include "tenon/plugin.h"

static void record(const char *event) {
  const char *path = getenv("TENON_TEST_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s\n", event);
  fclose(file);
}

static tn_status twice_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  const float *x = call->inputs[0]->data;
  float *y = call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t i = begin; i < end; i++) y[i] = 2 * x[i];
  return TN_OK;
}

static tn_status twice_plan(const tn_call *call, tn_kernel_plan *plan) {
  plan->items[0] = 1;
  for (int32_t k = 0; k < call->inputs[0]->rank; k++) plan->items[0] *= call->inputs[0]->shape[k];
  plan->grain[0] = 4096;
  plan->flags = TN_PLAN_ELEMENTWISE;
  return TN_OK;
}

static const tn_type_rule twice_types = {TN_HEAD(tn_type_rule), "T", "X,Y", TN_MASK(TN_F32)};
static const tn_type_rule *const twice_rules[] = {&twice_types};

static const tn_op twice = {
    .head = TN_HEAD(tn_op),
    .domain = "com.acme",
    .name = "Twice",
    .since = 1,
    .schema = "(Tensor X) -> Tensor Y",
    .types = twice_rules,
    .n_types = 1,
    .flags = TN_OP_SAME_AS_INPUT | TN_OP_ELEMENTWISE,
    .doc = "2 * X",
};

static const tn_accept twice_x = {TN_HEAD(tn_accept), "X", TN_MASK(TN_F32), TN_PLAIN, 0, 0, 0};
static const tn_accept *const twice_accepts[] = {&twice_x};

static const tn_kernel twice_f32 = {
    .head = TN_HEAD(tn_kernel),
    .name = "twice_f32_c",
    .op = "com.acme::Twice",
    .device = "cpu",
    .rank = TN_RANK_PLUGIN,
    .accepts = twice_accepts,
    .n_accepts = 1,
    .plan = twice_plan,
    .run = twice_run,
};

typedef struct state {
  const tn_host *host;
  void *ctx;
} state;

static tn_status init(const tn_host *host, void *ctx, const tn_option *const *options,
                      uint32_t n_options, void **out_self) {
  if (n_options) return host->fail(ctx, TN_ERR_INVALID, "there is no option '%s'", options[0]->key);
  state *self = host->alloc(ctx, sizeof *self);
  if (!self) return TN_ERR_MEMORY;
  if (self->host || (uintptr_t)self % 64) return host->fail(ctx, TN_ERR_INTERNAL, "odd memory");
  if (host->get_extension(ctx, "unheard-of.v1")) return TN_ERR_INTERNAL;
  self->host = host;
  self->ctx = ctx;
  record("init");
  *out_self = self;
  return TN_OK;
}

static void shut_down(void *self) {
  const state *s = self;
  record("shutdown");
  s->host->free(s->ctx, self);
}

static const tn_op *const ops[] = {&twice};
static const tn_kernel *const kernels[] = {&twice_f32};
static const tn_plugin plugin = {
    .head = TN_HEAD(tn_plugin),
    .name = "acme-twice",
    .version = "1.0",
    .license = "MIT",
    .build_id = "test",
    .flavour = TN_FLAVOUR,
    .n_ops = 1,
    .n_kernels = 1,
    .ops = ops,
    .kernels = kernels,
    .init = init,
    .shutdown = shut_down,
};

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_minor;
  return host_major == TN_ABI_MAJOR ? &plugin : NULL;
}

#ifdef OFFERS
TN_OFFERS(OFFERS);
#endif
