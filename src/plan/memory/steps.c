/* Arranging: the decision written down as slots and steps; subgraphs become callables. */
#include <stdlib.h>
#include <string.h>

#include "accelerator/accelerator.h"
#include "base/abi.h"
#include "graph/core_ops.h"
#include "plan/memory/arrange.h"
#include "plan/select/match.h"

/* ---- slots ---- */

/* The same type with other data: most slots have that of their value. */
static tn_status give_type(tn_arrangement *r, tn_slot *slot, const tn_tensor *type, void *data) {
  slot->type = type;
  if (type->data == data) return TN_OK;
  tn_tensor *own = tn_arena_copy(&r->plan->arena, type, sizeof *own);
  if (!own) return TN_ERR_MEMORY;
  own->data = data;
  slot->type = own;
  return TN_OK;
}

static tn_status fill_slot(tn_arrangement *r, int32_t value) {
  const tn_value *v = tn_graph_val(r->g, value);
  tn_slot *slot = &r->plan->slots[value];
  int32_t root = r->root[value];
  slot->name = v->name;
  void *data = v->constant ? v->type->data : NULL;
  slot->alias_of = -1;
  slot->device = r->on[value];
  slot->constant = v->constant;
  if (root != value) {
    slot->alias_of = root;
    slot->place = r->plan->slots[root].place;
    slot->index = r->plan->slots[root].index;
    slot->offset = r->inside[value];
  }
  if (slot->place == TN_PLACE_CONST && root != value) {
    slot->constant = tn_graph_val(r->g, root)->constant;
    data = (uint8_t *)tn_graph_val(r->g, root)->type->data + slot->offset;
  }
  if (slot->place == TN_PLACE_ARENA && r->buffer[root] < 0)
    slot->place = TN_PLACE_NONE;
  else if (slot->place == TN_PLACE_ARENA)
    slot->offset = r->live_ranges.data[r->buffer[root]].offset + r->inside[value];
  return give_type(r, slot, v->type, data);
}

static tn_status copy_ids(tn_arena *arena, const int32_t *ids, int64_t n, int32_t **out) {
  *out = tn_arena_alloc(arena, (uint64_t)tn_max_i64(n, 1) * sizeof **out);
  if (!*out) return TN_ERR_MEMORY;
  if (n) memcpy(*out, ids, (size_t)n * sizeof **out);
  return TN_OK;
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t) * (const tn_const *const *)a,
                  y = (uintptr_t) * (const tn_const *const *)b;
  return (x > y) - (x < y);
}

/* Bytes of the constants in use; several values may share one. */
static tn_status sum_constants(tn_arrangement *r) {
  const tn_const **used = tn_arena_alloc(&r->arena, ((uint64_t)r->n_values + 1) * sizeof *used);
  size_t n = 0;
  if (!used) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < r->n_values; k++) {
    const tn_value *v = tn_graph_val(r->g, k);
    if (v->constant && (v->users.n || v->flags & TN_VALUE_OUTPUT)) used[n++] = v->constant;
  }
  qsort((void *)used, n, sizeof *used, by_address);
  for (size_t k = 0; k < n; k++)
    if (k == 0 || used[k] != used[k - 1]) r->plan->const_bytes += used[k]->bytes;
  return TN_OK;
}

tn_status tn_arrange_slots(tn_arrangement *r) {
  tn_plan *plan = r->plan;
  tn_status status = TN_OK;
  for (int32_t k = 0; k < r->n_values && !status; k++)
    if (r->root[k] == k) status = fill_slot(r, k);
  for (int32_t k = 0; k < r->n_values && !status; k++)
    if (r->root[k] != k) status = fill_slot(r, k);
  plan->n_inputs = (int32_t)r->g->inputs.n;
  plan->n_outputs = (int32_t)r->g->outputs.n;
  if (!status) status = sum_constants(r);
  if (!status) status = copy_ids(&plan->arena, r->g->inputs.data, r->g->inputs.n, &plan->inputs);
  return status ? status
                : copy_ids(&plan->arena, r->g->outputs.data, r->g->outputs.n, &plan->outputs);
}

/* ---- subgraphs ---- */

static const char *subgraph_name(tn_arrangement *r, const tn_gnode *n, uint32_t index) {
  const tn_schema *schema = &n->def->schema;
  const char *attr = "a subgraph";
  uint32_t seen = 0;
  for (int32_t k = 0; k < schema->n_args; k++)
    if (schema->args[k].base == TN_TYPE_GRAPH && seen++ == index) attr = schema->args[k].name;
  char text[TN_NODE_TEXT];
  return tn_arena_format(&r->plan->arena, "%s of %s", attr,
                         tn_node_text(r->g, n, text, sizeof text));
}

/* Captured values become inputs after the formal ones. What the file says about shapes of formal
 * inputs does not bind: in loops they may change from round to round. */
static tn_status open_inputs(const tn_graph *outer, tn_graph *sub, tn_capture *captures,
                             uint32_t *out_n) {
  uint32_t n = 0;
  for (int64_t k = 0; k < sub->inputs.n; k++) {
    tn_value *v = tn_graph_val(sub, sub->inputs.data[k]);
    if (v->constant) continue;
    tn_tensor open = *v->type;
    open.rank = TN_RANK_UNKNOWN;
    if (tn_graph_set_type(sub, sub->inputs.data[k], &open)) return TN_ERR_MEMORY;
    v->known = false;
  }
  for (int64_t k = 0; k < sub->captures.n; k++) {
    tn_capture c = sub->captures.data[k];
    tn_value *inner = tn_graph_val(sub, c.inner);
    const tn_value *from = tn_graph_val(outer, c.outer);
    if (from->constant) {
      tn_status status = tn_graph_set_const(sub, c.inner, from->type, from->constant);
      if (status) return status;
      continue;
    }
    inner->flags |= TN_VALUE_INPUT;
    if (tn_graph_set_type(sub, c.inner, from->type)) return TN_ERR_MEMORY;
    inner->known = from->known;
    captures[n++] = (tn_capture){(int32_t)sub->inputs.n, c.outer, c.input};
    if (tn_vec_push(sub->a, &sub->inputs, c.inner)) return TN_ERR_MEMORY;
  }
  sub->captures.n = 0;
  *out_n = n;
  return TN_OK;
}

