/* tn_graph_api: the graph as formats, lowerings, rewrites and compilers see it. Ids are checked;
 * whatever a plug-in passes gives an error, never a crash. */
#include <string.h>

#include "base/abi.h"
#include "graph/copy.h"
#include "graph/graph.h"

static bool is_value(const tn_graph *g, int32_t v) { return g && v >= 0 && v < g->values.n; }
static bool is_node(const tn_graph *g, int32_t n) {
  return g && n >= 0 && n < g->nodes.n && g->nodes.data[n].alive;
}

static tn_graph *writable(const tn_graph *g) { /* reading may have to bring the order up to date */
  union {
    const tn_graph *in;
    tn_graph *out;
  } cast = {g};
  return cast.out;
}

/* ---- reading only ---- */

void tn_graph_close(const tn_graph *g) {
  writable(g)->complaint = NULL;
  writable(g)->closed = true;
}

const char *tn_graph_open(const tn_graph *g) {
  const char *rule = g->complaint;
  writable(g)->closed = false;
  writable(g)->complaint = NULL;
  return rule;
}

/* ---- building ---- */

/* Inputs and outputs are those of the model: lowerings and rewrites leave them as they are. */
static bool is_fixed(const tn_graph *g, int32_t value) {
  return g->lowering >= 0 && tn_graph_val(g, value)->flags & TN_VALUE_INPUT;
}

static const char edits_inputs[] = "inputs and outputs of the graph cannot be changed here";

static bool dims_ok(const tn_tensor *type) {
  for (int32_t k = 0; k < type->rank; k++)
    if (type->shape[k] < TN_DIM_UNKNOWN) return false;
  return true;
}

static bool strings_ok(const tn_tensor *data) {
  const tn_str *s = data->data;
  const int64_t n = data->dtype == TN_STRING ? tn_storage_elements(data) : 0;
  for (int64_t k = 0; k < n; k++)
    if (s[k].size < 0 || (s[k].size && !s[k].data)) return false;
  return true;
}

/* The type of what may take the place of a default; the default must be of it. */
static tn_status set_default_type(tn_graph *g, int32_t value, const tn_tensor *type) {
  const tn_tensor *have = tn_graph_val(g, value)->type;
  tn_default *d = NULL;
  for (int64_t k = 0; k < g->defaults.n && !d; k++)
    if (g->defaults.data[k].value == value) d = &g->defaults.data[k];
  if (!d) return tn_graph_refuse(g, TN_ERR_STATE, "value_set_type: the value is a constant");
  bool fits = type->kind == TN_KIND_TENSOR && type->dtype == have->dtype &&
              (type->rank == TN_RANK_UNKNOWN || type->rank == have->rank);
  for (int32_t k = 0; fits && k < type->rank; k++)
    fits = type->shape[k] < 0 || type->shape[k] == have->shape[k];
  if (!fits) return TN_ERR_SHAPE;
  tn_copy_head(&d->type, type, sizeof d->type);
  d->type.data = NULL;
  return TN_OK;
}

static bool is_of_type(const tn_graph *g, int32_t value, const tn_tensor *type) {
  const tn_tensor *have = tn_graph_val(g, value)->type;
  return have->kind == type->kind && have->dtype == type->dtype && tn_same_shape(have, type);
}

static tn_status value_set_type(tn_graph *g, int32_t value, const tn_tensor *type) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!is_value(g, value) || !type || type->rank > TN_MAX_RANK || type->rank < TN_RANK_UNKNOWN ||
      type->dtype >= TN_DTYPE_COUNT || type->kind > TN_KIND_MAP || !dims_ok(type))
    return tn_graph_refuse(g, TN_ERR_INVALID,
                           "value_set_type: no value, or its dtype, rank, a dim or kind is none");
  if (is_fixed(g, value)) return tn_graph_refuse(g, TN_ERR_STATE, edits_inputs);
  if (g->lowering >= 0 && value < g->old_values && !is_of_type(g, value, type))
    return tn_graph_refuse(g, TN_ERR_STATE,
                           "value_set_type: of values that were there before the edit, what makes "
                           "them says the type");
  tn_value *v = tn_graph_val(g, value);
  if (v->constant) return set_default_type(g, value, type);
  tn_tensor own;
  tn_copy_head(&own, type, sizeof own);
  own.data = NULL;
  return tn_graph_set_type(g, value, &own);
}

