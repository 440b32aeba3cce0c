/* Nodes and attributes in the file. What Tenon has added to a node is told in its meta data. */
#include "writer.h"

#include <stdio.h>

/* TN_ATTR_... -> AttributeProto.AttributeType. */
static int64_t attr_type(uint32_t kind) {
  static const uint8_t types[] = {
      [TN_ATTR_INT] = ONNX_ATTR_INT,         [TN_ATTR_FLOAT] = ONNX_ATTR_FLOAT,
      [TN_ATTR_STR] = ONNX_ATTR_STRING,      [TN_ATTR_TENSOR] = ONNX_ATTR_TENSOR,
      [TN_ATTR_GRAPH] = ONNX_ATTR_GRAPH,     [TN_ATTR_INTS] = ONNX_ATTR_INTS,
      [TN_ATTR_FLOATS] = ONNX_ATTR_FLOATS,   [TN_ATTR_STRS] = ONNX_ATTR_STRINGS,
      [TN_ATTR_TENSORS] = ONNX_ATTR_TENSORS, [TN_ATTR_GRAPHS] = ONNX_ATTR_GRAPHS,
      [TN_ATTR_TYPE] = ONNX_ATTR_TYPE,
  };
  return kind < sizeof types ? types[kind] : 0;
}

static void put_graphs(onnx_writer *w, onnx_scope *s, const tn_attr *a,
                       const tn_graph *const *graphs) {
  for (uint32_t k = 0; k < a->n_graphs; k++)
    onnx_put_graph(w, a->kind == TN_ATTR_GRAPH ? 6 : 11, s, graphs ? graphs[k] : a->graphs[k],
                   a->name);
}

void onnx_put_attr(onnx_writer *w, uint32_t number, onnx_scope *s, const tn_attr *a,
                   const tn_graph *const *graphs) {
  onnx_put *p = &w->out;
  const onnx_mark attr = onnx_put_begin(p, number);
  bool is_ref = a->kind == TN_ATTR_REF;
  onnx_put_str(p, 1, a->name);                                            /* name */
  onnx_put_int(p, 20, attr_type(is_ref ? (uint32_t)a->i : a->kind));      /* type */
  if (is_ref) onnx_put_bytes(p, 21, a->s.data, a->s.size);                /* ref_attr_name */
  if (a->kind == TN_ATTR_INT) onnx_put_int(p, 3, a->i);                   /* i */
  if (a->kind == TN_ATTR_FLOAT) onnx_put_float(p, 2, a->f);               /* f */
  if (a->kind == TN_ATTR_STR) onnx_put_bytes(p, 4, a->s.data, a->s.size); /* s */
  for (int64_t k = 0; k < a->ints.size; k++) onnx_put_int(p, 8, a->ints.data[k]);
  for (int64_t k = 0; k < a->floats.size; k++) onnx_put_float(p, 7, a->floats.data[k]);
  for (int64_t k = 0; k < a->strs.size; k++)
    onnx_put_bytes(p, 9, a->strs.data[k].data, a->strs.data[k].size);
  if (a->kind == TN_ATTR_TENSOR) onnx_put_tensor(w, 5, "", a->tensors.data[0]);
  if (a->kind == TN_ATTR_TYPE) onnx_put_type(w, 14, a->tensors.data[0], NULL);
  for (int64_t k = 0; k < a->tensors.size && a->kind == TN_ATTR_TENSORS; k++)
    onnx_put_tensor(w, 10, "", a->tensors.data[k]);
  put_graphs(w, s, a, graphs);
  onnx_put_end(p, attr);
}

void onnx_put_str_attr(onnx_writer *w, const char *name, const char *text) {
  const tn_attr attr = {.head = TN_HEAD(tn_attr),
                        .name = name,
                        .kind = TN_ATTR_STR,
                        .s = {text, (int64_t)strlen(text)}};
  onnx_put_attr(w, 5, NULL, &attr, NULL);
}

void onnx_put_constant(onnx_writer *w, uint32_t number, const char *name, const tn_tensor *t) {
  const tn_attr attr = {
      .head = TN_HEAD(tn_attr), .name = "value", .kind = TN_ATTR_TENSOR, .tensors = {&t, 1}};
  const onnx_mark node = onnx_put_begin(&w->out, number);
  onnx_put_str(&w->out, 2, name);       /* output */
  onnx_put_str(&w->out, 4, "Constant"); /* op_type */
  onnx_put_attr(w, 5, NULL, &attr, NULL);
  onnx_put_end(&w->out, node);
}

