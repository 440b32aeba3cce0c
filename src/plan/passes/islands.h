/* Cutting a graph into islands for compilers: convex sets of nodes that one claimant takes over.
 *
 * Convex: no path leaves an island and comes back. The islands are convex together: with each
 * island seen as one node the graph has no cycle, so that all of them can run as single steps. */
#ifndef TN_PLAN_PARTITION_H
#define TN_PLAN_PARTITION_H

#include "graph/graph.h"
#include "tenon/accelerator.h"

typedef struct tn_island {
  int32_t group;
  int32_t *nodes; /* ids in topological order */
  int32_t n_nodes;
  double gain_ns; /* sum of cost_host_ns - cost_native_ns, minus what crosses the border costs */
} tn_island;

typedef struct tn_partition_options {
  double transfer_fixed_ns; /* per value that crosses an island's border; constants do not */
  double transfer_ns_per_byte;
  int32_t max_islands; /* 0: any number */
} tn_partition_options;

/* claims: one per node id of g, which must be sorted, as tn_compiler.partition left them; NULL:
 * declined. Answers the islands that gain something,
 * the greatest gain first, in memory of `arena`. Values of unknown size cost transfer_fixed_ns
 * alone. */
tn_status tn_partition_cut(const tn_graph *g, const tn_claim *const *claims,
                           const tn_partition_options *options, tn_arena *arena,
                           tn_island **out_islands, int32_t *out_n);

#endif