/* The memory of the model's file in which all these bytes lie; NULL: there is none. */
static const tn_mapped_range *mapped_of(const tn_graph *g, const void *data, uint64_t bytes) {
  while (g->parent) g = g->parent;
  const uintptr_t at = (uintptr_t)data;
  for (int64_t k = 0; k < g->mapped_ranges.n; k++) {
    const tn_mapped_range *l = &g->mapped_ranges.data[k];
    const uintptr_t begin = (uintptr_t)l->data;
    if (at >= begin && at - begin <= l->size && bytes <= l->size - (at - begin)) return l;
  }
  return NULL;
}

static bool is_being_read(const tn_graph *g) {
  while (g->parent) g = g->parent;
  return g->mapped_ranges.n > 0;
}

/* Inference and the like never look into weights. */
static bool is_weights(const tn_tensor *t, uint64_t bytes) {
  return bytes >= TN_LATE_BYTES && t->rank >= 1 &&
         (t->dtype == TN_F32 || t->dtype == TN_F64 || t->dtype == TN_F16 || t->dtype == TN_BF16);
}

static tn_status make_const(tn_graph *g, const tn_tensor *data, uint64_t bytes, bool copy,
                            tn_const **out) {
  const tn_mapped_range *l = mapped_of(g, data->data, bytes);
  *out = NULL;
  if (!l && is_being_read(g)) copy = true; /* whoever lends other memory may take it back */
  if (l && !l->is_lazy) l = NULL;
  /* One of a few bytes would keep a page of the file in memory, or a huge one. */
  if (l && l->is_mapped && bytes < TN_LATE_BYTES) copy = true;
  if (copy && l && is_weights(data, bytes))
    *out = tn_const_lazy(g->a, data->data, bytes, l->is_mapped);
  if (*out) return TN_OK;
  if (copy) return tn_const_copy(g->a, data, out);
  *out = l ? tn_const_of_file(g->a, data->data, bytes, l->is_mapped)
           : tn_const_borrow(g->a, data->data, bytes);
  return *out ? TN_OK : TN_ERR_MEMORY;
}

static tn_status value_set_const(tn_graph *g, int32_t value, const tn_tensor *data, int32_t copy) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!is_value(g, value) || !data || data->rank < 0 || data->rank > TN_MAX_RANK ||
      data->kind != TN_KIND_TENSOR)
    return tn_graph_refuse(g, TN_ERR_INVALID, "value_set_const: no value, or no tensor");
  if (is_fixed(g, value)) return tn_graph_refuse(g, TN_ERR_STATE, edits_inputs);
  int64_t bytes = tn_storage_bytes(data);
  if (bytes < 0 || (bytes > 0 && !data->data) || !strings_ok(data))
    return tn_graph_refuse(g, TN_ERR_INVALID,
                           "value_set_const: the tensor has no data, or its dtype or size is none");
  tn_const *c = NULL;
  tn_status s = make_const(g, data, (uint64_t)bytes, copy != 0, &c);
  if (s) return s;
  s = tn_graph_set_const(g, value, data, c);
  tn_const_release(c);
  return s;
}

tn_status tn_graph_set_scaled(tn_graph *g, int32_t value, int32_t of, const double *numbers,
                              int64_t n) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!is_value(g, value) || !is_value(g, of) || !numbers)
    return tn_graph_refuse(g, TN_ERR_INVALID, "scaled_const: no value, or no numbers");
  if (is_fixed(g, value)) return tn_graph_refuse(g, TN_ERR_STATE, edits_inputs);
  const tn_value *from = tn_graph_val(g, of);
  if (!from->constant || from->type->dtype != TN_F32) return TN_ERR_UNSUPPORTED;
  tn_const *c = tn_const_scaled(g->a, from->constant, numbers, n);
  if (!c) return TN_ERR_UNSUPPORTED;
  const tn_status s = tn_graph_set_const(g, value, from->type, c);
  tn_const_release(c);
  return s;
}

static tn_status value_set_dim_name(tn_graph *g, int32_t value, int32_t dim, const char *name) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!is_value(g, value) || dim < 0 || dim >= TN_MAX_RANK || !name) return TN_ERR_INVALID;
  tn_value *v = tn_graph_val(g, value);
  const char *copy = tn_arena_str(&g->arena, name);
  const char **names = tn_arena_alloc(&g->arena, TN_MAX_RANK * sizeof *names);
  if (!copy || !names) return TN_ERR_MEMORY;
  if (v->dim_names) memcpy(names, v->dim_names, TN_MAX_RANK * sizeof *names);
  names[dim] = copy;
  v->dim_names = names; /* anew: clones share the old ones */
  return TN_OK;
}

