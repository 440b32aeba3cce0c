/* The head/continuation cut. Both halves begin as copies of the whole; each loses the other's
 * nodes. Values that cross become outputs of the head and inputs of the continuation; constants are
 * shared. */
#include "plan/dynamic/continuation.h"

typedef struct splitter {
  tn_graph *head, *continuation;
  uint8_t *in_continuation; /* per node */
  TN_VEC(int32_t) crossing; /* values that the continuation reads */
  tn_split *split;
  tn_arena *arena;
} splitter;

static bool made_by_continuation(const splitter *s, int32_t value) {
  int32_t producer = tn_graph_val(s->head, value)->producer;
  return producer >= 0 && s->in_continuation[producer];
}

static tn_status find_crossing(splitter *s) {
  for (int32_t value = 0; value < (int32_t)s->head->values.n; value++) {
    const tn_value *v = tn_graph_val(s->head, value);
    if (v->constant || made_by_continuation(s, value)) continue;
    bool read = false;
    for (int64_t k = 0; k < v->users.n; k++) read = read || s->in_continuation[v->users.data[k]];
    if (read && tn_vec_push(s->head->a, &s->crossing, value)) return TN_ERR_MEMORY;
  }
  return TN_OK;
}

/* Removes the nodes whose mark is `which`; values they gave to others have no producer then. */
static tn_status remove_nodes(tn_graph *g, const uint8_t *in_continuation, uint8_t which) {
  for (int64_t k = g->order.n - 1; k >= 0; k--) {
    int32_t id = g->order.data[k];
    if (in_continuation[id] != which || !tn_graph_node(g, id)->alive) continue;
    tn_graph_detach_outputs(g, id);
    tn_status status = tn_graph_remove_node(g, id);
    if (status) return status;
  }
  return TN_OK;
}

static void clear_flags(tn_graph *g, uint32_t flag) {
  for (int64_t k = 0; k < g->values.n; k++) tn_graph_val(g, (int32_t)k)->flags &= ~flag;
}

static tn_status push_output(tn_graph *g, int32_t value, int32_t *out_index) {
  *out_index = (int32_t)g->outputs.n;
  tn_graph_val(g, value)->flags |= TN_VALUE_OUTPUT;
  return tn_vec_push(g->a, &g->outputs, value);
}

/* Outputs of the whole go to the half that makes them, in their order. */
static tn_status share_outputs(splitter *s) {
  tn_split *split = s->split;
  tn_status status = TN_OK;
  const int32_t *outputs = tn_arena_copy(s->arena, s->head->outputs.data,
                                         ((uint64_t)s->head->outputs.n) * sizeof *outputs);
  if (!outputs && split->n_outputs) return TN_ERR_MEMORY;
  s->head->outputs.n = s->continuation->outputs.n = 0;
  clear_flags(s->head, TN_VALUE_OUTPUT);
  clear_flags(s->continuation, TN_VALUE_OUTPUT);
  for (int32_t k = 0; k < split->n_outputs && !status; k++) {
    bool continuation = made_by_continuation(s, outputs[k]);
    split->head_outputs[k] = split->continuation_outputs[k] = -1;
    status = continuation
                 ? push_output(s->continuation, outputs[k], &split->continuation_outputs[k])
                 : push_output(s->head, outputs[k], &split->head_outputs[k]);
  }
  return status;
}

static int32_t index_of(const int32_t *ids, int64_t n, int32_t id) {
  for (int64_t k = 0; k < n; k++)
    if (ids[k] == id) return (int32_t)k;
  return -1;
}

static tn_status link_inputs(splitter *s) {
  tn_split *split = s->split;
  split->n_inputs = (int32_t)s->crossing.n;
  split->from_input =
      tn_arena_alloc(s->arena, ((uint64_t)s->crossing.n + 1) * sizeof *split->from_input);
  split->from_output =
      tn_arena_alloc(s->arena, ((uint64_t)s->crossing.n + 1) * sizeof *split->from_output);
  if (!split->from_input || !split->from_output) return TN_ERR_MEMORY;
  s->continuation->inputs.n = 0;
  clear_flags(s->continuation, TN_VALUE_INPUT);
  tn_status status = TN_OK;
  for (int64_t k = 0; k < s->crossing.n && !status; k++) {
    int32_t value = s->crossing.data[k];
    tn_value *inner = tn_graph_val(s->continuation, value);
    inner->flags |= TN_VALUE_INPUT;
    split->from_input[k] = index_of(s->head->inputs.data, s->head->inputs.n, value);
    split->from_output[k] = index_of(s->head->outputs.data, s->head->outputs.n, value);
    if (split->from_input[k] < 0 && split->from_output[k] < 0)
      status = push_output(s->head, value, &split->from_output[k]);
    if (!status) status = tn_vec_push(s->continuation->a, &s->continuation->inputs, value);
  }
  return status;
}

