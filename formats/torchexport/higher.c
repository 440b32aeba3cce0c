/* Operators that take graphs: cond, while_loop, scan, map, and those that only wrap one. */
#include <stdio.h>
#include <string.h>

#include "reader.h"
#include "tenon/kit/lower.h"

enum { MOST = 256, MOST_DEPTH = 32, MOST_LISTS = 4 };

typedef struct call {
  pt2_scope *s;
  const json_value *node;
  const json_value *graphs[2];
  const char *names[2];
  uint32_t n_graphs;
  aten_arg args[MOST]; /* what is no graph, lists taken apart */
  uint32_t n_args;
  uint32_t ends[MOST_LISTS], n_ends; /* of args, behind each operand that is no graph */
  const char *outputs[MOST];
  uint32_t n_outputs;
} call;

static tn_status add_arg(call *c, const aten_arg *a) {
  for (uint32_t k = 0; a->kind == ATEN_LIST && k < a->n_items; k++) {
    const tn_status s = add_arg(c, &a->items[k]);
    if (s) return s;
  }
  if (a->kind == ATEN_LIST) return TN_OK;
  if (c->n_args == MOST)
    return pt2_fail(c->s->r, TN_ERR_UNSUPPORTED, "not supported: more than 256 operands");
  c->args[c->n_args++] = *a;
  return TN_OK;
}

static tn_status read_call(call *c) {
  const json_value *inputs = json_list(c->node, "inputs");
  tn_status s = TN_OK;
  for (const json_value *in = inputs ? inputs->first : NULL; in && !s; in = in->next) {
    const json_value *v = json_union(json_get(in, "arg"));
    aten_arg a;
    if (json_is(v, "as_graph") && c->n_graphs < 2) {
      c->names[c->n_graphs] = json_text(v, "name");
      c->graphs[c->n_graphs++] = json_object(v, "graph");
      continue;
    }
    s = pt2_arg(c->s, json_get(in, "arg"), &a);
    if (!s) s = add_arg(c, &a);
    if (!s && c->n_ends < MOST_LISTS) c->ends[c->n_ends++] = c->n_args;
  }
  return s ? s : pt2_outputs(c->s, c->node, c->outputs, MOST, &c->n_outputs);
}

/* ---- running a graph inside of another ---- */

/* Names of the graph's inputs stand for the arguments. */
static tn_status bind_inputs(pt2_scope *s, const json_value *graph, const aten_arg *args,
                             uint32_t n) {
  const json_value *inputs = json_list(graph, "inputs");
  const json_value *in = inputs ? inputs->first : NULL;
  tn_status status = TN_OK;
  for (uint32_t k = 0; k < n && in && !status; k++, in = in->next) {
    const json_value *v = json_union(in);
    const char *name = json_text(v, "name");
    int32_t var;
    if (!name) name = json_text(v, "as_name");
    if (!name) continue;
    if (args[k].kind != ATEN_TENSOR) {
      status = pt2_literal(s, name, args[k]);
      continue;
    }
    status = pt2_define(s, name, args[k].value, &var);
    if (!status) s->vars.data[var].is_given = true;
  }
  if (!status && in)
    return pt2_fail(s->r, TN_ERR_INVALID, "the graph takes more inputs than it gets");
  return status;
}

static tn_status read_outputs(pt2_scope *s, const json_value *graph, aten_arg *out, uint32_t n) {
  const json_value *outputs = json_list(graph, "outputs");
  const json_value *o = outputs ? outputs->first : NULL;
  for (uint32_t k = 0; k < n; k++, o = o->next) {
    if (!o) return pt2_fail(s->r, TN_ERR_INVALID, "the graph has fewer outputs than are read");
    const tn_status status = pt2_arg(s, o, &out[k]);
    if (status) return status;
  }
  return TN_OK;
}

