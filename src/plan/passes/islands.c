/* The convex cutter. Every claimed node begins as an island of its own; along each edge the two
 * islands at its ends are joined if they are of one group and no other path leads from one to
 * the other. Then nodes at the rim whose border costs more than they save are peeled off, which
 * leaves an island convex. */
#include "plan/passes/islands.h"

#include <string.h>

typedef struct cutter {
  const tn_graph *g;
  const tn_claim *const *claims;
  const tn_partition_options *options;
  int32_t *island; /* per node: first node of its island (its name); itself if it has none */
  int32_t *next;   /* per node: next of its island, -1 */
  int32_t *place;  /* per node: index in the topological order */
  uint8_t *seen;   /* per island */
  int32_t *stack;
  uint8_t *inside; /* per node: in the island at hand */
} cutter;

static int32_t group_of(const cutter *c, int32_t node) {
  return c->claims[node] ? c->claims[node]->group : -1;
}

static bool is_claimed(const cutter *c, int32_t node) { return group_of(c, node) >= 0; }

/* ---- joining ---- */

/* Pushes the islands that read from `island`; true if `goal` is one of them. `skip`: do not
 * count direct edges to goal. */
static bool push_readers(cutter *c, int32_t island, int32_t goal, bool skip, int32_t *n_stack) {
  for (int32_t n = island; n >= 0; n = c->next[n]) {
    const tn_node *node = &tn_graph_node(c->g, n)->node;
    for (uint32_t k = 0; k < node->n_outputs; k++) {
      const tn_value *v = node->outputs[k] < 0 ? NULL : tn_graph_val(c->g, node->outputs[k]);
      for (int64_t u = 0; v && u < v->users.n; u++) {
        int32_t reader = c->island[v->users.data[u]];
        if (reader == goal && !skip) return true;
        if (reader == goal || c->seen[reader]) continue;
        c->seen[reader] = 1;
        c->stack[(*n_stack)++] = reader;
      }
    }
  }
  return false;
}

/* Is there a path from island a to island b through a third? */
static bool has_detour(cutter *c, int32_t a, int32_t b) {
  int32_t n_stack = 0;
  memset(c->seen, 0, (size_t)c->g->nodes.n);
  c->seen[a] = 1;
  (void)push_readers(c, a, b, true, &n_stack);
  while (n_stack)
    if (push_readers(c, c->stack[--n_stack], b, false, &n_stack)) return true;
  return false;
}

static void join(cutter *c, int32_t a, int32_t b) {
  int32_t last = a;
  while (c->next[last] >= 0) last = c->next[last];
  c->next[last] = b;
  for (int32_t n = b; n >= 0; n = c->next[n]) c->island[n] = a;
}

static void join_along_edges(cutter *c) {
  for (int64_t k = 0; k < c->g->order.n; k++) {
    int32_t reader = c->g->order.data[k];
    const tn_node *node = &tn_graph_node(c->g, reader)->node;
    for (uint32_t j = 0; is_claimed(c, reader) && j < node->n_inputs; j++) {
      int32_t producer = node->inputs[j] < 0 ? -1 : tn_graph_val(c->g, node->inputs[j])->producer;
      if (producer < 0 || group_of(c, producer) != group_of(c, reader)) continue;
      int32_t a = c->island[producer], b = c->island[reader];
      /* a cycle would need a path in either direction; one from b to a is there only if a was
       * joined later than b */
      if (a != b && !has_detour(c, a, b) && !has_detour(c, b, a)) join(c, a, b);
    }
  }
}

/* ---- gain ---- */

static double transfer(const cutter *c, int32_t value) {
  int64_t bytes = tn_storage_bytes(tn_graph_val(c->g, value)->type);
  return c->options->transfer_fixed_ns +
         c->options->transfer_ns_per_byte * (double)tn_max_i64(bytes, 0);
}

static bool read_outside(const cutter *c, const tn_value *v) {
  if (v->flags & TN_VALUE_OUTPUT) return true;
  for (int64_t u = 0; u < v->users.n; u++)
    if (!c->inside[v->users.data[u]]) return true;
  return false;
}

static bool read_before(const cutter *c, const int32_t *nodes, int32_t n, uint32_t input,
                        int32_t value) {
  for (int32_t k = 0; k <= n; k++) {
    const tn_node *node = &tn_graph_node(c->g, nodes[k])->node;
    for (uint32_t j = 0; j < (k == n ? input : node->n_inputs); j++)
      if (c->inside[nodes[k]] && node->inputs[j] == value) return true;
  }
  return false;
}

/* Of the nodes in the list that are inside. */
static double gain_of(const cutter *c, const int32_t *nodes, int32_t n) {
  double gain = 0;
  for (int32_t k = 0; k < n; k++) {
    if (!c->inside[nodes[k]]) continue;
    const tn_node *node = &tn_graph_node(c->g, nodes[k])->node;
    gain += c->claims[nodes[k]]->cost_host_ns - c->claims[nodes[k]]->cost_native_ns;
    for (uint32_t j = 0; j < node->n_inputs; j++) {
      const tn_value *v = node->inputs[j] < 0 ? NULL : tn_graph_val(c->g, node->inputs[j]);
      bool enters = v && !v->constant && (v->producer < 0 || !c->inside[v->producer]);
      if (enters && !read_before(c, nodes, k, j, node->inputs[j]))
        gain -= transfer(c, node->inputs[j]);
    }
    for (uint32_t j = 0; j < node->n_outputs; j++)
      if (node->outputs[j] >= 0 && read_outside(c, tn_graph_val(c->g, node->outputs[j])))
        gain -= transfer(c, node->outputs[j]);
  }
  return gain;
}

