/* acme, an accelerator to copy: a compiler that takes Add, Sub and Mul of f32 tensors, and a
 * dispatcher that runs what it makes of them. */
#include "acme.h"

TN_LIST(const tn_compiler *, compilers, &acme_compiler);
TN_LIST(const tn_dispatcher *, dispatchers, &acme_dispatcher);

TN_PLUGIN(.name = "acme", .version = "1.0", .license = "Apache-2.0", TN_SET(compilers, compilers),
          TN_SET(dispatchers, dispatchers));
