/* Entries of a graph: the names of all that its file holds. */
#include <string.h>

#include "graph/graph.h"

tn_status tn_graph_entry_add(tn_graph *g, const char *name) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!g || g->parent || !name || !*name)
    return tn_graph_refuse(g, TN_ERR_INVALID, "entry_add: no name, or no graph of a model");
  for (int64_t k = 0; k < g->entries.n; k++)
    if (!strcmp(g->entries.data[k], name))
      return tn_graph_refuse(g, TN_ERR_INVALID, "entry_add: there is one of this name");
  const char *copy = tn_arena_str(&g->arena, name);
  return copy ? tn_vec_push(g->a, &g->entries, copy) : TN_ERR_MEMORY;
}

int32_t tn_graph_n_entries(const tn_graph *g) { return (int32_t)g->entries.n; }

const char *tn_graph_entry_at(const tn_graph *g, int32_t index) {
  return index >= 0 && index < g->entries.n ? g->entries.data[index] : NULL;
}