/* args as g sees them. */
static tn_status run_graph(call *c, tn_graph *g, uint32_t which, const aten_arg *args, uint32_t n,
                           aten_arg *out, uint32_t n_out) {
  pt2_reader *r = c->s->r;
  pt2_scope inner;
  const json_value *graph = c->graphs[which];
  const char *node = r->node, *name = c->names[which] ? c->names[which] : "graph";
  if (!graph) return pt2_fail(r, TN_ERR_INVALID, "a graph is missing");
  if (r->depth == MOST_DEPTH)
    return pt2_fail(r, TN_ERR_OVERFLOW, "graphs are more than 32 levels deep");
  const char *prefix =
      tn_arena_format(&r->arena, "%s%s/%s/", c->s->prefix, node ? node : "call", name);
  if (!prefix) return pt2_no_memory(r);
  r->depth++;
  tn_status s = pt2_scope_open(&inner, r, g, c->s, prefix, graph);
  if (!s) s = bind_inputs(&inner, graph, args, n);
  if (!s) s = pt2_run_nodes(&inner, graph);
  if (!s) s = read_outputs(&inner, graph, out, n_out);
  pt2_scope_close(&inner);
  r->depth--;
  r->node = node;
  return s;
}

static tn_status capture_args(call *c, tn_graph *g, const aten_arg *args, aten_arg *out,
                              uint32_t n) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n && !s; k++) {
    out[k] = args[k];
    if (args[k].kind == ATEN_TENSOR) s = pt2_capture(c->s, g, args[k].value, &out[k].value);
  }
  return s;
}

static tn_status add_node(call *c, tn_graph *g, const char *op, const int32_t *in, uint32_t n_in,
                          const int32_t *out, uint32_t n_out, const tn_attr *const *attrs,
                          uint32_t n_attrs) {
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = op,
                        .name = c->s->r->node,
                        .inputs = in,
                        .n_inputs = n_in,
                        .outputs = out,
                        .n_outputs = n_out,
                        .attrs = attrs,
                        .n_attrs = n_attrs,
                        .offset = -1};
  const int32_t id = c->s->r->api->add_node(g, &node);
  return id < 0 ? pt2_graph_fail(c->s->r, id, "it cannot be a node") : TN_OK;
}

/* A value of its own for an output of a graph; literals become constants. */
static tn_status add_output(call *c, tn_graph *g, const aten_arg *a) {
  const tn_graph_api *api = c->s->r->api;
  int32_t out;
  tn_status s;
  if (a->kind == ATEN_TENSOR) {
    out = api->value(g, NULL);
    if (out < 0) return pt2_graph_fail(c->s->r, out, "an output cannot be a value");
    s = add_node(c, g, "Identity", &a->value, 1, &out, 1, NULL, 0);
  } else {
    s = pt2_number(c->s, g, NULL, a, &out);
  }
  if (s) return s;
  s = api->add_output(g, out);
  return s ? pt2_graph_fail(c->s->r, s, "it cannot be an output of a graph") : TN_OK;
}

static tn_status new_outputs(call *c, int32_t *out) {
  for (uint32_t k = 0; k < c->n_outputs; k++) {
    const char *name = pt2_fresh(c->s, *c->outputs[k] ? c->outputs[k] : "unused");
    out[k] = name ? c->s->r->api->value(c->s->g, name) : TN_ERR_MEMORY;
    if (out[k] < 0) return pt2_graph_fail(c->s->r, out[k], "its output cannot be a value");
  }
  return TN_OK;
}

static tn_status define_outputs(call *c, const int32_t *ids) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < c->n_outputs && !s; k++)
    if (*c->outputs[k]) s = pt2_define(c->s, c->outputs[k], ids[k], NULL);
  return s;
}

/* What a graph that is run in place answers stands for the outputs. */
static tn_status define_results(call *c, const aten_arg *results) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < c->n_outputs && !s; k++)
    if (*c->outputs[k])
      s = results[k].kind == ATEN_TENSOR ? pt2_define(c->s, c->outputs[k], results[k].value, NULL)
                                         : pt2_literal(c->s, c->outputs[k], results[k]);
  return s;
}

/* ---- cond(predicate, true graph, false graph, operands) ---- */