static tn_status add_input(tn_graph *g, int32_t value) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!is_value(g, value)) return TN_ERR_INVALID;
  tn_value *v = tn_graph_val(g, value);
  if (g->lowering >= 0) return tn_graph_refuse(g, TN_ERR_STATE, edits_inputs);
  if (v->producer >= 0 || v->flags & TN_VALUE_INPUT)
    return tn_graph_refuse(g, TN_ERR_STATE, "add_input: the value is an input, or a node makes it");
  tn_default d = {value, *v->type};
  d.type.data = NULL;
  if (v->constant && !g->parent ? tn_vec_push(g->a, &g->defaults, d)
                                : tn_vec_push(g->a, &g->inputs, value))
    return TN_ERR_MEMORY;
  v->flags |= TN_VALUE_INPUT;
  return TN_OK;
}

static tn_status add_output(tn_graph *g, int32_t value) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!is_value(g, value))
    return tn_graph_refuse(g, TN_ERR_INVALID, "add_output: it is no value of the graph");
  if (g->lowering >= 0) return tn_graph_refuse(g, TN_ERR_STATE, edits_inputs);
  if (tn_vec_push(g->a, &g->outputs, value)) return TN_ERR_MEMORY;
  tn_graph_val(g, value)->flags |= TN_VALUE_OUTPUT;
  return TN_OK;
}

bool tn_graph_is_too_deep(const tn_graph *g) {
  int depth = 0;
  for (; g; g = g->parent) depth++;
  return depth > TN_MAX_GRAPH_DEPTH;
}

static tn_graph *subgraph_new(tn_graph *g) {
  if (!g || tn_graph_refuse_closed(g)) return NULL;
  if (tn_graph_is_too_deep(g)) {
    while (g->parent) g = g->parent; /* whose words are told */
    tn_graph_refuse(g, TN_ERR_OVERFLOW, "subgraph_new: graphs are nested more than 128 deep");
    return NULL;
  }
  tn_graph *sub = tn_graph_new(g->a);
  if (!sub) return NULL;
  sub->parent = g;
  if (!tn_vec_push(g->a, &g->subgraphs, sub)) return sub;
  tn_graph_free(sub);
  return NULL;
}

const char *tn_plain_domain(const char *domain) {
  return domain && strcmp(domain, "ai.onnx") ? domain : "";
}

static tn_status set_opset(tn_graph *g, const char *domain, int32_t version) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!g) return TN_ERR_INVALID;
  domain = tn_plain_domain(domain);
  for (int64_t k = 0; k < g->opsets.n; k++)
    if (!strcmp(g->opsets.data[k].domain, domain)) {
      g->opsets.data[k].version = version;
      return TN_OK;
    }
  tn_opset o = {tn_arena_str(&g->arena, domain), version};
  return o.domain ? tn_vec_push(g->a, &g->opsets, o) : TN_ERR_MEMORY;
}

static tn_status set_meta(tn_graph *g, const char *key, const char *text) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!g || !key) return tn_graph_refuse(g, TN_ERR_INVALID, "set_meta: the key is NULL");
  tn_meta m = {tn_arena_str(&g->arena, key), tn_arena_str(&g->arena, text)};
  if (!m.key || !m.text) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < g->meta.n; k++)
    if (!strcmp(g->meta.data[k].key, key)) {
      g->meta.data[k] = m;
      return TN_OK;
    }
  return tn_vec_push(g->a, &g->meta, m);
}

/* ---- reading ---- */

static const char *meta(const tn_graph *g, const char *key) {
  for (int64_t k = 0; k < g->meta.n; k++)
    if (!strcmp(g->meta.data[k].key, key)) return g->meta.data[k].text;
  return NULL;
}

static int32_t opset(const tn_graph *g, const char *domain) {
  domain = tn_plain_domain(domain);
  for (; g; g = g->parent)
    for (int64_t k = 0; k < g->opsets.n; k++)
      if (!strcmp(g->opsets.data[k].domain, domain)) return g->opsets.data[k].version;
  return 0;
}

