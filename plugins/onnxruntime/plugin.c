/* The accelerator onnxruntime: what its plug-in offers. */
#include "ort.h"
#include "tenon/kit/offers.h"

TN_LIST(const tn_compiler *, compilers, &ort_compiler);
TN_LIST(const tn_dispatcher *, dispatchers, &ort_dispatcher);

TN_PLUGIN(.name = "onnxruntime", .version = "1.0", .license = "Apache-2.0",
          .flags = TN_PLUGIN_THREADS, TN_SET(compilers, compilers),
          TN_SET(dispatchers, dispatchers));

TN_OFFERS("+compilers +dispatchers");