/* ---- Nodes ---- */

static void put_attrs(onnx_writer *w, onnx_scope *s, int32_t id, const tn_node *n) {
  bool is_ours = !strcmp(n->domain, "tenon");
  uint32_t graph = 0;
  for (uint32_t k = 0; k < n->n_attrs && !w->out.status; k++) {
    const tn_attr *a = n->attrs[k];
    const tn_graph **graphs = tn_arena_alloc(&w->arena, a->n_graphs * sizeof *graphs);
    if (!graphs) (void)onnx_put_fail(&w->out, TN_ERR_MEMORY, "out of memory");
    for (uint32_t j = 0; graphs && j < a->n_graphs; j++)
      graphs[j] = w->api->node_graph(s->g, id, graph++);
    if (!is_ours || !onnx_put_tenon_attr(w, a)) onnx_put_attr(w, 5, s, a, graphs);
  }
}

/* Layouts of inputs and outputs, if any is not plain. */
static void put_layouts(onnx_writer *w, onnx_scope *s, const tn_node *n, uint32_t n_inputs) {
  tn_text text;
  tn_text_init(&text, &w->out.allocator);
  for (uint32_t k = 0; k < n_inputs + n->n_outputs; k++) {
    const int32_t v = k < n_inputs ? n->inputs[k] : n->outputs[k - n_inputs];
    const tn_layout layout = v < 0 ? TN_PLAIN : w->api->value_type(s->g, v)->layout;
    if (layout != TN_PLAIN)
      tn_text_add(&text, "%s%s=%s", text.n ? " " : "", onnx_name(w, s, v),
                  onnx_layout_text(layout));
  }
  if (text.status) (void)onnx_put_fail(&w->out, TN_ERR_MEMORY, "out of memory");
  if (text.n && !text.status) onnx_put_entry(&w->out, 9, "tenon.layouts", text.data);
  tn_text_free(&text);
}

/* A file imports one version of the default operator set; nodes that were written for an older one
 * say so. */
static void put_version(onnx_writer *w, const tn_node *n) {
  const int32_t version = n->version ? n->version : w->version;
  char text[16];
  if (!w->newest || *n->domain || version >= ONNX_LIFTED_OPSET) return;
  snprintf(text, sizeof text, "%d", (int)version);
  onnx_put_entry(&w->out, 9, "tenon.version", text); /* metadata_props */
}

void onnx_put_node(onnx_writer *w, uint32_t number, onnx_scope *s, int32_t id) {
  onnx_put *p = &w->out;
  const tn_node *n = w->api->node(s->g, id);
  const uint32_t n_inputs = w->api->node_n_formal(s->g, id);
  uint32_t n_steps, n_regions;
  (void)w->api->node_epilogue(s->g, id, &n_steps);
  (void)w->api->node_regions(s->g, id, &n_regions);
  const char *first = n_steps ? onnx_new_name(w, onnx_name(w, s, n->outputs[0])) : "";
  const onnx_mark node = onnx_put_begin(p, number);
  for (uint32_t k = 0; k < n_inputs; k++) onnx_put_str(p, 1, onnx_name(w, s, n->inputs[k]));
  for (uint32_t k = 0; k < n->n_outputs; k++)
    onnx_put_str(p, 2, k == 0 && n_steps ? first : onnx_name(w, s, n->outputs[k]));
  if (*n->name) onnx_put_str(p, 3, n->name); /* name */
  onnx_put_str(p, 4, n->op);                 /* op_type */
  put_attrs(w, s, id, n);
  if (n_regions) onnx_put_regions(w, s, id);
  if (*n->domain) onnx_put_str(p, 7, n->domain);     /* domain */
  if (*n->overload) onnx_put_str(p, 8, n->overload); /* overload */
  put_layouts(w, s, n, n_inputs);
  put_version(w, n);
  onnx_put_end(p, node);
  if (n_steps) onnx_put_epilogue(w, number, s, id, first);
}