static int32_t n_inputs(const tn_graph *g) { return (int32_t)g->inputs.n; }
static int32_t n_outputs(const tn_graph *g) { return (int32_t)g->outputs.n; }
static int32_t n_values(const tn_graph *g) { return (int32_t)g->values.n; }
static int32_t n_opsets(const tn_graph *g) { return (int32_t)g->opsets.n; }
static int32_t input(const tn_graph *g, int32_t k) {
  int64_t behind = k - g->inputs.n; /* inputs that have a default */
  if (k < 0 || behind >= g->defaults.n) return TN_ERR_NOT_FOUND;
  return behind < 0 ? g->inputs.data[k] : g->defaults.data[behind].value;
}
static const tn_tensor *input_type(const tn_graph *g, int32_t k) {
  const int64_t behind = k - g->inputs.n;
  if (k < 0 || behind >= g->defaults.n) return NULL;
  return behind < 0 ? tn_graph_val(g, g->inputs.data[k])->type : &g->defaults.data[behind].type;
}
static int32_t output(const tn_graph *g, int32_t k) {
  return k >= 0 && k < g->outputs.n ? g->outputs.data[k] : TN_ERR_NOT_FOUND;
}

static int32_t n_nodes(const tn_graph *g) {
  (void)tn_graph_sort(writable(g), NULL);
  return (int32_t)g->order.n;
}

static int32_t node_at(const tn_graph *g, int32_t k) {
  return k >= 0 && k < n_nodes(g) ? g->order.data[k] : TN_ERR_NOT_FOUND;
}
static const tn_node *node(const tn_graph *g, int32_t n) {
  return is_node(g, n) ? &g->nodes.data[n].node : NULL;
}
static const void *node_attrs(const tn_graph *g, int32_t n) {
  return is_node(g, n) ? g->nodes.data[n].attrs : NULL;
}

static const tn_region *const *node_regions(const tn_graph *g, int32_t n, uint32_t *out_n) {
  *out_n = is_node(g, n) ? g->nodes.data[n].n_regions : 0;
  return *out_n ? g->nodes.data[n].regions : NULL;
}

static const char *value_name(const tn_graph *g, int32_t v) {
  return is_value(g, v) ? tn_graph_val(g, v)->name : NULL;
}
/* For those who may read the elements at any time from now on. */
static const tn_tensor *value_shown(const tn_graph *g, int32_t v) {
  if (!is_value(g, v) || tn_const_show(tn_graph_val(g, v)->constant)) return NULL;
  return tn_graph_val(g, v)->type;
}
static const tn_tensor *value_type(const tn_graph *g, int32_t v) {
  const tn_graph *root = g;
  while (root && root->parent) root = root->parent;
  if (root && (root->shows || root->closed)) return value_shown(g, v);
  return is_value(g, v) ? tn_graph_val(g, v)->type : NULL;
}
static uint32_t value_flags(const tn_graph *g, int32_t v) {
  return is_value(g, v) ? tn_graph_val(g, v)->flags : 0;
}
static int32_t value_producer(const tn_graph *g, int32_t v) {
  return is_value(g, v) ? tn_graph_val(g, v)->producer : -1;
}
static int32_t value_n_users(const tn_graph *g, int32_t v) {
  return is_value(g, v) ? (int32_t)tn_graph_val(g, v)->users.n : 0;
}

static int32_t value_user(const tn_graph *g, int32_t v, int32_t k) {
  return k >= 0 && k < value_n_users(g, v) ? tn_graph_val(g, v)->users.data[k] : TN_ERR_NOT_FOUND;
}

static const char *opset_at(const tn_graph *g, int32_t k, int32_t *out_version) {
  if (k < 0 || k >= g->opsets.n) return NULL;
  *out_version = g->opsets.data[k].version;
  return g->opsets.data[k].domain;
}

static const char *value_dim_name(const tn_graph *g, int32_t v, int32_t dim) {
  const bool has = is_value(g, v) && dim >= 0 && dim < TN_MAX_RANK && tn_graph_val(g, v)->dim_names;
  return has ? tn_graph_val(g, v)->dim_names[dim] : NULL;
}

static int32_t n_meta(const tn_graph *g) { return (int32_t)g->meta.n; }

static const char *meta_at(const tn_graph *g, int32_t k, const char **out_text) {
  if (k < 0 || k >= g->meta.n) return NULL;
  *out_text = g->meta.data[k].text;
  return g->meta.data[k].key;
}

