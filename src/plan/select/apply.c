/* Selection, last part: brings the decision into the graph. Values take the forms that their
 * producers give; conversions become nodes, one per value and form; every node gets its choice
 * with the reasons of all other kernels. */
#include <string.h>

#include "accelerator/accelerator.h"
#include "device/device.h"
#include "graph/core_ops.h"
#include "plan/constants/packed.h"
#include "plan/select/select.h"

typedef struct placed { /* value `value` in form `form` is value `is` */
  int32_t value, is;
  tn_form form;
} placed;

typedef struct applier {
  tn_selection *s;
  TN_VEC(placed) placed;
  tn_form *home; /* per value of the graph as it was */
} applier;

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

/* To take a chunk of another thread's brings its data from core to core, too. */
static void set_chunks(tn_choice *choice) {
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
  set_chunks(choice);
  tn_graph_node(s->g, node)->choice = choice;
  return keep_refusals(s, node, c, choice);
}

/* ---- conversions ---- */

static tn_status no_way(const tn_selection *s, int32_t value, const tn_conversion *c) {
  const char *name = tn_graph_val(s->g, value)->name;
  if (c->from.device != c->to.device)
    return tn_fail(s->diag, TN_ERR_UNSUPPORTED,
                   "value '%s' is needed on another device, but tenon::Transfer cannot do that: %s",
                   name, c->reason);
  if (c->from.dtype == c->to.dtype)
    return tn_fail(
        s->diag, TN_ERR_UNSUPPORTED,
        "value '%s' is needed in layout %s instead of %s, but tenon::Reorder cannot do that: %s",
        name, tn_layout_text(c->to.layout), tn_layout_text(c->from.layout), c->reason);
  return tn_fail(s->diag, TN_ERR_UNSUPPORTED,
                 "value '%s' is needed as %s instead of %s, but tenon::Cast cannot do that: %s",
                 name, tn_dtype_name(c->to.dtype), tn_dtype_name(c->from.dtype), c->reason);
}

static int32_t new_value(tn_selection *s, int32_t like, tn_form form) {
  tn_tensor type = *tn_graph_val(s->g, like)->type;
  type.dtype = form.dtype;
  type.layout = form.layout;
  return tn_graph_value_of(s->g, &type, tn_graph_val(s->g, like)->known);
}

static const char *device_name(const tn_planner *p, uint32_t device) {
  return device ? p->devices[device - 1]->name : "cpu";
}

/* Adds the node that converts `from` (a value in c->from) and answers its output. */
static int32_t add_conversion(tn_selection *s, int32_t from, const tn_conversion *c) {
  const tn_opdef *op = c->from.device != c->to.device ? s->transfer
                       : c->from.dtype == c->to.dtype ? s->reorder
                                                      : s->cast;
  int32_t to = new_value(s, from, c->to);
  if (to < 0) return to;
  const char *source = tn_graph_val(s->g, from)->name;
  int64_t number = 0;
  const char *attribute = tn_select_attribute(s, op, c->to, &number);
  const char *name = tn_arena_format(&s->g->arena, "%s to %s", source,
                                     op == s->transfer ? device_name(s->p, c->to.device)
                                     : op == s->cast   ? tn_dtype_name(c->to.dtype)
                                                       : tn_layout_text(c->to.layout));
  tn_choice *choice = tn_arena_alloc(&s->g->arena, sizeof *choice);
  if (!name || !choice) return TN_ERR_MEMORY;
  const int32_t id = tn_graph_add_core(s->g, op->op.name, name, from, to, attribute, number);
  if (id < 0) return id;
  tn_status status = tn_holder_use(s->p->holder, op->owner);
  if (!status) status = tn_holder_use(s->p->holder, c->def->owner);
  if (!status) status = tn_node_bind(s->g, id, op, s->diag);
  const uint32_t device = c->to.device ? c->to.device : c->from.device;
  tn_note_use(&c->def->uses, TN_USE_TAKEN);
  *choice = (tn_choice){.def = c->def, .device = device, .plan = c->plan, .cost_ns = c->cost_ns};
  set_chunks(choice);
  tn_graph_node(s->g, id)->choice = choice;
  return status ? status : to;
}

