/* Graphs as JSON: nodes in topological order, values by number. */
#include <string.h>

#include "base/text.h"
#include "report.h"
#include "tenon/kit/tensor.h"

enum { ATTR_ITEMS = 8, ATTR_BYTES = 60 };

typedef struct writer {
  cli_json *values, *nodes;
  int32_t n_values, n_nodes;
} writer;

/* ---- attributes, short ---- */

static void add_list_end(tn_text *to, int64_t n) {
  if (n > ATTR_ITEMS) tn_text_add(to, ", ... (%lld)", (long long)n);
  tn_text_add(to, "]");
}

static void add_ints(tn_text *to, const tn_ints *list) {
  tn_text_add(to, "[");
  for (int64_t k = 0; k < list->size && k < ATTR_ITEMS; k++)
    tn_text_add(to, "%s%lld", k ? ", " : "", (long long)list->data[k]);
  add_list_end(to, list->size);
}

static void add_floats(tn_text *to, const tn_floats *list) {
  tn_text_add(to, "[");
  for (int64_t k = 0; k < list->size && k < ATTR_ITEMS; k++)
    tn_text_add(to, "%s%.7g", k ? ", " : "", list->data[k]);
  add_list_end(to, list->size);
}

static void add_string(tn_text *to, const tn_str *s) {
  const int64_t n = s->size < ATTR_BYTES ? s->size : ATTR_BYTES;
  tn_text_add(to, "\"");
  tn_text_add_bytes(to, s->data, n);
  tn_text_add(to, n < s->size ? "...\"" : "\"");
}

static void add_attr(tn_text *to, const tn_attr *a) {
  char type[CLI_TYPE_TEXT];
  switch (a->kind) {
    case TN_ATTR_INT: tn_text_add(to, "%lld", (long long)a->i); break;
    case TN_ATTR_FLOAT: tn_text_add(to, "%.7g", a->f); break;
    case TN_ATTR_STR: add_string(to, &a->s); break;
    case TN_ATTR_INTS: add_ints(to, &a->ints); break;
    case TN_ATTR_FLOATS: add_floats(to, &a->floats); break;
    case TN_ATTR_TENSOR:
      tn_text_add(to, "%s", cli_type_text(a->tensors.data[0], NULL, -1, type));
      break;
    case TN_ATTR_GRAPH: tn_text_add(to, "a graph"); break;
    default: tn_text_add(to, "..."); break;
  }
}

static void put_attrs(cli_json *to, const tn_node *node) {
  tn_text text;
  tn_text_init(&text, tn_default_allocator());
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    tn_text_add(&text, "%s%s = ", k ? "\n" : "", node->attrs[k]->name);
    add_attr(&text, node->attrs[k]);
  }
  if (text.n) cli_json_text(to, "attrs", tn_text_get(&text));
  tn_text_free(&text);
}

/* ---- values: [name, type, flags] ---- */

static int32_t put_value(writer *w, const tn_graph *g, int32_t id, const tn_tensor *type) {
  char text[CLI_TYPE_TEXT], layout[CLI_UNIT_TEXT];
  const tn_value *v = tn_graph_val(g, id);
  cli_json *list = cli_json_array(w->values, NULL);
  cli_json_text(list, NULL, v->name);
  cli_type_text(type, g, id, text);
  const size_t n = strlen(text);
  if (*cli_layout_text(type->layout, layout)) snprintf(text + n, sizeof text - n, ", %s", layout);
  cli_json_text(list, NULL, text);
  cli_json_int(list, NULL, v->flags);
  return w->n_values++;
}

static void put_ids(cli_json *node, const char *key, const int32_t *ids, uint32_t n,
                    const int32_t *values) {
  cli_json *list = cli_json_array(node, key);
  for (uint32_t k = 0; k < n; k++) cli_json_int(list, NULL, ids[k] < 0 ? -1 : values[ids[k]]);
}

static cli_json *put_node(writer *w, const tn_node *node, const int32_t *values, int32_t parent) {
  char op[200];
  cli_json *o = cli_json_object(w->nodes, NULL);
  cli_json_text(o, "name", node->name ? node->name : "");
  cli_json_text(o, "op", cli_op_text(node->domain ? node->domain : "", node->op, op, sizeof op));
  put_ids(o, "in", node->inputs, node->n_inputs, values);
  put_ids(o, "out", node->outputs, node->n_outputs, values);
  if (parent >= 0) cli_json_int(o, "parent", parent);
  put_attrs(o, node);
  w->n_nodes++;
  return o;
}

static bool begin(writer *w, cli_json *to, const char *key) {
  cli_json *o = cli_json_object(to, key);
  *w = (writer){cli_json_array(o, "values"), cli_json_array(o, "nodes"), 0, 0};
  return o;
}