static tn_status branch(call *c, uint32_t which, tn_graph **out) {
  aten_arg args[MOST], results[MOST];
  tn_graph *g = *out = c->s->r->api->subgraph_new(c->s->g);
  if (!g) return pt2_no_memory(c->s->r);
  tn_status s = capture_args(c, g, c->args + 1, args, c->n_args - 1);
  if (!s) s = run_graph(c, g, which, args, c->n_args - 1, results, c->n_outputs);
  for (uint32_t k = 0; k < c->n_outputs && !s; k++) s = add_output(c, g, &results[k]);
  return s;
}

static tn_status run_cond(call *c) {
  tn_graph *graphs[2];
  int32_t out[MOST];
  if (c->n_graphs != 2 || !c->n_args)
    return pt2_fail(c->s->r, TN_ERR_INVALID, "cond needs a predicate and two graphs");
  if (c->args[0].kind != ATEN_TENSOR) { /* it is known */
    aten_arg results[MOST];
    const tn_status s = run_graph(c, c->s->g, c->args[0].i ? 0 : 1, c->args + 1, c->n_args - 1,
                                  results, c->n_outputs);
    return s ? s : define_results(c, results);
  }
  tn_status s = new_outputs(c, out);
  if (!s) s = branch(c, 0, &graphs[0]);
  if (!s) s = branch(c, 1, &graphs[1]);
  const tn_attr yes = tn_attr_graph("then_branch", &graphs[0]),
                no = tn_attr_graph("else_branch", &graphs[1]), *attrs[] = {&yes, &no};
  if (!s) s = add_node(c, c->s->g, "If", &c->args[0].value, 1, out, c->n_outputs, attrs, 2);
  return s ? s : define_outputs(c, out);
}

/* ---- while_loop(condition graph, body graph, carried values, other values) ---- */

/* The carried values are as many as there are outputs. Literals among them become constants. */
static tn_status carried_values(call *c, aten_arg *out) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < c->n_outputs && !s; k++) {
    out[k] = c->args[k];
    if (out[k].kind == ATEN_TENSOR) continue;
    const char *name = pt2_fresh(c->s, "carried");
    out[k] = aten_value(NULL, TN_NO_ID);
    s = name ? pt2_number(c->s, c->s->g, name, &c->args[k], &out[k].value) : pt2_no_memory(c->s->r);
  }
  return s;
}

static tn_status add_input(call *c, tn_graph *g, const char *name, tn_tensor *type, int32_t *out) {
  const tn_graph_api *api = c->s->r->api;
  *out = api->value(g, name);
  tn_status s = *out < 0 ? *out : type ? api->value_set_type(g, *out, type) : TN_OK;
  if (!s) s = api->add_input(g, *out);
  return s ? pt2_graph_fail(c->s->r, s, "it cannot be an input of a graph") : TN_OK;
}

static tn_status loop_body(call *c, tn_graph **out) {
  aten_arg args[MOST], results[MOST], going;
  int32_t id;
  const uint32_t n = c->n_outputs, others = c->n_args - n;
  tn_graph *g = *out = c->s->r->api->subgraph_new(c->s->g);
  tn_tensor number = tn_tensor_make(TN_I64, 0, NULL, NULL),
            flag = tn_tensor_make(TN_BOOL, 0, NULL, NULL);
  if (!g) return pt2_no_memory(c->s->r);
  tn_status s = add_input(c, g, pt2_fresh(c->s, "step"), &number, &id);
  if (!s) s = add_input(c, g, pt2_fresh(c->s, "going"), &flag, &id);
  for (uint32_t k = 0; k < n && !s; k++) {
    args[k] = aten_value(NULL, TN_NO_ID);
    s = add_input(c, g, pt2_fresh(c->s, "carried"), NULL, &args[k].value);
  }
  if (!s) s = capture_args(c, g, c->args + n, args + n, others);
  if (!s) s = run_graph(c, g, 1, args, c->n_args, results, n);
  for (uint32_t k = 0; k < n && !s; k++) args[k] = results[k];
  if (!s) s = run_graph(c, g, 0, args, c->n_args, &going, 1);
  if (!s) s = add_output(c, g, &going);
  for (uint32_t k = 0; k < n && !s; k++) s = add_output(c, g, &results[k]);
  return s;
}

