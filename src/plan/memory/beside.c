/* Arranging: islands of vendors that run beside steps of the CPU. They begin as early as they can,
 * what reads them comes as late as it can, and until then nothing touches their memory. */
#include <string.h>

#include "accelerator/accelerator.h"
#include "plan/memory/arrange.h"

static bool has_halves(const tn_gnode *n) { return n->island && tn_island_has_halves(n->island); }

/* ---- order ---- */

typedef struct orderer {
  const tn_graph *g;
  int32_t *missing;  /* per node: inputs that are not made yet */
  uint8_t *is_begun; /* per node: an island that nobody has waited for */
  int32_t *ready;    /* nodes that could run, in the order in which they became so */
  int32_t n_ready;
  int32_t *order;
  int64_t n_order;
} orderer;

static int32_t producer_of(const tn_graph *g, int32_t value) {
  return value < 0 ? -1 : tn_graph_val(g, value)->producer;
}

/* Would it have to wait for an island, because it reads it or has the same program? */
static bool has_to_wait(const orderer *o, int32_t node) {
  const tn_gnode *n = tn_graph_node(o->g, node);
  for (uint32_t k = 0; k < n->node.n_inputs; k++) {
    const int32_t producer = producer_of(o->g, n->node.inputs[k]);
    if (producer >= 0 && o->is_begun[producer]) return true;
  }
  for (int64_t k = 0; n->island && k < o->n_order; k++) {
    const tn_gnode *other = tn_graph_node(o->g, o->order[k]);
    if (o->is_begun[o->order[k]] && other->island->loaded == n->island->loaded) return true;
  }
  return false;
}

/* The first that is ready, of islands or of all, that need not wait; -1: none. */
static int32_t find(const orderer *o, bool islands) {
  for (int32_t k = 0; k < o->n_ready; k++)
    if ((!islands || has_halves(tn_graph_node(o->g, o->ready[k]))) && !has_to_wait(o, o->ready[k]))
      return k;
  return -1;
}

static void wait_for_all(orderer *o) {
  for (int64_t k = 0; k < o->n_order; k++) o->is_begun[o->order[k]] = 0;
}

static void take(orderer *o, int32_t at) {
  const int32_t node = o->ready[at];
  const tn_gnode *n = tn_graph_node(o->g, node);
  memmove(o->ready + at, o->ready + at + 1, (size_t)(o->n_ready - 1 - at) * sizeof *o->ready);
  o->n_ready--;
  o->order[o->n_order++] = node;
  o->is_begun[node] = has_halves(n);
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    const tn_value *v = n->node.outputs[k] < 0 ? NULL : tn_graph_val(o->g, n->node.outputs[k]);
    for (int64_t u = 0; v && u < v->users.n; u++)
      if (--o->missing[v->users.data[u]] == 0) o->ready[o->n_ready++] = v->users.data[u];
  }
}

static void order(orderer *o) {
  while (o->n_ready) {
    int32_t at = find(o, true);
    if (at < 0) at = find(o, false);
    if (at < 0) {
      wait_for_all(o);
      at = 0;
    }
    take(o, at);
  }
}

static void count(orderer *o, int32_t node) {
  const tn_node *n = &tn_graph_node(o->g, node)->node;
  for (uint32_t k = 0; k < n->n_inputs; k++)
    o->missing[node] += producer_of(o->g, n->inputs[k]) >= 0;
  if (!o->missing[node]) o->ready[o->n_ready++] = node;
}

static bool has_any(const tn_graph *g) {
  for (int64_t k = 0; k < g->order.n; k++)
    if (has_halves(tn_graph_node(g, g->order.data[k]))) return true;
  return false;
}

tn_status tn_arrange_beside(tn_graph *g, const tn_planner *planner) {
  const uint64_t n = (uint64_t)g->nodes.n + 1;
  orderer o = {.g = g};
  tn_arena arena;
  if (!has_any(g)) return TN_OK;
  tn_arena_init(&arena, planner->a);
  o.missing = tn_arena_alloc(&arena, n * sizeof *o.missing);
  o.ready = tn_arena_alloc(&arena, n * sizeof *o.ready);
  o.order = tn_arena_alloc(&arena, n * sizeof *o.order);
  o.is_begun = tn_arena_alloc(&arena, n);
  const bool ok = o.missing && o.ready && o.order && o.is_begun;
  for (int64_t k = 0; k < g->order.n && ok; k++) count(&o, g->order.data[k]);
  if (ok) order(&o);
  if (ok && g->order.n && o.n_order == g->order.n)
    memcpy(g->order.data, o.order, (size_t)g->order.n * sizeof *g->order.data);
  tn_arena_clear(&arena);
  return ok ? TN_OK : TN_ERR_MEMORY;
}

/* ---- until when ---- */

/* Does the node read memory that the island writes? Views are what they are views of. */
static bool reads(const tn_arrangement *r, const tn_gnode *n, const tn_gnode *island) {
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    for (uint32_t i = 0; n->node.inputs[k] >= 0 && i < island->node.n_outputs; i++)
      if (island->node.outputs[i] >= 0 &&
          r->root[n->node.inputs[k]] == r->root[island->node.outputs[i]])
        return true;
  return false;
}

/* When the island has to have ended; 0: nothing runs beside it. */
static int32_t until(const tn_arrangement *r, int32_t node) {
  const tn_gnode *island = tn_graph_node(r->g, node);
  int32_t end = r->end;
  bool others = false;
  for (int64_t k = 0; k < r->g->order.n; k++) {
    const int32_t id = r->g->order.data[k];
    const tn_gnode *n = tn_graph_node(r->g, id);
    if (r->leader[id] < 0 || r->time[id] <= r->time[node] || r->time[id] >= end) continue;
    if (reads(r, n, island) || (n->island && n->island->loaded == island->island->loaded))
      end = r->time[id];
  }
  for (int64_t k = 0; k < r->g->order.n && !others; k++) {
    const int32_t id = r->g->order.data[k];
    others = r->leader[id] == id && r->time[id] > r->time[node] && r->time[id] < end;
  }
  return others ? end : 0;
}

void tn_arrange_until(tn_arrangement *r) {
  for (int64_t k = 0; k < r->g->order.n; k++) {
    const int32_t id = r->g->order.data[k];
    if (has_halves(tn_graph_node(r->g, id))) r->until[id] = until(r, id);
  }
}