static tn_status make_body(tn_arrangement *r, const tn_gnode *n, uint32_t index,
                           tn_step_body *body) {
  const char *name = subgraph_name(r, n, index);
  tn_graph *sub = name ? tn_graph_clone(n->subgraphs[index]) : NULL;
  if (!sub) return TN_ERR_MEMORY;
  tn_capture *captures =
      tn_arena_alloc(&r->plan->arena, ((uint64_t)sub->captures.n + 1) * sizeof *captures);
  tn_status status = captures ? open_inputs(r->g, sub, captures, &body->n_captures) : TN_ERR_MEMORY;
  body->captures = captures;
  const tn_planner *p = tn_is_core_op(n, TN_CORE_ISLAND) && r->p->home ? r->p->home : r->p;
  if (!status) return tn_callable_create_take(p, sub, name, r->diag, &body->callable);
  tn_graph_free(sub);
  return status;
}

static tn_status fill_bodies(tn_arrangement *r, const tn_gnode *n, tn_step *step) {
  if (!n->n_subgraphs) return TN_OK;
  step->bodies = tn_arena_alloc(&r->plan->arena, n->n_subgraphs * sizeof *step->bodies);
  if (!step->bodies) return TN_ERR_MEMORY;
  step->n_bodies = n->n_subgraphs;
  tn_status status = TN_OK;
  for (uint32_t k = 0; k < n->n_subgraphs && !status; k++)
    status = make_body(r, n, k, &step->bodies[k]);
  return status;
}

/* ---- steps ---- */

static uint64_t packed_inputs(const tn_gnode *n, const tn_choice *c) {
  const uint32_t n_formal = (uint32_t)tn_node_n_given(n, n->def);
  uint64_t packed = 0;
  if (!c->plan.state_bytes) return 0;
  for (uint32_t k = 0; k < n_formal && k < 64; k++) {
    const tn_accept *row = tn_kernel_accept_input(c->def, n->def, k, n_formal);
    if (row && row->flags & TN_ACCEPT_PACKED) packed |= UINT64_C(1) << k;
  }
  return packed;
}

static tn_status fill_step(tn_arrangement *r, int32_t id, tn_step *step) {
  const tn_gnode *n = tn_graph_node(r->g, id);
  const tn_choice *c = n->choice;
  *step = (tn_step){.node = n, .choice = c, .packed = packed_inputs(n, c)};
  if (c->device && !(step->device = tn_arena_alloc(&r->plan->arena, sizeof *step->device)))
    return TN_ERR_MEMORY;
  if (step->device) *step->device = (tn_device_step){.device = c->device, .segment = -1};
  if (r->scratch[id] >= 0) step->scratch_offset = r->live_ranges.data[r->scratch[id]].offset;
  if (r->worker_scratch[id] >= 0)
    step->worker_scratch_offset = r->live_ranges.data[r->worker_scratch[id]].offset;
  tn_status status = fill_bodies(r, n, step);
  if (!status) status = tn_arrange_want_packed(r, id, step);
  step->time = r->time[id];
  step->until = r->until[id];
  r->plan->n_beside += step->until > 0;
  r->plan->cost_ns += c->cost_ns;
  r->plan->flops += c->flops;
  return status;
}

static tn_status fill_followers(tn_arrangement *r, int32_t leader, tn_step *step) {
  uint32_t n = 0;
  for (int32_t id = r->next[leader]; id >= 0; id = r->next[id]) n++;
  if (!n) return TN_OK;
  tn_step *followers = tn_arena_alloc(&r->plan->arena, n * sizeof *followers);
  const char **ops = tn_arena_alloc(&r->plan->arena, n * sizeof *ops);
  if (!followers || !ops) return TN_ERR_MEMORY;
  step->followers = followers;
  step->follower_ops = ops;
  for (int32_t id = r->next[leader]; id >= 0; id = r->next[id]) {
    ops[step->n_followers] = tn_graph_node(r->g, id)->node.op;
    tn_status status = fill_step(
        r, id, &followers[step->n_followers++]); /* counted even if it fails: it may own a state */
    if (status) return status;
  }
  return TN_OK;
}

tn_status tn_arrange_steps(tn_arrangement *r) {
  tn_plan *plan = r->plan;
  plan->steps = tn_arena_alloc(&plan->arena, ((uint64_t)r->g->order.n + 1) * sizeof *plan->steps);
  if (!plan->steps) return TN_ERR_MEMORY;
  tn_status status = TN_OK;
  for (int64_t k = 0; k < r->g->order.n && !status; k++) {
    int32_t id = r->g->order.data[k];
    if (r->leader[id] != id) continue;
    tn_step *step = &plan->steps[plan->n_steps++];
    status = fill_step(r, id, step);
    if (!status) status = fill_followers(r, id, step);
  }
  if (!status) status = tn_arrange_prepare(r);
  return status || !r->plan->devices ? status : tn_arrange_residents(r);
}
