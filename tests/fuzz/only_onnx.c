/* What ships with a runtime that is fuzzed: the format ONNX, and no operators. It stands in for the
 * table that the generator writes. */
#include "registry/builtin.h"

extern const tn_format onnx_format;

static const tn_format *const formats[] = {&onnx_format};
static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                 .name = "tenon",
                                 .version = "0",
                                 .license = "Apache-2.0",
                                 .build_id = "fuzz",
                                 .flavour = TN_FLAVOUR,
                                 .n_formats = 1,
                                 .formats = formats};

const tn_plugin *tn_builtin_query(uint32_t host_major, uint32_t host_minor) {
  return (void)host_major, (void)host_minor, &plugin;
}
