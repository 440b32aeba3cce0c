/* Graphs in the file: constants, inputs, nodes, outputs, and what is known of the values in
 * between. */
#include "writer.h"

static bool is_inside(const onnx_writer *w, const tn_graph *g, int32_t v) {
  return w->api->value_producer(g, v) >= 0 && !(w->api->value_flags(g, v) & TN_VALUE_OUTPUT);
}

static void put_constants(onnx_writer *w, onnx_scope *s) {
  for (int32_t v = 0; v < w->api->n_values(s->g); v++) {
    const tn_tensor *t = w->api->value_type(s->g, v);
    if (s->wanted[v] && !w->out.status)
      onnx_put_tensor(w, 5, onnx_name(w, s, v), t); /* initializer */
  }
}

/* Those with a default, too; they keep the type they were declared with. */
static void put_inputs(onnx_writer *w, onnx_scope *s) {
  const bool declared = TN_HAS(w->api, input_type) && w->api->input_type;
  for (int32_t k = 0; w->api->input(s->g, k) >= 0; k++) {
    const int32_t v = w->api->input(s->g, k);
    if (declared)
      onnx_put_value_as(w, 11, s, v, w->api->input_type(s->g, k));
    else
      onnx_put_value_info(w, 11, s, v);
  }
}

/* value_info of what nodes give, where something is known. */
static void put_inside(onnx_writer *w, onnx_scope *s) {
  for (int32_t v = 0; v < w->api->n_values(s->g); v++) {
    const tn_tensor *t = w->api->value_type(s->g, v);
    bool known = t->dtype != TN_NONE || t->rank >= 0 || t->kind != TN_KIND_TENSOR;
    if (known && is_inside(w, s->g, v) && !w->out.status) onnx_put_value_info(w, 13, s, v);
  }
}

void onnx_put_nodes(onnx_writer *w, uint32_t number, onnx_scope *s) {
  for (int32_t v = 0; s->in_function && !s->up && v < w->api->n_values(s->g); v++)
    if (s->wanted[v] && !w->out.status) /* functions have no initializers */
      onnx_put_constant(w, number, onnx_name(w, s, v), w->api->value_type(s->g, v));
  for (int32_t k = 0; k < w->api->n_nodes(s->g) && !w->out.status; k++)
    onnx_put_node(w, number, s, w->api->node_at(s->g, k));
}

void onnx_put_graph(onnx_writer *w, uint32_t number, const onnx_scope *up, const tn_graph *g,
                    const char *name) {
  onnx_scope s;
  onnx_scope_open(w, &s, up, g);
  const onnx_mark graph = onnx_put_begin(&w->out, number);
  if (!w->out.status) {
    onnx_put_nodes(w, 1, &s); /* node */
    onnx_put_str(&w->out, 2, name);
    put_constants(w, &s);
    put_inputs(w, &s);
    for (int32_t k = 0; k < w->api->n_outputs(g); k++)
      onnx_put_value_info(w, 12, &s, w->api->output(g, k));
    put_inside(w, &s);
  }
  onnx_put_end(&w->out, graph);
  onnx_scope_close(&s);
}
