/* The accelerator litert: what its plug-in offers. */
#include "litert.h"
#include "tenon/kit/offers.h"

TN_LIST(const tn_compiler *, compilers, &lrt_compiler);
TN_LIST(const tn_dispatcher *, dispatchers, &lrt_dispatcher);

TN_PLUGIN(.name = "litert", .version = "1.0", .license = "Apache-2.0", .flags = TN_PLUGIN_THREADS,
          TN_SET(compilers, compilers), TN_SET(dispatchers, dispatchers));

TN_OFFERS("+compilers +dispatchers");
