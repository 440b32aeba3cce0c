/* A plug-in full of pointers that lead nowhere. Following any of them ends the host. */
#include "tenon/plugin.h"

#define NOWHERE(type) ((type)(uintptr_t)0xdeadb000)

typedef tn_status (*run_fn)(const tn_call *, uint32_t, int64_t, int64_t, uint32_t);
typedef tn_status (*infer_fn)(const tn_call *);

static const char data_that_is_no_code[64] = "run";

static const tn_op wild_op = {
    .head = TN_HEAD(tn_op),
    .domain = NOWHERE(const char *),
    .name = "Wild",
    .since = 1,
    .schema = NOWHERE(const char *),
    .infer = NOWHERE(infer_fn),
};
static const tn_op *const ops[] = {&wild_op, NOWHERE(const tn_op *)};

static tn_kernel wild_kernel = {
    .head = TN_HEAD(tn_kernel),
    .name = "wild",
    .op = "Wild",
    .device = "cpu",
    .accepts = NOWHERE(const tn_accept *const *),
    .n_accepts = 3,
};
static const tn_kernel *const kernels[] = {&wild_kernel};

static tn_plugin plugin = {
    .head = TN_HEAD(tn_plugin),
    .name = "wild",
    .version = NOWHERE(const char *),
    .flavour = TN_FLAVOUR,
    .n_ops = 2,
    .n_kernels = 1,
    .n_formats = 4,
    .ops = ops,
    .kernels = kernels,
    .formats = NOWHERE(const tn_format *const *),
};

/* The first call offers no more than broken texts and tables, later ones offer more each time. */
const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  static int calls;
  (void)host_major, (void)host_minor;
  calls++;
  if (calls > 1) {
    plugin.version = "1";
    plugin.n_formats = 0;
  }
  if (calls > 2) {
    plugin.n_ops = 0;
    wild_kernel.run = (run_fn)(uintptr_t)data_that_is_no_code;
  }
  return calls > 3 ? NOWHERE(const tn_plugin *) : &plugin;
}
