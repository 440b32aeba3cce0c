/* Operators that run subgraphs: composites become functions of the model, WHILE Loop, IF If. */
#include <stdio.h>

#include "reader.h"
#include "tenon/kit/lower.h"

enum { MAX_DEPTH = 32, MAX_CARRIED = 1024 };

/* ---- subgraphs as parts of a graph ---- */

/* A subgraph that runs itself never ends. */
static tn_status enter(tflite_reader *r, int64_t index) {
  if (index < 0 || (uint64_t)index >= r->subgraphs.n)
    return tflite_fail(r, TN_ERR_INVALID, 0, "runs subgraph %lld of %llu", (long long)index,
                       (unsigned long long)r->subgraphs.n);
  if (r->depth == MAX_DEPTH)
    return tflite_fail(r, TN_ERR_OVERFLOW, 0,
                       "subgraphs run each other more than %d deep, or in a "
                       "circle",
                       MAX_DEPTH);
  r->depth++;
  return TN_OK;
}

/* Reads subgraph `index` into g, with these values in the place of its inputs; out: of its
 * outputs. */
static tn_status inline_subgraph(tflite_reader *r, int64_t index, tn_graph *g, const int32_t *in,
                                 uint64_t n_in, int32_t *out, uint64_t n_out) {
  tn_status status = enter(r, index);
  if (status) return status;
  const char *where = r->where;
  status = tflite_subgraph_inline(r, (uint64_t)index, g, in, n_in, out, n_out);
  r->where = where;
  r->depth--;
  return status;
}

static tn_status graph_fails(const tflite_reader *r, int32_t status) {
  return status == TN_ERR_MEMORY ? tflite_no_memory(r)
                                 : tflite_fail(r, status, 0, "its subgraph cannot be built");
}

static int32_t new_value(tflite_reader *r, tn_graph *g) { return r->api->value(g, NULL); }

/* Adds a copy of the value as an output: the same value may be two, or be an input, too. */
static tn_status add_output(tflite_reader *r, tn_graph *g, int32_t value) {
  const int32_t copy = new_value(r, g);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "Identity",
                        .name = "",
                        .inputs = &value,
                        .n_inputs = 1,
                        .outputs = &copy,
                        .n_outputs = 1,
                        .offset = -1};
  const int32_t id = copy < 0 ? copy : r->api->add_node(g, &node);
  const tn_status s = id < 0 ? id : r->api->add_output(g, copy);
  return s ? graph_fails(r, s) : TN_OK;
}

static tn_graph *graph_new(tflite_reader *r, tn_graph *g, tn_status *out_status) {
  tn_graph *made = r->api->subgraph_new(g);
  if (!made) *out_status = tflite_no_memory(r);
  return made;
}

static int64_t attr_of(const tflite_attrs *attrs, const char *name) {
  for (uint32_t k = 0; k < attrs->n; k++)
    if (!strcmp(attrs->attrs[k].name, name)) return attrs->attrs[k].i;
  return -1;
}

/* ---- WHILE ---- */

/* The body of the Loop: iteration and condition, which the body does not look at, and what is
 * carried; then the body's outputs, of which the condition is asked. */
static tn_status loop_body(const tflite_node *n, int64_t cond, int64_t body, tn_graph *g) {
  tflite_reader *r = n->s->r;
  const uint64_t count = n->n_inputs;
  int32_t in[MAX_CARRIED + 2], out[MAX_CARRIED], goes_on = 0;
  tn_status s = TN_OK;
  for (uint64_t k = 0; k < count + 2 && !s; k++) {
    in[k] = new_value(r, g);
    s = in[k] < 0 ? in[k] : r->api->add_input(g, in[k]);
  }
  if (s) return graph_fails(r, s);
  s = inline_subgraph(r, body, g, in + 2, count, out, count);
  if (!s) s = inline_subgraph(r, cond, g, out, count, &goes_on, 1);
  if (!s) s = add_output(r, g, goes_on);
  for (uint64_t k = 0; k < count && !s; k++) s = add_output(r, g, out[k]);
  return s;
}

tn_status tflite_while(const tflite_node *n) {
  tflite_reader *r = n->s->r;
  const int64_t cond = attr_of(n->attrs, "cond_subgraph_index"),
                body = attr_of(n->attrs, "body_subgraph_index");
  if (n->n_inputs != n->n_outputs || n->n_inputs > MAX_CARRIED)
    return tflite_fail(r, TN_ERR_INVALID, 0, "carries %llu values and gives %llu",
                       (unsigned long long)n->n_inputs, (unsigned long long)n->n_outputs);
  int32_t inputs[MAX_CARRIED + 2] = {TN_NO_ID};
  tn_status s = TN_OK;
  tn_graph *graph = graph_new(r, n->s->g, &s);
  if (!s) s = inline_subgraph(r, cond, n->s->g, n->inputs, n->n_inputs, &inputs[1], 1);
  if (!s) s = loop_body(n, cond, body, graph);
  if (s) return s;
  memcpy(inputs + 2, n->inputs, n->n_inputs * sizeof *inputs);
  const tn_attr a = tn_attr_graph("body", &graph), *attrs[] = {&a};
  return tflite_node_add(n, "", "Loop", inputs, n->n_inputs + 2, attrs, 1);
}