/* ---- as in the file ---- */

static void put_graph(report *r, writer *w, const tn_graph *g, const int32_t *around,
                      int32_t parent);

static void put_subgraphs(report *r, writer *w, const tn_node *node, const int32_t *values,
                          int32_t self) {
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    const tn_attr *a = node->attrs[k];
    const uint32_t n = a->kind == TN_ATTR_GRAPH ? 1 : a->kind == TN_ATTR_GRAPHS ? a->n_graphs : 0;
    for (uint32_t i = 0; i < n; i++) put_graph(r, w, a->graphs[i], values, self);
  }
}

static void put_graph(report *r, writer *w, const tn_graph *g, const int32_t *around,
                      int32_t parent) {
  int32_t *values = tn_arena_alloc(&r->arena, (uint64_t)(g->values.n + 1) * sizeof *values);
  if (!values) {
    r->status = TN_ERR_MEMORY;
    return;
  }
  for (int64_t k = 0; k < g->values.n; k++) values[k] = -1;
  for (int64_t k = 0; around && k < g->captures.n; k++)
    values[g->captures.data[k].inner] = around[g->captures.data[k].outer];
  for (int32_t k = 0; k < (int32_t)g->values.n; k++)
    if (values[k] < 0) values[k] = put_value(w, g, k, tn_graph_val(g, k)->type);
  for (int64_t k = 0; k < g->order.n; k++) {
    const tn_gnode *node = tn_graph_node(g, g->order.data[k]);
    if (!node->alive) continue;
    const int32_t self = w->n_nodes;
    put_node(w, &node->node, values, parent);
    put_subgraphs(r, w, &node->node, values, self);
  }
}

void report_graph_before(report *r, cli_json *to, const tn_graph *graph) {
  writer w;
  if (begin(&w, to, "before")) put_graph(r, &w, graph, NULL, -1);
}

/* ---- as it runs ---- */

/* Values that a frame is given by the one around it are those of that one. */
static void share_values(const report *r, report_frame *f) {
  if (f->parent < 0) return;
  const report_frame *around = &r->frames.data[f->parent];
  const tn_graph *g = f->setup->plan->graph;
  const tn_plan *outer = around->setup->plan;
  for (int64_t k = 0; !f->owner && k < g->inputs.n && k < outer->n_continuation_inputs; k++)
    f->values[g->inputs.data[k]] = around->values[outer->continuation_inputs[k]];
  if (!f->owner) return;
  const tn_step *step = NULL;
  for (int32_t k = 0; k < outer->n_steps && !step; k++)
    if (outer->steps[k].node == f->owner) step = &outer->steps[k];
  const tn_step_body *body = step ? &step->bodies[f->capture_of] : NULL;
  for (uint32_t k = 0; body && k < body->n_captures; k++) {
    const tn_capture *c = &body->captures[k];
    const int32_t value = f->owner->node.inputs[c->input];
    if (c->inner < g->inputs.n && value >= 0)
      f->values[g->inputs.data[c->inner]] = around->values[value];
  }
}

static int32_t parent_node(const report *r, const report_frame *f) {
  if (f->parent < 0 || !f->owner) return -1;
  const report_frame *around = &r->frames.data[f->parent];
  const tn_graph *g = around->setup->plan->graph;
  int32_t n = around->first_node;
  for (int64_t k = 0; k < g->order.n; k++) {
    const tn_gnode *node = tn_graph_node(g, g->order.data[k]);
    if (node == f->owner) return n;
    n += node->alive;
  }
  return -1;
}

static void put_frame(const report *r, writer *w, report_frame *f) {
  const tn_plan *plan = f->setup->plan;
  const tn_graph *g = plan->graph;
  const int32_t parent = parent_node(r, f);
  share_values(r, f);
  for (int32_t k = 0; k < (int32_t)g->values.n; k++) {
    const tn_tensor *type = k < plan->n_slots ? plan->slots[k].type : NULL;
    if (f->values[k] < 0) f->values[k] = put_value(w, g, k, type ? type : tn_graph_val(g, k)->type);
  }
  f->first_node = w->n_nodes;
  for (int64_t k = 0; k < g->order.n; k++) {
    const int32_t id = g->order.data[k];
    const tn_gnode *node = tn_graph_node(g, id);
    if (!node->alive) continue;
    cli_json *o = put_node(w, &node->node, f->values, parent);
    if (f->node_steps[id] >= 0) cli_json_int(o, "step", f->node_steps[id]);
  }
}

void report_graph_after(report *r, cli_json *to) {
  writer w;
  if (!begin(&w, to, "after")) return;
  for (int64_t k = 0; k < r->frames.n; k++) put_frame(r, &w, &r->frames.data[k]);
}
