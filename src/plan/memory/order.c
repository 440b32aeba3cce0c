/* Arranging: when nodes run, and which element-wise nodes follow the node before them: the host
 * runs those on each range as soon as it is written, while it is in the cache. */
#include <string.h>

#include "plan/memory/arrange.h"

/* The time at which the memory behind a value is complete: -1 for inputs and constants. */
static int32_t ready(const tn_arrangement *r, int32_t value) {
  int32_t producer = tn_graph_val(r->g, value)->producer;
  return producer < 0 ? -1 : r->time[producer];
}

/* As many followers as a step gets: each new one is compared with all before it. */
enum { MAX_FOLLOWERS = 64 };

static bool is_full(const tn_arrangement *r, int32_t leader) {
  return r->tail[leader].n_followers >= MAX_FOLLOWERS;
}

static void follow(tn_arrangement *r, int32_t leader, int32_t id) {
  r->next[r->tail[leader].node] = id;
  r->tail[leader].node = id;
  r->tail[leader].n_followers++;
  r->leader[id] = leader;
}

static bool is_serial(const tn_gnode *n) {
  return n->choice->def && n->choice->def->kernel.flags & TN_KERNEL_SERIAL;
}

static bool is_elementwise(const tn_arrangement *r, const tn_gnode *n) {
  const tn_kernel_plan *plan = &n->choice->plan;
  if (!(plan->flags & TN_PLAN_ELEMENTWISE) || plan->flags & TN_PLAN_DATA_DEPENDENT || is_serial(n))
    return false;
  if (plan->n_stages != 1 || n->node.n_outputs != 1 || n->node.outputs[0] < 0 || n->n_subgraphs)
    return false;
  const tn_tensor *out = tn_graph_val(r->g, n->node.outputs[0])->type;
  return r->plan->slots[n->node.outputs[0]].place == TN_PLACE_ARENA &&
         plan->items[0] == tn_storage_elements(out) && tn_dtype(out->dtype)->bits >= 8;
}

static bool writes_ranges(const tn_arrangement *r, int32_t node) {
  const tn_gnode *n = tn_graph_node(r->g, node);
  const tn_kernel_plan *plan = &n->choice->plan;
  return plan->elements_per_item > 0 && plan->n_stages == 1 && !n->n_subgraphs &&
         !(plan->flags & TN_PLAN_DATA_DEPENDENT) && !is_serial(n);
}

/* True if `value` is what the step of `leader` writes last, and nobody but the follower reads
 * it. */
static bool is_handed_on(const tn_arrangement *r, const tn_gnode *follower, int32_t value,
                         int32_t leader) {
  const tn_value *v = tn_graph_val(r->g, value);
  const tn_tensor *out = tn_graph_val(r->g, follower->node.outputs[0])->type;
  int32_t producer = v->producer;
  if (producer < 0 || producer != r->tail[leader].node ||
      tn_graph_node(r->g, producer)->node.outputs[0] != value)
    return false;
  if (v->users.n != 1 || v->flags & TN_VALUE_OUTPUT ||
      r->plan->slots[value].place != TN_PLACE_ARENA)
    return false;
  if (v->type->layout != out->layout || v->type->rank != out->rank ||
      tn_dtype(v->type->dtype)->bits < 8)
    return false;
  return !memcmp(v->type->shape, out->shape, sizeof *out->shape * (size_t)out->rank);
}

/* The step that a node can follow, -1: none. All else that it reads must be there when that step
 * begins. */
static int32_t leader_for(const tn_arrangement *r, const tn_gnode *n) {
  int32_t leader = -1, through = -1;
  if (n->choice->device || !is_elementwise(r, n)) return -1; /* devices have no followers */
  for (uint32_t k = 0; k < n->node.n_inputs; k++) {
    int32_t value = n->node.inputs[k],
            producer = value < 0 ? -1 : tn_graph_val(r->g, value)->producer;
    int32_t candidate = producer < 0 ? -1 : r->leader[producer];
    if (candidate < 0 || r->place[candidate] || !writes_ranges(r, candidate) ||
        is_full(r, candidate) || !is_handed_on(r, n, value, candidate))
      continue;
    if (leader >= 0 && r->time[candidate] < r->time[leader]) continue;
    leader = candidate;
    through = value;
  }
  for (uint32_t k = 0; leader >= 0 && k < n->node.n_inputs; k++) {
    int32_t value = n->node.inputs[k];
    if (value >= 0 && value != through && ready(r, value) >= r->time[leader]) return -1;
  }
  return leader;
}

/* A node that does not run is ready when the last of its inputs is. */
static int32_t time_of_view(const tn_arrangement *r, const tn_gnode *n) {
  int32_t time = -1;
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0 && ready(r, n->node.inputs[k]) > time)
      time = ready(r, n->node.inputs[k]);
  return time;
}

void tn_arrange_order(tn_arrangement *r) {
  bool may_follow = !(r->p->model_flags & TN_MODEL_NO_OPTIMIZE);
  for (int32_t k = 0; k < r->n_nodes; k++) {
    r->next[k] = -1;
    r->tail[k] = (tn_step_tail){.node = k};
  }
  for (int64_t k = 0; k < r->g->order.n; k++) {
    int32_t id = r->g->order.data[k];
    const tn_gnode *n = tn_graph_node(r->g, id);
    if (r->leader[id] < 0) {
      r->time[id] = time_of_view(r, n);
      continue;
    }
    int32_t leader = may_follow ? leader_for(r, n) : -1;
    r->time[id] = leader < 0 ? (int32_t)k : r->time[leader];
    if (leader >= 0) follow(r, leader, id);
  }
  r->end = (int32_t)r->g->order.n;
}
