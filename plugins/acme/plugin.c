/* acme, an accelerator to copy: a compiler that takes Add, Sub and Mul of f32 tensors, and a
 * dispatcher that runs what it makes of them. */
#include "acme.h"

TN_TABLE(tn_extension, compiler, .name = TN_COMPILER_EXTENSION, .table = &acme_compiler);
TN_TABLE(tn_extension, dispatcher, .name = TN_DISPATCHER_EXTENSION, .table = &acme_dispatcher);
TN_LIST(const tn_extension *, extensions, &compiler, &dispatcher);

TN_PLUGIN(.name = "acme", .version = "1.0", .license = "Apache-2.0",
          TN_SET(extensions, extensions));