static tn_status run_while(call *c) {
  aten_arg carried[MOST], going;
  int32_t in[MOST + 2] = {TN_NO_ID}, out[MOST];
  tn_graph *body;
  if (c->n_graphs != 2 || c->n_args < c->n_outputs)
    return pt2_fail(c->s->r, TN_ERR_INVALID, "while_loop needs two graphs and what they carry");
  tn_status s = carried_values(c, carried);
  for (uint32_t k = 0; k < c->n_outputs && !s; k++) c->args[k] = carried[k];
  if (!s) s = run_graph(c, c->s->g, 0, c->args, c->n_args, &going, 1);
  if (!s && going.kind != ATEN_TENSOR)
    return pt2_fail(c->s->r, TN_ERR_UNSUPPORTED,
                    "not supported: a loop whose condition is a number");
  if (!s) s = new_outputs(c, out);
  if (!s) s = loop_body(c, &body);
  if (s) return s;
  in[1] = going.value;
  for (uint32_t k = 0; k < c->n_outputs; k++) in[k + 2] = carried[k].value;
  const tn_attr attr = tn_attr_graph("body", &body), *attrs[] = {&attr};
  s = add_node(c, c->s->g, "Loop", in, c->n_outputs + 2, out, c->n_outputs, attrs, 1);
  return s ? s : define_outputs(c, out);
}

/* ---- scan(graph, first values, what is gone along, other values), map without the first ---- */

/* The size of dim 0, which is gone along, as a number. */
static tn_status count_steps(call *c, int32_t x, int32_t *out) {
  const tn_graph_api *api = c->s->r->api;
  const tn_attr start = {.head = TN_HEAD(tn_attr), .name = "start", .kind = TN_ATTR_INT, .i = 0},
                end = {.head = TN_HEAD(tn_attr), .name = "end", .kind = TN_ATTR_INT, .i = 1},
                *attrs[] = {&start, &end};
  const int32_t size = api->value(c->s->g, NULL);
  *out = api->value(c->s->g, NULL);
  if (size < 0 || *out < 0) return pt2_no_memory(c->s->r);
  const tn_status s = add_node(c, c->s->g, "Shape", &x, 1, &size, 1, attrs, 2);
  return s ? s : add_node(c, c->s->g, "Squeeze", &size, 1, out, 1, NULL, 0);
}

/* Element `step` of what is gone along, as the body sees it. */
static tn_status take_step(call *c, tn_graph *g, const aten_arg *from, int32_t step,
                           aten_arg *out) {
  const tn_attr axis = {.head = TN_HEAD(tn_attr), .name = "axis", .kind = TN_ATTR_INT, .i = 0},
                *attrs[] = {&axis};
  int32_t in[] = {TN_NO_ID, step};
  *out = aten_value(NULL, c->s->r->api->value(g, pt2_fresh(c->s, "element")));
  if (out->value < 0) return pt2_no_memory(c->s->r);
  const tn_status s = pt2_capture(c->s, g, from->value, &in[0]);
  return s ? s : add_node(c, g, "Gather", in, 2, &out->value, 1, attrs, 1);
}

static tn_status scan_body(call *c, uint32_t n_carried, uint32_t n_along, tn_graph **out) {
  aten_arg args[MOST], results[MOST], going = aten_value(NULL, TN_NO_ID);
  int32_t step;
  tn_graph *g = *out = c->s->r->api->subgraph_new(c->s->g);
  const uint32_t others = n_carried + n_along;
  tn_tensor number = tn_tensor_make(TN_I64, 0, NULL, NULL),
            flag = tn_tensor_make(TN_BOOL, 0, NULL, NULL);
  if (!g) return pt2_no_memory(c->s->r);
  tn_status s = add_input(c, g, pt2_fresh(c->s, "step"), &number, &step);
  if (!s) s = add_input(c, g, pt2_fresh(c->s, "going"), &flag, &going.value);
  for (uint32_t k = 0; k < n_carried && !s; k++) {
    args[k] = aten_value(NULL, TN_NO_ID);
    s = add_input(c, g, pt2_fresh(c->s, "carried"), NULL, &args[k].value);
  }
  for (uint32_t k = n_carried; k < others && !s; k++)
    s = take_step(c, g, &c->args[k], step, &args[k]);
  if (!s) s = capture_args(c, g, c->args + others, args + others, c->n_args - others);
  if (!s) s = run_graph(c, g, 0, args, c->n_args, results, c->n_outputs);
  if (!s) s = add_output(c, g, &going);
  for (uint32_t k = 0; k < c->n_outputs && !s; k++) s = add_output(c, g, &results[k]);
  return s;
}

