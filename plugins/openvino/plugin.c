/* The accelerator openvino: what its plug-in offers. */
#include "ov.h"
#include "tenon/kit/offers.h"

TN_LIST(const tn_compiler *, compilers, &ov_compiler);
TN_LIST(const tn_dispatcher *, dispatchers, &ov_dispatcher);

TN_PLUGIN(.name = "openvino", .version = "1.0", .license = "Apache-2.0", .flags = TN_PLUGIN_THREADS,
          TN_SET(compilers, compilers), TN_SET(dispatchers, dispatchers));

TN_OFFERS("+compilers +dispatchers");
