/* Arranging: the graph becomes a plan. Views, then order, then memory, then slots and steps;
 * see arrange.h for the words. */
#include "plan/memory/arrange.h"

static void *ids(tn_arrangement *r, int32_t n) {
  return tn_arena_alloc(&r->arena, ((uint64_t)n + 1) * sizeof(int32_t));
}

static tn_status open(tn_arrangement *r) {
  r->n_values = r->plan->n_slots = (int32_t)r->g->values.n;
  r->n_nodes = (int32_t)r->g->nodes.n;
  r->time = ids(r, r->n_nodes);
  r->leader = ids(r, r->n_nodes);
  r->next = ids(r, r->n_nodes);
  r->tail = tn_arena_alloc(&r->arena, ((uint64_t)r->n_nodes + 1) * sizeof *r->tail);
  r->scratch = ids(r, r->n_nodes);
  r->worker_scratch = ids(r, r->n_nodes);
  r->place = ids(r, r->n_nodes);
  r->until = ids(r, r->n_nodes);
  r->on = ids(r, r->n_values);
  r->root = ids(r, r->n_values);
  r->first = ids(r, r->n_values);
  r->last = ids(r, r->n_values);
  r->last_reads = ids(r, r->n_values);
  r->buffer = ids(r, r->n_values);
  r->inside = tn_arena_alloc(&r->arena, ((uint64_t)r->n_values + 1) * sizeof *r->inside);
  r->plan->slots =
      tn_arena_alloc(&r->plan->arena, ((uint64_t)r->n_values + 1) * sizeof *r->plan->slots);
  bool ok = r->place && r->until && r->on && r->time && r->leader && r->next && r->tail &&
            r->scratch && r->worker_scratch && r->root && r->first && r->last && r->last_reads &&
            r->buffer && r->inside && r->plan->slots;
  return ok ? TN_OK : TN_ERR_MEMORY;
}

static bool uses_devices(const tn_graph *g) {
  for (int64_t k = 0; k < g->order.n; k++)
    if (tn_graph_node(g, g->order.data[k])->choice->device) return true;
  return false;
}

/* What a transfer gives is on the other side; everything else is where it is made. */
static void place_on_devices(tn_arrangement *r) {
  for (int64_t k = 0; k < r->g->order.n; k++) {
    const int32_t id = r->g->order.data[k];
    const tn_gnode *n = tn_graph_node(r->g, id);
    r->place[id] = n->choice->device;
    for (uint32_t i = 0; i < n->node.n_outputs; i++)
      if (n->node.outputs[i] >= 0) r->on[n->node.outputs[i]] = tn_device_given(n);
  }
}

tn_status tn_pass_arrange(const tn_planner *p, tn_graph *g, tn_plan *plan, tn_diag *diag) {
  tn_arrangement r = {.p = p, .g = g, .plan = plan, .diag = diag};
  tn_arena_init(&r.arena, p->a);
  tn_status status = tn_graph_sort(g, diag);
  if (!status) status = p->n_devices ? tn_arrange_group(g, p) : tn_arrange_beside(g, p);
  if (!status) status = open(&r);
  if (!status && uses_devices(g)) {
    plan->devices = tn_arena_alloc(&plan->arena, sizeof *plan->devices);
    status = plan->devices ? TN_OK : TN_ERR_MEMORY;
  }
  if (!status) {
    place_on_devices(&r);
    tn_arrange_alias(&r);
    tn_arrange_order(&r);
    if (!p->n_devices) tn_arrange_until(&r);
    status = tn_arrange_memory(&r);
  }
  if (!status) status = tn_arrange_slots(&r);
  if (!status) status = tn_arrange_want_dynamic(&r);
  if (!status) status = tn_arrange_steps(&r);
  if (!status && plan->devices) status = tn_arrange_segments(&r);
  tn_vec_free(p->a, &r.live_ranges);
  tn_vec_free(p->a, &r.wants);
  tn_arena_clear(&r.arena);
  return status;
}