/* What the graph answers first is carried; the rest of each step is put on top of each other. */
static tn_status run_scan(call *c, bool carries) {
  int32_t in[MOST + 2] = {TN_NO_ID, TN_NO_ID}, out[MOST];
  tn_graph *body;
  const uint32_t n = carries && c->n_ends ? c->ends[0] : 0,
                 n_along = c->n_ends > carries ? c->ends[carries] - n : 0;
  if (c->n_graphs != 1 || !n_along || n > c->n_outputs)
    return pt2_fail(c->s->r, TN_ERR_INVALID, "it needs one graph and something to go along");
  for (uint32_t k = 0; k < n + n_along; k++)
    if (c->args[k].kind != ATEN_TENSOR)
      return pt2_fail(c->s->r, TN_ERR_UNSUPPORTED, "not supported: numbers that are carried");
  tn_status s = count_steps(c, c->args[n].value, &in[0]);
  if (!s) s = new_outputs(c, out);
  if (!s) s = scan_body(c, n, n_along, &body);
  if (s) return s;
  for (uint32_t k = 0; k < n; k++) in[k + 2] = c->args[k].value;
  const tn_attr attr = {.head = TN_HEAD(tn_attr),
                        .name = "body",
                        .kind = TN_ATTR_GRAPH,
                        .n_graphs = 1,
                        .graphs = &body},
                *attrs[] = {&attr};
  s = add_node(c, c->s->g, "Loop", in, n + 2, out, c->n_outputs, attrs, 1);
  return s ? s : define_outputs(c, out);
}

/* ---- graphs that are only wrapped: no_grad, autocast ---- */

static tn_status run_wrapped(call *c) {
  aten_arg results[MOST];
  const json_value *inputs = json_list(c->graphs[0], "inputs");
  const uint32_t n = inputs ? inputs->n : 0;
  if (c->n_graphs != 1 || n > c->n_args)
    return pt2_fail(c->s->r, TN_ERR_INVALID, "it does not wrap one graph");
  const tn_status s = run_graph(c, c->s->g, 0, c->args + (c->n_args - n), n, results, c->n_outputs);
  return s ? s : define_results(c, results);
}

tn_status pt2_higher(pt2_scope *s, const json_value *node, const char *target) {
  const char *name = strrchr(target, '.');
  if (strncmp(target, "torch.ops.higher_order.", strlen("torch.ops.higher_order.")) != 0)
    return TN_ERR_NOT_FOUND;
  const bool cond = !strcmp(name, ".cond"), loop = !strcmp(name, ".while_loop"),
             wraps = !strcmp(name, ".wrap_with_set_grad_enabled") ||
                     !strcmp(name, ".wrap_with_autocast") || !strcmp(name, ".wrap");
  const bool scans = !strcmp(name, ".scan"),
             maps = !strcmp(name, ".map_impl") || !strcmp(name, ".map");
  if (!cond && !loop && !wraps && !scans && !maps)
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: calls of %.100s", target);
  call *c = tn_alloc(&s->r->allocator, sizeof *c);
  if (!c) return pt2_no_memory(s->r);
  *c = (call){.s = s, .node = node};
  tn_status status = read_call(c);
  if (!status)
    status = cond            ? run_cond(c)
             : loop          ? run_while(c)
             : scans || maps ? run_scan(c, scans)
                             : run_wrapped(c);
  tn_free(&s->r->allocator, c, sizeof *c);
  return status;
}