/* ---- IF ---- */

/* The branch sees what the operator reads by name. */
static tn_status branch(const tflite_node *n, int64_t index, tn_graph *g) {
  tflite_reader *r = n->s->r;
  int32_t in[MAX_CARRIED], out[MAX_CARRIED];
  for (uint64_t k = 1; k < n->n_inputs; k++) {
    const char *name = n->inputs[k] < 0 ? "" : r->api->value_name(n->s->g, n->inputs[k]);
    in[k - 1] = *name ? r->api->value(g, name) : TN_NO_ID;
    if (in[k - 1] < TN_NO_ID) return graph_fails(r, in[k - 1]);
  }
  tn_status s = inline_subgraph(r, index, g, in, n->n_inputs - 1, out, n->n_outputs);
  for (uint64_t k = 0; k < n->n_outputs && !s; k++) s = add_output(r, g, out[k]);
  return s;
}

tn_status tflite_if(const tflite_node *n) {
  tflite_reader *r = n->s->r;
  tn_status s = TN_OK;
  if (!n->n_inputs || n->n_inputs > MAX_CARRIED || n->n_outputs > MAX_CARRIED)
    return tflite_fail(r, TN_ERR_INVALID, 0, "has no condition, or too many values");
  tn_graph *graphs[2] = {graph_new(r, n->s->g, &s), NULL};
  if (!s) graphs[1] = graph_new(r, n->s->g, &s);
  if (!s) s = branch(n, attr_of(n->attrs, "then_subgraph_index"), graphs[0]);
  if (!s) s = branch(n, attr_of(n->attrs, "else_subgraph_index"), graphs[1]);
  if (s) return s;
  const tn_attr then_branch = tn_attr_graph("then_branch", &graphs[0]),
                else_branch = tn_attr_graph("else_branch", &graphs[1]),
                *attrs[] = {&then_branch, &else_branch};
  return tflite_node_add(n, "", "If", n->inputs, 1, attrs, 2);
}

/* ---- STABLEHLO_CASE ---- */

/* Which branch runs, `at` in this graph, is k? */
static int32_t is_branch(tflite_reader *r, tn_graph *g, int32_t at, int64_t k) {
  int32_t number = (int32_t)k;
  const tn_tensor data = tn_tensor_make(TN_I32, 0, NULL, &number);
  const int32_t same = new_value(r, g), inputs[] = {at, new_value(r, g)};
  if (same < 0 || inputs[1] < 0) return TN_ERR_MEMORY;
  const tn_status s = r->api->value_set_const(g, inputs[1], &data, 1);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "Equal",
                        .name = "",
                        .inputs = inputs,
                        .n_inputs = 2,
                        .outputs = &same,
                        .n_outputs = 1,
                        .offset = -1};
  const int32_t id = s ? s : r->api->add_node(g, &node);
  return id < 0 ? id : same;
}

/* The branches from the k-th on, as outputs of g: the last one runs for all other numbers. */
static tn_status cases_from(const tflite_node *n, const tn_ints *list, int64_t k, tn_graph *g) {
  tflite_reader *r = n->s->r;
  if (k == list->size - 1) return branch(n, list->data[k], g);
  const char *name = r->api->value_name(n->s->g, n->inputs[0]);
  const int32_t at = r->api->value(g, name), same = at < 0 ? at : is_branch(r, g, at, k);
  int32_t outputs[MAX_CARRIED];
  tn_status s = same < 0 ? graph_fails(r, same) : TN_OK;
  tn_graph *graphs[2] = {s ? NULL : graph_new(r, g, &s), NULL};
  if (!s) graphs[1] = graph_new(r, g, &s);
  if (!s) s = branch(n, list->data[k], graphs[0]);
  if (!s) s = cases_from(n, list, k + 1, graphs[1]);
  if (s) return s;
  for (uint64_t i = 0; i < n->n_outputs; i++) {
    outputs[i] = new_value(r, g);
    if (outputs[i] < 0) return tflite_no_memory(r);
  }
  const tn_attr then_branch = tn_attr_graph("then_branch", &graphs[0]),
                else_branch = tn_attr_graph("else_branch", &graphs[1]),
                *attrs[] = {&then_branch, &else_branch};
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "If",
                        .name = "",
                        .inputs = &same,
                        .n_inputs = 1,
                        .outputs = outputs,
                        .n_outputs = (uint32_t)n->n_outputs,
                        .attrs = attrs,
                        .n_attrs = 2,
                        .offset = (int64_t)n->at};
  const int32_t id = r->api->add_node(g, &node);
  if (id < 0) return graph_fails(r, id);
  for (uint64_t i = 0; i < n->n_outputs && !s; i++) s = r->api->add_output(g, outputs[i]);
  return s ? graph_fails(r, s) : TN_OK;
}

