/* The kernel that would take a node if ranks alone decided: asked by passes before selection does,
 * which knows costs, too. */
#include "plan/passes/passes.h"
#include "plan/select/match.h"

const tn_kerneldef *tn_first_kernel(const tn_planner *p, tn_graph *g, int32_t node) {
  tn_call_frame f;
  if (tn_call_open(&f, p, g, node, NULL)) return NULL;
  const tn_gnode *n = tn_graph_node(g, node);
  const tn_kerneldef *const *kernels, *found = NULL;
  int32_t count = tn_registry_kernels(p->registry, n->def, &kernels);
  for (int32_t k = 0; k < count && !found && !tn_call_fetch_for(&f, kernels[k]->owner); k++)
    if (!kernels[k]->device && tn_pin_allows(p, n, kernels[k]->kernel.name) &&
        tn_kernel_match_fixed(kernels[k], n->def, &f.call, n->n_formal, NULL) == NULL &&
        (!kernels[k]->kernel.refuse || kernels[k]->kernel.refuse(&f.call) == NULL))
      found = kernels[k];
  if (found) tn_note_use(&found->uses, TN_USE_ASKED);
  tn_call_close(&f);
  return found;
}

const tn_kerneldef *tn_winner_by_rank(const tn_planner *p, tn_graph *g, int32_t node) {
  const tn_kerneldef *const *kernels, *first;
  const int32_t n = tn_registry_kernels(p->registry, tn_graph_node(g, node)->def, &kernels);
  if (!n || kernels[0]->kernel.rank < TN_RANK_PLUGIN) return NULL; /* in the order of ranks */
  first = tn_first_kernel(p, g, node);
  return first && first->kernel.rank >= TN_RANK_PLUGIN ? first : NULL;
}