static int32_t n_functions(const tn_graph *g) { return (int32_t)g->functions.n; }

static uint32_t node_n_formal(const tn_graph *g, int32_t n) {
  return is_node(g, n) ? g->nodes.data[n].n_formal : 0;
}

static const tn_graph *node_graph(const tn_graph *g, int32_t n, uint32_t k) {
  return is_node(g, n) && k < g->nodes.data[n].n_subgraphs ? g->nodes.data[n].subgraphs[k] : NULL;
}

static int32_t capture(const tn_graph *g, int32_t k, int32_t *out_outer) {
  if (k < 0 || k >= g->captures.n) return TN_ERR_NOT_FOUND;
  *out_outer = g->captures.data[k].outer;
  return g->captures.data[k].inner;
}

static const tn_epilogue *const *node_epilogue(const tn_graph *g, int32_t n, uint32_t *out_n) {
  *out_n = is_node(g, n) ? g->nodes.data[n].n_epilogue : 0;
  return *out_n ? g->nodes.data[n].epilogue : NULL;
}

static int32_t node_region_fill(const tn_graph *g, int32_t n) {
  return is_node(g, n) ? g->nodes.data[n].region_fill : -1;
}

/* ---- editing ---- */

static tn_status remove_node(tn_graph *g, int32_t n) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (is_node(g, n)) return tn_graph_remove_node(g, n);
  return tn_graph_refuse(g, TN_ERR_INVALID, "remove_node: there is no such node");
}

static tn_status replace_node(tn_graph *g, int32_t n, const int32_t *values, uint32_t n_given) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!is_node(g, n) || (n_given && !values))
    return tn_graph_refuse(g, TN_ERR_INVALID, "replace_node: no such node, or values is NULL");
  for (uint32_t k = 0; k < g->nodes.data[n].node.n_outputs; k++) {
    int32_t old = g->nodes.data[n].node.outputs[k], now = k < n_given ? values[k] : -1;
    if (old < 0) continue;
    const tn_value *v = tn_graph_val(g, old);
    if (now < 0 && !v->users.n && !(v->flags & TN_VALUE_OUTPUT)) continue;
    tn_status s = tn_graph_move_value(g, old, now);
    if (s) return s;
  }
  return tn_graph_remove_node(g, n);
}

/* Two tables that differ in one member. */
#define MEMBERS(value_type_)                                                                       \
  .head = TN_HEAD(tn_graph_api), .value = tn_graph_value, .value_set_type = value_set_type,        \
  .value_set_const = value_set_const, .value_set_dim_name = value_set_dim_name,                    \
  .add_input = add_input, .add_output = add_output, .add_node = tn_graph_add_node,                 \
  .subgraph_new = subgraph_new, .set_opset = set_opset, .set_meta = set_meta,                      \
  .add_function = tn_graph_add_function, .meta = meta, .opset = opset, .n_inputs = n_inputs,       \
  .n_outputs = n_outputs, .input = input, .input_type = input_type, .output = output,              \
  .n_nodes = n_nodes, .node_at = node_at, .node = node, .node_regions = node_regions,              \
  .value_name = value_name, .value_type = value_type_, .value_flags = value_flags,                 \
  .value_producer = value_producer, .value_n_users = value_n_users, .value_user = value_user,      \
  .n_values = n_values, .n_opsets = n_opsets, .opset_at = opset_at,                                \
  .value_dim_name = value_dim_name, .node_attrs = node_attrs,                                      \
  .replace_value = tn_graph_replace_value, .remove_node = remove_node,                             \
  .replace_node = replace_node, .set_regions = tn_graph_set_regions, .n_meta = n_meta,             \
  .meta_at = meta_at, .n_functions = n_functions, .function_at = tn_graph_function_at,             \
  .node_n_formal = node_n_formal, .node_graph = node_graph, .capture = capture,                    \
  .node_epilogue = node_epilogue, .node_region_fill = node_region_fill,                            \
  .state_new = tn_graph_state_new, .state_set = tn_graph_state_set, .n_states = tn_graph_n_states, \
  .state_at = tn_graph_state_at, .entry_add = tn_graph_entry_add, .n_entries = tn_graph_n_entries, \
  .entry_at = tn_graph_entry_at

const tn_graph_api tn_graph_api_table = {MEMBERS(value_type)};
const tn_graph_api tn_graph_show_table = {MEMBERS(value_shown)};
