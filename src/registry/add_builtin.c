/* The parts that are built in are vetted like those of others. Selected builds trust theirs
 * (src/without/vetting.c). */
#include "registry/builtin.h"
#include "registry/load.h"

tn_status tn_registry_add_builtin(tn_registry *r, tn_diag *diag) {
  return tn_registry_add(r, tn_builtin_query, TN_ORIGIN_BUILT_IN, NULL, NULL, 0, diag);
}
