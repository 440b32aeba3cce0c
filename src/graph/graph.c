/* Making graphs: values, nodes, subgraphs. Every structure is copied into the graph's arena, so
 * that callers may build from temporaries. Editing an existing graph stands in edit.c, ordering in
 * sort.c, names across subgraphs in resolve.c. */
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "graph/copy.h"

tn_graph *tn_graph_new(const tn_allocator *a) {
  tn_graph *g = tn_alloc(a, sizeof *g);
  if (!g) return NULL;
  g->a = a;
  atomic_init(&g->refs, 1);
  g->lowering = -1;
  tn_arena_init(&g->arena, a);
  tn_map_init_borrowing(&g->names, a);
  return g;
}

static void free_contents(tn_graph *g) {
  const tn_allocator *a = g->a;
  for (int64_t k = 0; k < g->attachments.n; k++)
    g->attachments.data[k].release(g->attachments.data[k].object);
  tn_vec_free(a, &g->attachments);
  for (int64_t k = 0; k < g->values.n; k++) tn_const_release(g->values.data[k].constant);
  for (int64_t k = 0; k < g->subgraphs.n; k++) tn_graph_free(g->subgraphs.data[k]);
  tn_vec_free(a, &g->values);
  tn_vec_free(a, &g->nodes);
  tn_vec_free(a, &g->order);
  tn_vec_free(a, &g->inputs);
  tn_vec_free(a, &g->defaults);
  tn_vec_free(a, &g->outputs);
  tn_vec_free(a, &g->captures);
  tn_vec_free(a, &g->subgraphs);
  tn_vec_free(a, &g->functions);
  tn_vec_free(a, &g->mapped_ranges);
  tn_vec_free(a, &g->opsets);
  tn_vec_free(a, &g->meta);
  tn_vec_free(a, &g->states);
  tn_vec_free(a, &g->entries);
  tn_vec_free(a, &g->promises);
  tn_map_free(&g->names);
  tn_arena_clear(&g->arena);
}

void tn_graph_free(tn_graph *g) {
  while (g && atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) == 1) {
    tn_graph *base = g->base;
    free_contents(g);
    tn_free(g->a, g, sizeof *g);
    g = base;
  }
}

/* ---- types ---- */

const tn_tensor tn_type_unknown = {.head = TN_HEAD(tn_tensor), .rank = TN_RANK_UNKNOWN};

bool tn_same_type(const tn_tensor *a, const tn_tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank && a->layout == b->layout &&
         a->kind == b->kind && a->elements == b->elements && a->object == b->object &&
         a->data == b->data &&
         !memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)tn_max_i64(a->rank, 0));
}

tn_status tn_graph_set_type(tn_graph *g, int32_t value, const tn_tensor *type) {
  tn_value *v = tn_graph_val(g, value);
  if (v->type == type || tn_same_type(v->type, type)) return TN_OK;
  const uint64_t n_dims = (uint64_t)tn_max_i64(type->rank, 0);
  const uint64_t hash = tn_hash_bytes(type->shape, sizeof *type->shape * n_dims, type->dtype);
  const tn_tensor **kept = &g->types[hash % TN_GRAPH_KEPT];
  if (!*kept || !tn_same_type(*kept, type)) {
    tn_tensor *copy = tn_arena_copy(&g->arena, type, sizeof *copy);
    if (!copy) return TN_ERR_MEMORY;
    copy->head = (tn_head)TN_HEAD(tn_tensor);
    *kept = copy;
  }
  v->type = *kept;
  return TN_OK;
}

/* ---- values and nodes ---- */