static tn_status split(splitter *s) {
  tn_status status = find_crossing(s);
  if (!status) status = share_outputs(s);
  if (!status) status = link_inputs(s);
  if (!status) status = remove_nodes(s->continuation, s->in_continuation, 0);
  if (!status) status = remove_nodes(s->head, s->in_continuation, 1);
  if (!status) status = tn_graph_sort(s->continuation, NULL);
  return status ? status : tn_graph_sort(s->head, NULL);
}

/* Data that the continuation's shapes depend on are part of the key of its plans. */
static tn_status make_continuation(const tn_planner *p, splitter *s, const tn_cut *cut,
                                   const char *name, tn_diag *diag) {
  tn_graph *graph = s->continuation;
  s->continuation = NULL;
  tn_status status = tn_callable_create_take(p, graph, name, diag, &s->split->continuation);
  for (int64_t k = 0; k < cut->needed.n && !status; k++) {
    int32_t input = index_of(s->crossing.data, s->crossing.n, cut->needed.data[k]);
    if (input >= 0) s->split->continuation->needs_data[input] = 1;
  }
  return status;
}

static tn_status mark_nodes(splitter *s, const tn_cut *cut, tn_diag *diag) {
  int64_t n_continuation = 0, n_all = 0;
  for (int64_t k = 0; k < cut->continuation.n; k++) {
    if (!tn_graph_node(s->head, cut->continuation.data[k])->alive) continue;
    s->in_continuation[cut->continuation.data[k]] = 1;
    n_continuation++;
  }
  for (int64_t k = 0; k < s->head->order.n; k++)
    n_all += tn_graph_node(s->head, s->head->order.data[k])->alive;
  if (n_continuation < n_all || !n_all) return TN_OK;
  char text[TN_NODE_TEXT];
  return tn_fail(
      diag, TN_ERR_SHAPE,
      "%s: its shapes cannot be worked out from the types and data of its inputs",
      tn_node_text(s->head, tn_graph_node(s->head, s->head->order.data[0]), text, sizeof text));
}

tn_status tn_split_make(const tn_planner *p, tn_graph *g, const tn_cut *cut, const char *name,
                        tn_arena *arena, tn_diag *diag, tn_split *out_split) {
  *out_split = (tn_split){.n_outputs = (int32_t)g->outputs.n};
  out_split->head_outputs =
      tn_arena_alloc(arena, ((uint64_t)g->outputs.n + 1) * sizeof *out_split->head_outputs);
  out_split->continuation_outputs =
      tn_arena_alloc(arena, ((uint64_t)g->outputs.n + 1) * sizeof *out_split->continuation_outputs);
  splitter s = {.head = g, .split = out_split, .arena = arena};
  s.in_continuation = tn_arena_alloc(arena, (uint64_t)g->nodes.n + 1);
  if (!out_split->head_outputs || !out_split->continuation_outputs || !s.in_continuation)
    return TN_ERR_MEMORY;
  for (int32_t k = 0; k < out_split->n_outputs; k++) {
    out_split->head_outputs[k] = k;
    out_split->continuation_outputs[k] = -1;
  }
  if (!cut->continuation.n) return TN_OK;
  tn_note_feature(p->features, TN_FEATURE_CONTINUATIONS);
  if (!tn_has_feature(p->features, TN_FEATURE_CONTINUATIONS))
    return tn_fail(diag, TN_ERR_UNSUPPORTED, "%s: " TN_WITHOUT_CONTINUATIONS, name);
  tn_status status = mark_nodes(&s, cut, diag);
  g->n_settled = 0; /* inputs and outputs of the parts are others */
  if (!status && !(s.continuation = tn_graph_clone(g))) status = TN_ERR_MEMORY;
  if (!status) status = split(&s);
  if (!status) status = make_continuation(p, &s, cut, name, diag);
  tn_graph_free(s.continuation);
  tn_vec_free(g->a, &s.crossing);
  return status;
}

tn_status tn_split_wire(tn_split *split, tn_plan *plan) {
  if (!split->continuation) return TN_OK;
  tn_arena *arena = &plan->arena;
  int32_t *outputs = tn_arena_alloc(arena, ((uint64_t)split->n_outputs + 1) * sizeof *outputs);
  plan->continuation_outputs = tn_arena_copy(arena, split->continuation_outputs,
                                             ((uint64_t)split->n_outputs + 1) * sizeof *outputs);
  plan->continuation_inputs =
      tn_arena_alloc(arena, ((uint64_t)split->n_inputs + 1) * sizeof *plan->continuation_inputs);
  if (!outputs || !plan->continuation_outputs || !plan->continuation_inputs) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < split->n_outputs; k++)
    outputs[k] = split->head_outputs[k] < 0 ? -1 : plan->outputs[split->head_outputs[k]];
  plan->n_continuation_inputs = split->n_inputs;
  for (int32_t k = 0; k < split->n_inputs; k++)
    plan->continuation_inputs[k] = split->from_input[k] >= 0 ? plan->inputs[split->from_input[k]]
                                                             : plan->outputs[split->from_output[k]];
  plan->outputs = outputs;
  plan->n_outputs = split->n_outputs;
  plan->continuation = split->continuation;
  split->continuation = NULL;
  return TN_OK;
}
