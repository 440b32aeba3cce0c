/* Pass 06, partition: compilers claim nodes and the host cuts convex islands (partition.h).
 * Compilers are an experimental extension that this host lists and does not call, so nobody claims
 * anything and the graph stays as it is. */
#include "plan/passes.h"

tn_status tn_pass_partition(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  (void)p, (void)g, (void)diag;
  return TN_OK;
}