static int32_t new_value(tn_graph *g, const char *name) {
  if (g->values.n >= INT32_MAX) return TN_ERR_OVERFLOW;
  tn_value v = {.type = &tn_type_unknown, .producer = -1};
  v.name = *name ? tn_arena_str(&g->arena, name) : "";
  if (!v.name) return TN_ERR_MEMORY;
  int32_t id = (int32_t)g->values.n;
  if (tn_vec_push(g->a, &g->values, v)) return TN_ERR_MEMORY;
  if (!*name) return id;
  if (!tn_map_set(&g->names, v.name, id)) return id;
  g->values.n--;
  return TN_ERR_MEMORY;
}

static tn_status fill_names(tn_graph *g) {
  for (int64_t k = 0; k < g->values.n; k++) {
    const char *name = g->values.data[k].name;
    if (*name && tn_map_set(&g->names, name, k)) return TN_ERR_MEMORY;
  }
  g->names_wait = false;
  return TN_OK;
}

int32_t tn_graph_value(tn_graph *g, const char *name) {
  if (!g) return TN_ERR_INVALID;
  if (!name) name = "";
  if (*name && g->names_wait && fill_names(g)) return TN_ERR_MEMORY;
  int64_t id = *name ? tn_map_get(&g->names, name, -1) : -1;
  if (id < 0 && tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  return id >= 0 ? (int32_t)id : new_value(g, name);
}

int32_t tn_graph_value_of(tn_graph *g, const tn_tensor *type, bool is_known) {
  tn_tensor own = *type;
  own.data = NULL;
  const int32_t id = new_value(g, "");
  if (id < 0) return id;
  if (tn_graph_set_type(g, id, &own)) return TN_ERR_MEMORY;
  tn_graph_val(g, id)->known = is_known;
  return id;
}

static bool value_id_ok(const tn_graph *g, int32_t v) { return v >= -1 && v < g->values.n; }

/* A graph that stands in itself has no end. */
static bool graphs_ok(const tn_graph *g, const tn_attr *a) {
  for (uint32_t k = 0; k < a->n_graphs; k++) {
    if (!a->graphs || !a->graphs[k]) return false;
    for (const tn_graph *around = g; around; around = around->parent)
      if (around == a->graphs[k]) return false;
  }
  return true;
}

static bool attr_ok(const tn_graph *g, const tn_attr *a) {
  return a && a->name && a->s.size >= 0 && a->ints.size >= 0 && a->floats.size >= 0 &&
         a->strs.size >= 0 && a->tensors.size >= 0 && (a->s.data || !a->s.size) &&
         (a->ints.data || !a->ints.size) && (a->floats.data || !a->floats.size) &&
         (a->strs.data || !a->strs.size) && (a->tensors.data || !a->tensors.size) &&
         graphs_ok(g, a);
}

/* No output has a source already, nor stands there twice: each gets one while they are looked
 * through. */
static tn_status check_outputs(tn_graph *g, const tn_node *n) {
  const char *rule = NULL;
  tn_status s = TN_OK;
  uint32_t k = 0;
  for (; k < n->n_outputs && !s; k++) {
    const int32_t v = n->outputs[k];
    tn_value *value = v >= 0 && value_id_ok(g, v) ? tn_graph_val(g, v) : NULL;
    if (!value_id_ok(g, v))
      s = TN_ERR_INVALID, rule = "add_node: an output is no value of the graph";
    else if (value && (value->producer >= 0 || value->flags & (TN_VALUE_INPUT | TN_VALUE_CONST)))
      s = TN_ERR_STATE, rule = "add_node: an output is made by something else too";
    else if (value)
      value->producer = INT32_MAX;
  }
  for (uint32_t j = 0; j < (s ? k - 1 : k); j++)
    if (n->outputs[j] >= 0) tn_graph_val(g, n->outputs[j])->producer = TN_NO_ID;
  return s ? tn_graph_refuse(g, s, rule) : TN_OK;
}

/* Checks pointers and ids, and that no output has a source already. */
static tn_status check_new_node(tn_graph *g, const tn_node *n) {
  if (n && !TN_HAS(n, attrs))
    return tn_graph_refuse(g, TN_ERR_INVALID, "add_node: head.size is too small for a node");
  if (!n || !n->op || !*n->op || (n->n_inputs && !n->inputs) || (n->n_outputs && !n->outputs) ||
      (n->n_attrs && !n->attrs))
    return tn_graph_refuse(g, TN_ERR_INVALID,
                           "add_node: operator, inputs, outputs or attrs is NULL");
  for (uint32_t k = 0; k < n->n_attrs; k++)
    if (!attr_ok(g, n->attrs[k]))
      return tn_graph_refuse(
          g, TN_ERR_INVALID,
          "add_node: an attribute has no name or data, or holds the graph itself");
  for (uint32_t k = 0; k < n->n_inputs; k++)
    if (!value_id_ok(g, n->inputs[k]))
      return tn_graph_refuse(g, TN_ERR_INVALID, "add_node: an input is no value of the graph");
  return check_outputs(g, n);
}

/* The graphs among the attributes, numbered in the order of the attributes; the pass check
 * renumbers by schema. */
static tn_status collect_subgraphs(tn_graph *g, tn_gnode *n) {
  for (uint32_t k = 0; k < n->node.n_attrs; k++) n->n_subgraphs += n->node.attrs[k]->n_graphs;
  if (!n->n_subgraphs) return TN_OK;
  n->subgraphs = tn_arena_alloc(&g->arena, n->n_subgraphs * sizeof *n->subgraphs);
  if (!n->subgraphs) return TN_ERR_MEMORY;
  uint32_t at = 0;
  for (uint32_t k = 0; k < n->node.n_attrs; k++)
    for (uint32_t j = 0; j < n->node.attrs[k]->n_graphs; j++)
      n->subgraphs[at++] = n->node.attrs[k]->graphs[j];
  return TN_OK;
}

/* Most values are read once or twice, so the lists begin small. */
tn_status tn_graph_add_user(tn_graph *g, int32_t value, int32_t node) {
  tn_value *v = tn_graph_val(g, value);
  if (v->users.n == v->users.cap) {
    const int64_t cap = tn_max_i64(2, 2 * v->users.cap);
    int32_t *users = tn_arena_alloc(&g->arena, (uint64_t)cap * sizeof *users);
    if (!users) return TN_ERR_MEMORY;
    if (v->users.n) memcpy(users, v->users.data, (size_t)v->users.n * sizeof *users);
    v->users.data = users;
    v->users.cap = cap;
  }
  v->users.data[v->users.n++] = node;
  return TN_OK;
}

/* Behind all others a node is in order, unless one of those reads what it makes. */
static bool is_read(const tn_graph *g, const tn_node *n) {
  for (uint32_t k = 0; k < n->n_outputs; k++)
    if (n->outputs[k] >= 0 && tn_graph_val(g, n->outputs[k])->users.n) return true;
  return false;
}

static tn_status connect(tn_graph *g, int32_t id) {
  const tn_node *n = &tn_graph_node(g, id)->node;
  for (uint32_t k = 0; k < n->n_inputs; k++) {
    if (n->inputs[k] < 0 || !tn_graph_add_user(g, n->inputs[k], id)) continue;
    while (k-- > 0)
      if (n->inputs[k] >= 0) tn_graph_val(g, n->inputs[k])->users.n--;
    return TN_ERR_MEMORY;
  }
  for (uint32_t k = 0; k < n->n_outputs; k++)
    if (n->outputs[k] >= 0) tn_graph_val(g, n->outputs[k])->producer = id;
  return TN_OK;
}

int32_t tn_graph_add_node(tn_graph *g, const tn_node *node) {
  if (!g) return TN_ERR_INVALID;
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (g->nodes.n >= INT32_MAX) return TN_ERR_OVERFLOW;
  tn_status s = check_new_node(g, node);
  if (s) return s;
  tn_gnode n = {.alive = true, .n_formal = node->n_inputs, .origin = -1, .region_fill = -1};
  int32_t id = (int32_t)g->nodes.n;
  if ((s = tn_copy_node(g, node, &n.node)) || (s = collect_subgraphs(g, &n))) return s;
  if (g->lowering >= 0) {
    n.origin = tn_graph_node(g, g->lowering)->origin;
    n.declined = tn_graph_node(g, g->lowering)->declined;
    if (!n.node.version) n.node.version = TN_VERSION_NEWEST;
    n.node.offset = tn_graph_node(g, g->lowering)->node.offset;
  } else {
    n.origin = id;
  }
  if (tn_vec_room(g->a, &g->order, 1) || tn_vec_push(g->a, &g->nodes, n)) return TN_ERR_MEMORY;
  if (connect(g, id)) {
    g->nodes.n--;
    return TN_ERR_MEMORY;
  }
  g->order.data[g->order.n++] = id;
  g->unsorted = g->unsorted || is_read(g, &tn_graph_node(g, id)->node);
  g->n_edits++;
  return id;
}

tn_status tn_graph_set_const(tn_graph *g, int32_t value, const tn_tensor *type, tn_const *c) {
  tn_value *v = tn_graph_val(g, value);
  if (v->producer >= 0) return TN_ERR_STATE;
  tn_tensor own = tn_tensor_make(type->dtype, type->rank, type->shape, c->data);
  own.layout = type->layout;
  if (tn_graph_set_type(g, value, &own)) return TN_ERR_MEMORY;
  tn_const_retain(c);
  tn_const_release(v->constant);
  v->constant = c;
  v->flags |= TN_VALUE_CONST;
  v->known = true;
  return TN_OK;
}

const tn_attr *tn_node_attr(const tn_node *node, const char *name) {
  for (uint32_t k = 0; k < node->n_attrs; k++)
    if (!strcmp(node->attrs[k]->name, name)) return node->attrs[k];
  return NULL;
}

/* What makes nodes without a name known: their number, and what they make. */
static void number_text(const tn_graph *g, const tn_gnode *n, char *buf, size_t size) {
  const char *made = "";
  for (uint32_t k = 0; k < n->node.n_outputs && !*made; k++)
    if (n->node.outputs[k] >= 0) made = tn_graph_val(g, n->node.outputs[k])->name;
  snprintf(buf, size, "#%d%s%.70s%s", (int)(n - g->nodes.data), *made ? " that makes '" : "", made,
           *made ? "'" : "");
}

const char *tn_node_text(const tn_graph *g, const tn_gnode *n, char *buf, size_t size) {
  char name[100];
  const char *domain = n->node.domain;
  if (*n->node.name)
    snprintf(name, sizeof name, "'%.80s'", n->node.name);
  else
    number_text(g, n, name, sizeof name);
  snprintf(buf, size, "node %s (%.40s%s%.60s)", name, domain, *domain ? "::" : "", n->node.op);
  return buf;
}

const char *tn_value_text(const tn_graph *g, int32_t value, const tn_tensor *type, char *buf,
                          size_t size) {
  const char **names = tn_graph_val(g, value)->dim_names;
  if (!names || type->kind != TN_KIND_TENSOR || type->rank < 0)
    return tn_tensor_text(type, buf, size);
  int n = snprintf(buf, size, "%s[", tn_dtype_name(type->dtype));
  for (int32_t k = 0; k < type->rank && n >= 0 && (size_t)n < size; k++) {
    char dim[24] = "?";
    if (type->shape[k] >= 0) snprintf(dim, sizeof dim, "%lld", (long long)type->shape[k]);
    const bool named = type->shape[k] < 0 && names[k] && *names[k];
    n += snprintf(buf + n, size - (size_t)n, "%s%.40s", k ? "," : "", named ? names[k] : dim);
  }
  if (n >= 0 && (size_t)n < size) snprintf(buf + n, size - (size_t)n, "]");
  return buf;
}
