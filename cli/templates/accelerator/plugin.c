/* The accelerator @NAME@: what its plug-in offers. */
#include "@NAME@.h"

TN_TABLE(tn_extension, compiler, .name = TN_COMPILER_EXTENSION, .table = &@NAME@_compiler);
TN_TABLE(tn_extension, dispatcher, .name = TN_DISPATCHER_EXTENSION, .table = &@NAME@_dispatcher);
TN_LIST(const tn_extension *, extensions, &compiler, &dispatcher);

TN_PLUGIN(.name = "@PLUGIN@", .version = "0.1", .flags = TN_PLUGIN_THREADS,
          TN_SET(extensions, extensions));
