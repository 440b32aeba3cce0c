/* Names of values in the file. Values keep theirs; unnamed ones get one that nothing else has. A
 * value that a subgraph captures goes by the name it has outside. */
#include "writer.h"

static void sticky(onnx_writer *w, tn_status s) {
  if (s) (void)onnx_put_fail(&w->out, s, "out of memory");
}

/* ---- What is there ---- */

void onnx_note_domain(onnx_writer *w, const char *domain) {
  if (tn_map_get(&w->domains_seen, domain, 0)) return;
  sticky(w, tn_map_set(&w->domains_seen, domain, 1));
  sticky(w, tn_vec_push(&w->out.allocator, &w->domains, domain));
}

static void survey_node(onnx_writer *w, const tn_graph *g, int32_t id) {
  const tn_node *n = w->api->node(g, id);
  onnx_note_domain(w, n->domain);
  if (!*n->domain && n->version > w->version) w->newest = true;
  uint32_t n_steps;
  const tn_epilogue *const *steps = w->api->node_epilogue(g, id, &n_steps);
  for (uint32_t k = 0; k < n_steps; k++)
    if (onnx_epilogue_since(steps[k]) > w->version) w->newest = true;
  const tn_graph *sub;
  for (uint32_t k = 0; (sub = w->api->node_graph(g, id, k)); k++) onnx_survey(w, sub);
}

void onnx_survey(onnx_writer *w, const tn_graph *g) {
  for (int32_t v = 0; v < w->api->n_values(g); v++)
    if (*w->api->value_name(g, v)) sticky(w, tn_map_set(&w->taken, w->api->value_name(g, v), 1));
  for (int32_t k = 0; k < w->api->n_nodes(g); k++) survey_node(w, g, w->api->node_at(g, k));
}

/* ---- Which constants are read ---- */

static bool is_free(const tn_graph_api *api, const tn_graph *g, int32_t v) {
  return api->value_producer(g, v) < 0 && !(api->value_flags(g, v) & TN_VALUE_INPUT);
}

static bool is_read(const tn_graph_api *api, const tn_graph *g, int32_t v) {
  return api->value_n_users(g, v) > 0 || api->value_flags(g, v) & TN_VALUE_OUTPUT;
}

/* Notes the names by which a subgraph may mean values of the graphs around it. */
static void note_outer_names(onnx_writer *w, const tn_graph *g, tn_map *names) {
  for (int32_t v = 0; v < w->api->n_values(g); v++)
    if (is_free(w->api, g, v) && is_read(w->api, g, v))
      sticky(w, tn_map_set(names, w->api->value_name(g, v), 1));
  const tn_graph *sub;
  for (int32_t n = 0; n < w->api->n_nodes(g); n++)
    for (uint32_t k = 0; (sub = w->api->node_graph(g, w->api->node_at(g, n), k)); k++)
      note_outer_names(w, sub, names);
}

/* The same constant, by the same name, stands in a graph around this one. */
static bool is_inherited(const onnx_writer *w, const onnx_scope *s, int32_t v) {
  const char *name = w->api->value_name(s->g, v);
  const tn_tensor *t = w->api->value_type(s->g, v);
  for (const onnx_scope *up = *name ? s->up : NULL; up; up = up->up) {
    int64_t id = tn_map_get(&up->constants, name, -1);
    if (id >= 0) return w->api->value_type(up->g, (int32_t)id)->data == t->data;
  }
  return false;
}

static void choose_constants(onnx_writer *w, onnx_scope *s) {
  tn_map names;
  tn_map_init(&names, &w->out.allocator);
  const tn_graph *sub;
  for (int32_t n = 0; n < w->api->n_nodes(s->g); n++)
    for (uint32_t k = 0; (sub = w->api->node_graph(s->g, w->api->node_at(s->g, n), k)); k++)
      note_outer_names(w, sub, &names);
  for (int32_t v = 0; v < w->api->n_values(s->g); v++) {
    if (!(w->api->value_flags(s->g, v) & TN_VALUE_CONST) || is_inherited(w, s, v)) continue;
    const char *name = w->api->value_name(s->g, v);
    s->wanted[v] = is_read(w->api, s->g, v) || tn_map_get(&names, name, 0) ||
                   w->api->value_flags(s->g, v) & TN_VALUE_INPUT;
    if (s->wanted[v] && *name) sticky(w, tn_map_set(&s->constants, name, v));
  }
  tn_map_free(&names);
}

/* ---- Names ---- */

const char *onnx_new_name(onnx_writer *w, const char *like) {
  const char *name = NULL;
  do {
    name = tn_arena_format(&w->arena, "%s%s%lld", like, *like ? "_" : "value_",
                           (long long)w->n_made++);
  } while (name && tn_map_get(&w->taken, name, 0));
  sticky(w, name ? tn_map_set(&w->taken, name, 1) : TN_ERR_MEMORY);
  return name ? name : "";
}

const char *onnx_name(onnx_writer *w, onnx_scope *s, int32_t value) {
  if (value < 0 || w->out.status) return "";
  if (!s->names[value]) s->names[value] = onnx_new_name(w, "");
  return s->names[value];
}

/* Captured values first: a value of the subgraph that has the name of one of them by chance gets
 * another. */
static void choose_names(onnx_writer *w, onnx_scope *s) {
  tn_map captured;
  tn_map_init(&captured, &w->out.allocator);
  int32_t outer, inner;
  for (int32_t k = 0; s->up && (inner = w->api->capture(s->g, k, &outer)) >= 0; k++) {
    union {
      const onnx_scope *in;
      onnx_scope *out;
    } up = {s->up}; /* its unnamed values get names when they are asked for */
    s->names[inner] = onnx_name(w, up.out, outer);
    sticky(w, tn_map_set(&captured, s->names[inner], 1));
  }
  for (int32_t v = 0; v < w->api->n_values(s->g); v++) {
    const char *name = w->api->value_name(s->g, v);
    if (!s->names[v] && *name && !tn_map_get(&captured, name, 0)) s->names[v] = name;
  }
  tn_map_free(&captured);
}

void onnx_scope_open(onnx_writer *w, onnx_scope *s, const onnx_scope *up, const tn_graph *g) {
  const uint64_t n = (uint64_t)w->api->n_values(g);
  *s = (onnx_scope){.up = up, .g = g, .in_function = up && up->in_function};
  tn_map_init(&s->constants, &w->out.allocator);
  s->names = tn_arena_alloc(&w->arena, n * sizeof *s->names);
  s->wanted = tn_arena_alloc(&w->arena, n * sizeof *s->wanted);
  sticky(w, s->names && s->wanted ? TN_OK : TN_ERR_MEMORY);
  if (w->out.status) return;
  choose_constants(w, s);
  choose_names(w, s);
}

void onnx_scope_close(onnx_scope *s) { tn_map_free(&s->constants); }
