/* Selection, last part: brings the decision into the graph. Values take the forms that their
 * producers give; every node gets its choice with the reasons of all other kernels. */
#include <string.h>

#include "accelerator/accelerator.h"
#include "device/device.h"
#include "graph/core_ops.h"
#include "plan/select/select.h"

/* ---- choices ---- */

static tn_status keep_refusals(tn_selection *s, int32_t node, const tn_candidate *chosen,
                               tn_choice *choice) {
  tn_node_options *o = &s->nodes[node];
  tn_arena *arena = &s->g->arena;
  const uint32_t n_devices = s->p->n_devices, n_accelerators = s->p->n_accelerators;
  const char *const *declined = tn_graph_node(s->g, node)->declined;
  tn_refusal *list = tn_arena_alloc(arena, ((uint64_t)o->refusals.n + (uint64_t)o->candidates.n +
                                            n_devices + n_accelerators + 1) *
                                               sizeof *list);
  if (!list) return TN_ERR_MEMORY;
  uint32_t n = 0;
  for (uint32_t k = 1; k <= n_devices && !chosen->device; k++)
    list[n++] = (tn_refusal){s->p->devices[k - 1]->name, o->away[k], NULL};
  for (uint32_t k = 0; k < n_accelerators && declined; k++)
    if (declined[k]) list[n++] = (tn_refusal){s->p->accelerators[k]->name, declined[k], NULL};
  for (int64_t k = 0; k < o->candidates.n; k++) {
    const tn_candidate *c = &o->candidates.data[k];
    bool listed = c->def == chosen->def;
    for (uint32_t j = 0; j < n; j++) listed = listed || list[j].def == c->def;
    if (listed) continue;
    const char *reason =
        tn_select_reason(s, "would cost %.2f us instead of %.2f us, or more in conversions",
                         c->cost_ns / 1e3, chosen->cost_ns / 1e3);
    if (!reason || tn_select_refusal(s, c->def, reason, &list[n])) return TN_ERR_MEMORY;
    n++;
  }
  uint32_t n_candidates = n;
  for (int64_t k = 0; k < o->refusals.n; k++) {
    bool listed = o->refusals.data[k].def && o->refusals.data[k].def == chosen->def;
    for (uint32_t j = 0; j < n_candidates; j++)
      listed = listed || (list[j].def && list[j].def == o->refusals.data[k].def);
    if (!listed) list[n++] = o->refusals.data[k];
  }
  choice->refusals = list;
  choice->n_refusals = n;
  return TN_OK;
}

void tn_choice_set_chunks(tn_choice *choice) {
  enum { CHUNK_NS = 6000 };
  const tn_kernel_plan *plan = &choice->plan;
  for (uint32_t k = 0; k < plan->n_stages; k++)
    if (plan->cost_ns > 0 && plan->items[k] > 0)
      choice->chunk[k] = tn_grain(CHUNK_NS, plan->cost_ns / (double)plan->items[k]);
}

static tn_status set_choice(tn_selection *s, int32_t node) {
  const tn_node_options *o = &s->nodes[node];
  const tn_candidate *c = &o->candidates.data[o->chosen];
  if (o->like >= 0 && s->nodes[o->like].chosen == o->chosen) {
    tn_graph_node(s->g, node)->choice = tn_graph_node(s->g, o->like)->choice;
    return TN_OK;
  }
  tn_choice *choice = tn_arena_alloc(&s->g->arena, sizeof *choice);
  if (!choice) return TN_ERR_MEMORY;
  tn_status status = tn_holder_use(s->p->holder, c->def->owner);
  if (status) return status;
  tn_note_use(&c->def->uses, TN_USE_TAKEN);
  *choice = (tn_choice){.def = c->def,
                        .device = c->device,
                        .plan = c->plan,
                        .flops = o->flops,
                        .cost_ns = c->cost_ns};
  tn_choice_set_chunks(choice);
  tn_graph_node(s->g, node)->choice = choice;
  return keep_refusals(s, node, c, choice);
}

/* ---- nodes and outputs ---- */

static void set_homes(tn_applier *a) {
  tn_graph *g = a->s->g;
  for (int32_t k = 0; k < a->s->n_values; k++) a->home[k] = tn_select_original(a->s, k);
  for (int64_t k = 0; k < g->order.n; k++) {
    const tn_node *n = &tn_graph_node(g, g->order.data[k])->node;
    const tn_node_options *o = &a->s->nodes[g->order.data[k]];
    for (uint32_t j = 0; j < n->n_outputs; j++)
      if (n->outputs[j] >= 0) a->home[n->outputs[j]] = o->candidates.data[o->chosen].out[j];
  }
}

static tn_status wire_node(tn_applier *a, int32_t node) {
  tn_selection *s = a->s;
  const tn_candidate *c = &s->nodes[node].candidates.data[s->nodes[node].chosen];
  for (uint32_t k = 0; k < tn_graph_node(s->g, node)->node.n_inputs; k++) {
    int32_t value = tn_graph_node(s->g, node)->node.inputs[k];
    if (value < 0) continue;
    int32_t is = tn_select_place(a, value, c->in[k]);
    tn_status status = is < 0        ? is
                       : is == value ? TN_OK
                                     : tn_graph_set_node_input(s->g, node, k, is);
    if (status) return status;
  }
  return TN_OK;
}

/* Outputs are as the model says: plain, in their own dtype. The name goes with them. */
static tn_status wire_output(tn_applier *a, int64_t index, tn_form wanted) {
  tn_graph *g = a->s->g;
  int32_t value = g->outputs.data[index];
  int32_t is = tn_select_place(a, value, wanted);
  if (is < 0) return is;
  if (is == value) return TN_OK;
  g->outputs.data[index] = is;
  tn_graph_val(g, is)->flags |= TN_VALUE_OUTPUT;
  tn_graph_val(g, value)->flags &= ~(uint32_t)TN_VALUE_OUTPUT;
  return tn_graph_move_name(g, value, is);
}

static tn_status wire(tn_applier *a) {
  tn_selection *s = a->s;
  tn_graph *g = s->g;
  tn_status status = TN_OK;
  tn_form *wanted = tn_arena_alloc(&s->arena, ((uint64_t)g->outputs.n + 1) * sizeof *wanted);
  if (!wanted) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < g->outputs.n; k++) wanted[k] = tn_select_original(s, g->outputs.data[k]);
  for (int32_t k = 0; k < s->n_values && !status; k++) {
    if (tn_graph_val(g, k)->producer < 0) continue;
    tn_tensor type = *tn_graph_val(g, k)->type;
    type.dtype = a->home[k].dtype;
    type.layout = a->home[k].layout;
    status = tn_graph_set_type(g, k, &type);
  }
  int64_t n = g->order.n; /* conversions are appended */
  for (int64_t k = 0; k < n && !status; k++) status = wire_node(a, g->order.data[k]);
  for (int64_t k = 0; k < g->outputs.n && !status; k++) status = wire_output(a, k, wanted[k]);
  for (int64_t k = 0; k < n && !status; k++) status = set_choice(s, g->order.data[k]);
  return status;
}

tn_status tn_select_apply(tn_selection *s) {
  tn_applier a = {.s = s};
  a.home = tn_arena_alloc(&s->arena, ((uint64_t)s->n_values + 1) * sizeof *a.home);
  if (!a.home) return TN_ERR_MEMORY;
  set_homes(&a);
  tn_status status = wire(&a);
  tn_vec_free(s->p->a, &a.placed);
  if (status) return status;
  s->g->unsorted = true;
  return tn_graph_sort(s->g, s->diag);
}