static int32_t place_constant(tn_selection *s, int32_t value, tn_form form) {
  tn_tensor type;
  const tn_const *c = NULL;
  tn_status status = tn_select_constant(s, value, form, &type, &c);
  if (status) return status;
  if (!c) return TN_ERR_UNSUPPORTED;
  tn_const *made = NULL;
  for (int64_t k = 0; k < s->made.n; k++)
    if (s->made.data[k].constant == c) made = s->made.data[k].constant;
  if (s->p->states)
    tn_packed_keep_constant(s->p->states, tn_graph_val(s->g, value)->constant, &type, made);
  int32_t id = new_value(s, value, form);
  if (id < 0) return id;
  status = tn_graph_set_const(s->g, id, &type, made);
  return status ? status : id;
}

/* The value that holds `value` in this form; made where it is not there yet. Negative: a status. */
static int32_t in_form(applier *a, int32_t value, tn_form form) {
  tn_form home = a->home[value];
  if (tn_form_equal(home, form)) return value;
  for (int64_t k = 0; k < a->placed.n; k++)
    if (a->placed.data[k].value == value && tn_form_equal(a->placed.data[k].form, form))
      return a->placed.data[k].is;
  int32_t is;
  if (tn_graph_val(a->s->g, value)->constant) {
    is = place_constant(a->s, value, form);
  } else {
    tn_form before = tn_select_step_before(home, form);
    int32_t from = in_form(a, value, before);
    const tn_conversion *c = NULL;
    tn_status status = from < 0 ? from : tn_select_conversion(a->s, value, before, form, &c);
    if (status) return status;
    is = c->def ? add_conversion(a->s, from, c) : no_way(a->s, value, c);
  }
  placed p = {value, is, form};
  if (is >= 0 && tn_vec_push(a->s->p->a, &a->placed, p)) return TN_ERR_MEMORY;
  return is;
}

/* ---- nodes and outputs ---- */

static void set_homes(applier *a) {
  tn_graph *g = a->s->g;
  for (int32_t k = 0; k < a->s->n_values; k++) a->home[k] = tn_select_original(a->s, k);
  for (int64_t k = 0; k < g->order.n; k++) {
    const tn_node *n = &tn_graph_node(g, g->order.data[k])->node;
    const tn_node_options *o = &a->s->nodes[g->order.data[k]];
    for (uint32_t j = 0; j < n->n_outputs; j++)
      if (n->outputs[j] >= 0) a->home[n->outputs[j]] = o->candidates.data[o->chosen].out[j];
  }
}

static tn_status wire_node(applier *a, int32_t node) {
  tn_selection *s = a->s;
  const tn_candidate *c = &s->nodes[node].candidates.data[s->nodes[node].chosen];
  for (uint32_t k = 0; k < tn_graph_node(s->g, node)->node.n_inputs; k++) {
    int32_t value = tn_graph_node(s->g, node)->node.inputs[k];
    if (value < 0) continue;
    int32_t is = in_form(a, value, c->in[k]);
    tn_status status = is < 0        ? is
                       : is == value ? TN_OK
                                     : tn_graph_set_node_input(s->g, node, k, is);
    if (status) return status;
  }
  return TN_OK;
}

/* Outputs are as the model says: plain, in their own dtype. The name goes with them. */
static tn_status wire_output(applier *a, int64_t index, tn_form wanted) {
  tn_graph *g = a->s->g;
  int32_t value = g->outputs.data[index];
  int32_t is = in_form(a, value, wanted);
  if (is < 0) return is;
  if (is == value) return TN_OK;
  g->outputs.data[index] = is;
  tn_graph_val(g, is)->flags |= TN_VALUE_OUTPUT;
  tn_graph_val(g, value)->flags &= ~(uint32_t)TN_VALUE_OUTPUT;
  return tn_graph_move_name(g, value, is);
}

static tn_status wire(applier *a) {
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
  applier a = {.s = s};
  a.home = tn_arena_alloc(&s->arena, ((uint64_t)s->n_values + 1) * sizeof *a.home);
  if (!a.home) return TN_ERR_MEMORY;
  set_homes(&a);
  tn_status status = wire(&a);
  tn_vec_free(s->p->a, &a.placed);
  if (status) return status;
  s->g->unsorted = true;
  return tn_graph_sort(s->g, s->diag);
}