/* ---- peeling ---- */

static bool reads_inside(const cutter *c, int32_t id) {
  const tn_node *node = &tn_graph_node(c->g, id)->node;
  for (uint32_t j = 0; j < node->n_inputs; j++) {
    int32_t producer = node->inputs[j] < 0 ? -1 : tn_graph_val(c->g, node->inputs[j])->producer;
    if (producer >= 0 && c->inside[producer]) return true;
  }
  return false;
}

static bool feeds_inside(const cutter *c, int32_t id) {
  const tn_node *node = &tn_graph_node(c->g, id)->node;
  for (uint32_t j = 0; j < node->n_outputs; j++) {
    const tn_value *v = node->outputs[j] < 0 ? NULL : tn_graph_val(c->g, node->outputs[j]);
    for (int64_t u = 0; v && u < v->users.n; u++)
      if (c->inside[v->users.data[u]]) return true;
  }
  return false;
}

/* Takes rim nodes out while that gains; first or last nodes only, so nothing becomes a detour. */
static double peel(cutter *c, const int32_t *nodes, int32_t n) {
  double gain = gain_of(c, nodes, n);
  bool better = true;
  while (better) {
    better = false;
    for (int32_t k = 0; k < n; k++) {
      if (!c->inside[nodes[k]] || (reads_inside(c, nodes[k]) && feeds_inside(c, nodes[k])))
        continue;
      c->inside[nodes[k]] = 0;
      double without = gain_of(c, nodes, n);
      if (without > gain) {
        gain = without;
        better = true;
      } else {
        c->inside[nodes[k]] = 1;
      }
    }
  }
  return gain;
}

/* ---- answers ---- */

static int32_t list_nodes(const cutter *c, int32_t island, int32_t *nodes) {
  int32_t n = 0;
  for (int32_t id = island; id >= 0; id = c->next[id]) { /* by place: islands are short */
    int32_t at = n++;
    for (; at > 0 && c->place[nodes[at - 1]] > c->place[id]; at--) nodes[at] = nodes[at - 1];
    nodes[at] = id;
  }
  return n;
}

static tn_status add_island(cutter *c, int32_t first, int32_t *nodes, tn_arena *arena,
                            tn_island *islands, int32_t *n_islands) {
  int32_t n = list_nodes(c, first, nodes), kept = 0;
  memset(c->inside, 0, (size_t)c->g->nodes.n);
  for (int32_t k = 0; k < n; k++) c->inside[nodes[k]] = 1;
  tn_island made = {.group = group_of(c, first), .gain_ns = peel(c, nodes, n)};
  if (!(made.gain_ns > 0)) return TN_OK;
  for (int32_t k = 0; k < n; k++)
    if (c->inside[nodes[k]]) nodes[kept++] = nodes[k];
  made.n_nodes = kept;
  made.nodes = tn_arena_copy(arena, nodes, (uint64_t)kept * sizeof *nodes);
  if (!made.nodes) return TN_ERR_MEMORY;
  int32_t at = (*n_islands)++;
  for (; at > 0 && islands[at - 1].gain_ns < made.gain_ns; at--) islands[at] = islands[at - 1];
  islands[at] = made;
  return TN_OK;
}

static tn_status open(cutter *c, tn_arena *arena) {
  uint64_t n = (uint64_t)c->g->nodes.n + 1;
  c->island = tn_arena_alloc(arena, n * sizeof *c->island);
  c->next = tn_arena_alloc(arena, n * sizeof *c->next);
  c->place = tn_arena_alloc(arena, n * sizeof *c->place);
  c->stack = tn_arena_alloc(arena, n * sizeof *c->stack);
  c->seen = tn_arena_alloc(arena, n);
  c->inside = tn_arena_alloc(arena, n);
  if (!c->island || !c->next || !c->place || !c->stack || !c->seen || !c->inside)
    return TN_ERR_MEMORY;
  for (int32_t k = 0; k < (int32_t)c->g->nodes.n; k++) {
    c->island[k] = k;
    c->next[k] = -1;
  }
  for (int64_t k = 0; k < c->g->order.n; k++) c->place[c->g->order.data[k]] = (int32_t)k;
  return TN_OK;
}

tn_status tn_partition_cut(const tn_graph *g, const tn_claim *const *claims,
                           const tn_partition_options *options, tn_arena *arena,
                           tn_island **out_islands, int32_t *out_n) {
  *out_n = 0;
  *out_islands = tn_arena_alloc(arena, ((uint64_t)g->order.n + 1) * sizeof **out_islands);
  int32_t *nodes = tn_arena_alloc(arena, ((uint64_t)g->order.n + 1) * sizeof *nodes);
  cutter c = {.g = g, .claims = claims, .options = options};
  if (!*out_islands || !nodes || open(&c, arena)) return TN_ERR_MEMORY;
  join_along_edges(&c);
  for (int64_t k = 0; k < g->order.n; k++) {
    int32_t id = g->order.data[k];
    if (!is_claimed(&c, id) || c.island[id] != id) continue;
    if (add_island(&c, id, nodes, arena, *out_islands, out_n)) return TN_ERR_MEMORY;
  }
  if (options->max_islands > 0 && *out_n > options->max_islands) *out_n = options->max_islands;
  return TN_OK;
}