tn_status tflite_case(const tflite_node *n) {
  enum { MAX_CASES = 256 };
  tflite_reader *r = n->s->r;
  const tn_ints *list = n->attrs->n ? &n->attrs->attrs[0].ints : NULL;
  if (!list || list->size < 1 || list->size > MAX_CASES || !n->n_inputs || n->inputs[0] < 0 ||
      n->n_inputs > MAX_CARRIED || n->n_outputs > MAX_CARRIED)
    return tflite_fail(r, TN_ERR_INVALID, n->at,
                       "has no branches, more than %d, no number, or too many values", MAX_CASES);
  tn_status s = TN_OK;
  const int32_t first = is_branch(r, n->s->g, n->inputs[0], 0);
  tn_graph *graphs[2] = {graph_new(r, n->s->g, &s), NULL};
  if (!s && first < 0) s = graph_fails(r, first);
  if (!s) graphs[1] = graph_new(r, n->s->g, &s);
  if (!s) s = branch(n, list->data[0], graphs[0]);
  if (!s) s = cases_from(n, list, list->size > 1, graphs[1]);
  if (s) return s;
  const tn_attr then_branch = tn_attr_graph("then_branch", &graphs[0]),
                else_branch = tn_attr_graph("else_branch", &graphs[1]),
                *attrs[] = {&then_branch, &else_branch};
  return tflite_node_add(n, "", "If", &first, 1, attrs, 2);
}

/* ---- STABLEHLO_COMPOSITE ---- */

/* The decomposition, as a function of the model. */
static tn_status add_function(const tflite_node *n, const char *domain, const char *name,
                              const char *overload, int64_t index) {
  tflite_reader *r = n->s->r;
  int32_t in[MAX_CARRIED], out[MAX_CARRIED];
  tn_status s = TN_OK;
  tn_graph *body = graph_new(r, r->main, &s);
  for (uint64_t k = 0; k < n->n_inputs && !s; k++) {
    in[k] = new_value(r, body);
    s = in[k] < 0 ? in[k] : r->api->add_input(body, in[k]);
    if (s) s = graph_fails(r, s);
  }
  if (!s) s = inline_subgraph(r, index, body, in, n->n_inputs, out, n->n_outputs);
  for (uint64_t k = 0; k < n->n_outputs && !s; k++) s = add_output(r, body, out[k]);
  if (s) return s;
  s = r->api->set_opset(r->main, domain, 1);
  if (!s) s = r->api->add_function(r->main, domain, name, overload, body, NULL, 0, NULL, 0);
  return s ? graph_fails(r, s) : TN_OK;
}

static const char *name_of(const tflite_attrs *attrs, tflite_reader *r) {
  for (uint32_t k = 0; k < attrs->n; k++)
    if (!strcmp(attrs->attrs[k].name, "name")) return tflite_name(r, attrs->attrs[k].s);
  return "";
}

/* odml.rms_norm becomes odml::rms_norm: an operator that somebody has registered, else the
 * decomposition. */
tn_status tflite_composite(const tflite_node *n) {
  tflite_reader *r = n->s->r;
  const int64_t index = attr_of(n->attrs, "decomposition_subgraph_index");
  const char *full = name_of(n->attrs, r), *dot = full ? strchr(full, '.') : NULL;
  if (!full) return tflite_no_memory(r);
  if (!*full || n->n_inputs > MAX_CARRIED || n->n_outputs > MAX_CARRIED)
    return tflite_fail(r, TN_ERR_INVALID, 0, "has no name, or too many values");
  char *overload = tn_arena_format(&r->arena, "%lld", (long long)index);
  const char *domain = dot ? tn_arena_strn(&r->arena, full, dot - full) : "stablehlo",
             *name = dot ? dot + 1 : full;
  if (!domain || !overload) return tflite_no_memory(r);
  const char *key = tn_arena_format(&r->arena, "%s %s", full, overload);
  tn_status added = key ? TN_OK : tflite_no_memory(r);
  if (!added && !tn_map_get(&r->functions, key, 0)) {
    if (tn_map_set(&r->functions, key, 1)) return tflite_no_memory(r);
    added = add_function(n, domain, name, overload, index);
  }
  const tn_attr *attrs[TFLITE_MAX_ATTRS];
  for (uint32_t k = 0; k < n->attrs->n_flex; k++)
    attrs[k] = &n->attrs->attrs[n->attrs->flex_at + k];
  return added ? added : tflite_call_add(n, domain, name, overload, attrs, n->attrs->n_flex);
}
