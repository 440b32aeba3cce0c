/* The accelerator @NAME@: what its plug-in offers. */
#include "@NAME@.h"

TN_LIST(const tn_compiler *, compilers, &@NAME@_compiler);
TN_LIST(const tn_dispatcher *, dispatchers, &@NAME@_dispatcher);

TN_PLUGIN(.name = "@PLUGIN@", .version = "0.1", .flags = TN_PLUGIN_THREADS,
          TN_SET(compilers, compilers), TN_SET(dispatchers, dispatchers));
