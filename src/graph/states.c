/* States of a graph: what a run leaves to the next one. Here they are noted; sessions keep the
 * values (exec/states.c). */
#include <string.h>

#include "base/abi.h"
#include "graph/graph.h"

static bool is_value(const tn_graph *g, int32_t v) { return g && v >= 0 && v < g->values.n; }

/* ---- building ---- */

static const char *refuse_state(const tn_graph *g, const char *name, int32_t before,
                                int32_t initial) {
  if (!name || !*name) return "state_new: it has no name";
  if (!is_value(g, before) || (initial != TN_NO_ID && !is_value(g, initial)))
    return "state_new: no value of the graph";
  const tn_value *v = tn_graph_val(g, before);
  if (v->producer >= 0 || v->flags) return "state_new: the value has another source already";
  if (v->type->kind != TN_KIND_TENSOR || v->type->dtype == TN_NONE || v->type->dtype == TN_STRING)
    return "state_new: its value is no tensor of numbers";
  const tn_value *first = initial < 0 ? NULL : tn_graph_val(g, initial);
  if (!first && tn_storage_bytes(v->type) < 0)
    return "state_new: without an initial value all dims must be known";
  if (first && (!first->constant || first->type->dtype != v->type->dtype))
    return "state_new: the initial value is no constant of its dtype";
  for (int64_t k = 0; k < g->states.n; k++)
    if (!strcmp(g->states.data[k].name, name)) return "state_new: there is one of this name";
  return NULL;
}

int32_t tn_graph_state_new(tn_graph *g, const char *name, int32_t before, int32_t initial) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!g || g->parent || g->lowering >= 0)
    return tn_graph_refuse(g, TN_ERR_STATE, "state_new: states are those of the model");
  const char *rule = refuse_state(g, name, before, initial);
  if (rule) return tn_graph_refuse(g, TN_ERR_INVALID, rule);
  const tn_state s = {tn_arena_str(&g->arena, name), before, before, initial};
  if (!s.name || tn_vec_push(g->a, &g->states, s)) return TN_ERR_MEMORY;
  tn_graph_val(g, before)->flags |= TN_VALUE_INPUT;
  return (int32_t)g->states.n - 1;
}

tn_status tn_graph_state_set(tn_graph *g, int32_t state, int32_t after) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!is_value(g, after) || state < 0 || state >= g->states.n)
    return tn_graph_refuse(g, TN_ERR_INVALID, "state_set: no state, or no value of the graph");
  g->states.data[state].after = after;
  return TN_OK;
}

/* ---- reading ---- */

int32_t tn_graph_n_states(const tn_graph *g) { return (int32_t)g->states.n; }

tn_status tn_graph_state_at(const tn_graph *g, int32_t index, tn_state_info *out) {
  if (index < 0 || index >= g->states.n) return TN_ERR_NOT_FOUND;
  const tn_state *s = &g->states.data[index];
  const tn_state_info info = {TN_HEAD(tn_state_info), s->name, s->before, s->after, s->initial, 0};
  return tn_struct_out(out, &info, sizeof info);
}

/* ---- as inputs and outputs ---- */

/* A value that is something else to the outside already is copied, but for the state itself. */
static tn_status add_after(tn_graph *g, int32_t before, int32_t after) {
  const uint32_t flags = tn_graph_val(g, after)->flags;
  const bool is_taken =
      after != before && flags & (TN_VALUE_INPUT | TN_VALUE_OUTPUT | TN_VALUE_CONST);
  int32_t value = is_taken ? tn_graph_value(g, NULL) : after;
  if (value < 0) return value;
  const tn_node copy = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "Identity",
                        .inputs = &after,
                        .n_inputs = 1,
                        .outputs = &value,
                        .n_outputs = 1,
                        .version = TN_VERSION_NEWEST,
                        .offset = -1};
  const int32_t id = is_taken ? tn_graph_add_node(g, &copy) : 0;
  if (id < 0 || tn_vec_push(g->a, &g->outputs, value)) return id < 0 ? id : TN_ERR_MEMORY;
  tn_graph_val(g, value)->flags |= TN_VALUE_OUTPUT;
  return TN_OK;
}

tn_status tn_graph_settle_states(tn_graph *g) {
  tn_status status = TN_OK;
  for (int64_t k = 0; k < g->states.n && !status; k++) {
    const tn_state s = g->states.data[k];
    status = tn_vec_push(g->a, &g->inputs, s.before);
    if (!status) status = add_after(g, s.before, s.after);
  }
  g->n_settled += (int32_t)g->states.n;
  g->states.n = 0;
  return status ? status : tn_graph_sort(g, NULL);
}
