/* A plug-in written without YAML: one operator that is lowered by nobody and run by nobody. */
#include <tenon/plugin.h>

static const tn_op op = {.head = TN_HEAD(tn_op),
                         .domain = "com.hand",
                         .name = "Same",
                         .since = 1,
                         .schema = "(Tensor x) -> Tensor y",
                         .flags = TN_OP_SAME_AS_INPUT,
                         .doc = "The same again."};
static const tn_op *const ops[] = {&op};
static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                 .name = "by_hand",
                                 .version = "1",
                                 .license = "MIT",
                                 .build_id = "1",
                                 .flavour = TN_FLAVOUR,
                                 .n_ops = 1,
                                 .ops = ops};

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major;
  (void)host_minor;
  return &plugin;
}
