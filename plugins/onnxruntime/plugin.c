/* The accelerator onnxruntime: what its plug-in offers. */
#include "ort.h"

TN_TABLE(tn_extension, compiler, .name = TN_COMPILER_EXTENSION, .table = &ort_compiler);
TN_TABLE(tn_extension, dispatcher, .name = TN_DISPATCHER_EXTENSION, .table = &ort_dispatcher);
TN_LIST(const tn_extension *, extensions, &compiler, &dispatcher);

TN_PLUGIN(.name = "onnxruntime", .version = "1.0", .license = "Apache-2.0",
          .flags = TN_PLUGIN_THREADS, TN_SET(extensions, extensions));
