/* The plug-in as a whole. */
#include "contrib.gen.h"
#include "tenon/kit/fetch.h"

/* No callback reads the elements of large constants while planning: they need not be brought into
 * memory for each new shape. */
tn_status contrib_init(const tn_host *host, void *ctx, const tn_option *const *options,
                       uint32_t n_options, void **out_self) {
  (void)options, (void)n_options, (void)out_self;
  if (host->get_extension) host->get_extension(ctx, TN_FETCH_EXTENSION);
  return TN_OK;
}
