/* The accelerator litert: what its plug-in offers. */
#include "litert.h"

TN_TABLE(tn_extension, compiler, .name = TN_COMPILER_EXTENSION, .table = &lrt_compiler);
TN_TABLE(tn_extension, dispatcher, .name = TN_DISPATCHER_EXTENSION, .table = &lrt_dispatcher);
TN_LIST(const tn_extension *, extensions, &compiler, &dispatcher);

TN_PLUGIN(.name = "litert", .version = "1.0", .license = "Apache-2.0", .flags = TN_PLUGIN_THREADS,
          TN_SET(extensions, extensions));
