/* Copies of graphs, so that planning for one set of shapes leaves the model as it was. What never
 * changes once it is made (strings, attributes, regions, constants) is shared: the copy keeps the
 * original alive. What passes edit is copied. */
#include <string.h>

#include "graph/graph.h"

#define COPY_VEC(a, to, from)                                                                \
  copy_vec((a), (void **)(void *)&(to)->data, &(to)->n, &(to)->cap, (from)->data, (from)->n, \
           sizeof *(to)->data)

static tn_status copy_vec(const tn_allocator *a, void **to, int64_t *n, int64_t *cap,
                          const void *from, int64_t count, size_t element) {
  *to = NULL;
  *n = *cap = 0;
  if (!count) return TN_OK;
  if (tn_vec_reserve(a, to, cap, 0, count, element)) return TN_ERR_MEMORY;
  memcpy(*to, from, (size_t)count * element);
  *n = count;
  return TN_OK;
}

static tn_status copy_values(tn_graph *g, const tn_graph *from) {
  if (COPY_VEC(g->a, &g->values, &from->values)) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < g->values.n;
       k++) { /* first let go of all that is the original's: we may fail below */
    tn_value *v = &g->values.data[k];
    v->users.data = NULL;
    v->users.n = v->users.cap = 0;
    tn_const_retain(v->constant);
  }
  for (int64_t k = 0; k < g->values.n; k++) {
    tn_value *v = &g->values.data[k];
    const tn_value *old = &from->values.data[k];
    if (old->users.n) {
      v->users.data = tn_arena_copy(&g->arena, old->users.data,
                                    (uint64_t)old->users.n * sizeof *old->users.data);
      if (!v->users.data) return TN_ERR_MEMORY;
      v->users.n = v->users.cap = old->users.n;
    }
  }
  return TN_OK;
}

static tn_status copy_subgraphs(tn_graph *g, const tn_graph *from) {
  if (tn_vec_room(g->a, &g->subgraphs, from->subgraphs.n)) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < from->subgraphs.n; k++) {
    tn_graph *sub = tn_graph_clone(from->subgraphs.data[k]);
    if (!sub) return TN_ERR_MEMORY;
    sub->parent = g;
    g->subgraphs.data[g->subgraphs.n++] = sub;
  }
  return TN_OK;
}

static tn_graph *copy_of(const tn_graph *g, const tn_graph *from, tn_graph *sub) {
  for (int64_t k = 0; k < from->subgraphs.n; k++)
    if (from->subgraphs.data[k] == sub) return g->subgraphs.data[k];
  return sub; /* the body of a function: shared */
}

static tn_status copy_nodes(tn_graph *g, const tn_graph *from) {
  if (COPY_VEC(g->a, &g->nodes, &from->nodes)) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < g->nodes.n; k++) {
    tn_gnode *n = &g->nodes.data[k];
    if (!n->alive) continue;
    n->node.inputs =
        tn_arena_copy(&g->arena, n->node.inputs, n->node.n_inputs * sizeof *n->node.inputs);
    n->input_room = 0;
    n->node.outputs =
        tn_arena_copy(&g->arena, n->node.outputs, n->node.n_outputs * sizeof *n->node.outputs);
    if (!n->node.inputs || !n->node.outputs) return TN_ERR_MEMORY;
    if (!n->n_subgraphs) continue;
    n->subgraphs = tn_arena_copy(&g->arena, n->subgraphs, n->n_subgraphs * sizeof *n->subgraphs);
    if (!n->subgraphs) return TN_ERR_MEMORY;
    for (uint32_t j = 0; j < n->n_subgraphs; j++)
      n->subgraphs[j] = copy_of(g, from, n->subgraphs[j]);
  }
  return TN_OK;
}

tn_graph *tn_graph_clone(const tn_graph *from) {
  tn_graph *g = tn_graph_new(from->a);
  if (!g) return NULL;
  union {
    const tn_graph *in;
    tn_graph *out;
  } cast = {from};
  g->base = cast.out;
  atomic_fetch_add_explicit(&cast.out->refs, 1, memory_order_relaxed);
  g->parent = from->parent;
  g->n_settled = from->n_settled;
  g->n_held_back = from->n_held_back;
  g->unsorted = from->unsorted;
  g->names_wait = true;
  g->is_function = from->is_function;
  g->rewritten = from->rewritten;
  if (!copy_values(g, from) && !copy_subgraphs(g, from) && !copy_nodes(g, from) &&
      !COPY_VEC(g->a, &g->order, &from->order) && !COPY_VEC(g->a, &g->inputs, &from->inputs) &&
      !COPY_VEC(g->a, &g->defaults, &from->defaults) &&
      !COPY_VEC(g->a, &g->outputs, &from->outputs) &&
      !COPY_VEC(g->a, &g->captures, &from->captures) &&
      !COPY_VEC(g->a, &g->functions, &from->functions) &&
      !COPY_VEC(g->a, &g->opsets, &from->opsets) && !COPY_VEC(g->a, &g->meta, &from->meta) &&
      !COPY_VEC(g->a, &g->states, &from->states) && !COPY_VEC(g->a, &g->entries, &from->entries))
    return g;
  tn_graph_free(g);
  return NULL;
}
