/* The call of an operator or kernel while planning: tensors filled from the graph, and the host
 * services that make sense before anything runs (failing, memory, needs_data, looking into
 * subgraphs). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "plan/plan.h"
#include "tenon/device.h"
#include "tenon/experimental/scaled_const.h"

void tn_unknown_type(tn_tensor *t, const tn_tensor *type) {
  *t = tn_tensor_make(type->dtype, TN_RANK_UNKNOWN, NULL, NULL);
  t->kind = type->kind;
}

/* Every argument of the schema has an entry, also those that the node leaves out at the end. */
static tn_status fill_tensors(tn_call_frame *f, const int32_t *ids, uint32_t n, bool outputs,
                              tn_tensor **tensors, tn_tensor ***pointers) {
  uint64_t room = tn_node_entries(tn_graph_node(f->graph, f->node), outputs);
  *tensors = tn_arena_alloc(&f->arena, ((uint64_t)n + 1) * sizeof **tensors);
  *pointers = tn_arena_alloc(&f->arena, (room + 1) * sizeof **pointers);
  if (!*tensors || !*pointers) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n; k++) {
    if (ids[k] < 0) continue;
    const tn_value *v = tn_graph_val(f->graph, ids[k]);
    tn_tensor *t = &(*tensors)[k];
    if (v->known || outputs)
      *t = *v->type; /* of an output, what inference could say: its type, if not its dims */
    else
      tn_unknown_type(t, v->type);
    if (outputs) t->data = NULL;
    (*pointers)[k] = t;
  }
  return TN_OK;
}

tn_status tn_call_open(tn_call_frame *f, const tn_planner *p, tn_graph *g, int32_t node,
                       tn_diag *diag) {
  memset(f, 0, offsetof(tn_call_frame, room));
  f->planner = p;
  f->graph = g;
  f->node = node;
  f->diag = diag;
  f->needed_input = UINT32_MAX;
  tn_arena_init_in(&f->arena, p->a, f->room, sizeof f->room);
  const tn_gnode *n = tn_graph_node(g, node);
  tn_tensor **in, **out;
  tn_status s = fill_tensors(f, n->node.inputs, n->node.n_inputs, false, &f->in, &in);
  if (!s) s = fill_tensors(f, n->node.outputs, n->node.n_outputs, true, &f->out, &out);
  if (s) {
    tn_call_close(f);
    return s;
  }
  f->call = (tn_call){.head = TN_HEAD(tn_call),
                      .host = &tn_plan_host,
                      .ctx = f,
                      .self = n->def && n->def->owner ? n->def->owner->self : NULL,
                      .attrs = n->attrs,
                      .version = n->node.version,
                      .n_inputs = n->node.n_inputs,
                      .n_outputs = n->node.n_outputs,
                      .n_workers = p->pool ? (uint32_t)tn_pool_n_threads(p->pool) : 1,
                      .inputs = (const tn_tensor *const *)in,
                      .outputs = out,
                      .epilogue = n->epilogue,
                      .n_epilogue = n->n_epilogue,
                      .regions = n->regions,
                      .n_regions = n->n_regions,
                      .region_fill = n->region_fill,
                      .onnx_opset = p->onnx_opset,
                      .isa = p->isa};
  s = n->n_subgraphs ? tn_call_fetch(f) : TN_OK; /* bodies may be bound to copies of inputs */
  if (!s && n->def) s = tn_call_fetch_for(f, n->def->owner);
  if (s) tn_call_close(f);
  return s;
}

void tn_call_close(tn_call_frame *f) {
  for (int64_t k = 0; k < f->fetched.n; k++) {
    tn_const_drop(f->fetched.data[k]);
    tn_const_release(f->fetched.data[k]);
  }
  tn_vec_free(f->arena.a, &f->fetched);
  for (uint32_t k = 0; f->bodies && k < tn_graph_node(f->graph, f->node)->n_subgraphs; k++)
    tn_graph_free(f->bodies[k]);
  tn_arena_clear(&f->arena);
}

static tn_status fetch_value(tn_call_frame *f, const tn_graph *g, int32_t value) {
  tn_const *c = tn_graph_val(g, value)->constant;
  if (!c || !c->source) return TN_OK;
  for (int64_t k = 0; k < f->fetched.n; k++)
    if (f->fetched.data[k] == c) return TN_OK;
  if (tn_vec_room(f->arena.a, &f->fetched, 1) || tn_const_fetch(c)) return TN_ERR_MEMORY;
  f->fetched.data[f->fetched.n++] = tn_const_retain(c);
  return TN_OK;
}

tn_status tn_call_fetch(tn_call_frame *f) {
  const tn_node *n = &tn_graph_node(f->graph, f->node)->node;
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n->n_inputs && !s; k++)
    if (n->inputs[k] >= 0) s = fetch_value(f, f->graph, n->inputs[k]);
  return s;
}

tn_status tn_call_fetch_for(tn_call_frame *f, const tn_part_owner *owner) {
  return tn_is_lazy(owner) ? TN_OK : tn_call_fetch(f);
}

/* ---- services ---- */

static __attribute__((format(printf, 3, 4)))
tn_status(call_fail)(void *ctx, tn_status code, const char *format, ...) {
  tn_call_frame *f = ctx;
  char text[1000], node[TN_NODE_TEXT] = "a node";
  va_list args;
  if (!ctx || !format) return code;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  if (f->graph && f->node >= 0)
    tn_node_text(f->graph, tn_graph_node(f->graph, f->node), node, sizeof node);
  tn_diag_add(f->diag, TN_DIAG_ERROR, "%s: %s", node, text);
  return code;
}

static __attribute__((format(printf, 3, 4))) void host_log(void *ctx, uint32_t level,
                                                           const char *format, ...) {
  tn_call_frame *f = ctx;
  char text[1001], node[TN_NODE_TEXT] = "a node";
  va_list args;
  if (!ctx || !format) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (f->graph && f->node >= 0)
    tn_node_text(f->graph, tn_graph_node(f->graph, f->node), node, sizeof node);
  tn_diag_add(f->diag, tn_log_severity(level), "%s: %s", node, text);
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  return tn_alloc_sized(((tn_call_frame *)ctx)->planner->a, bytes);
}
static void host_free(void *ctx, void *memory) {
  tn_free_sized(((tn_call_frame *)ctx)->planner->a, memory);
}

static tn_status needs_data(void *ctx, uint32_t input) {
  tn_call_frame *f = ctx;
  if (input >= f->call.n_inputs || !f->call.inputs[input]) return TN_ERR_INVALID;
  f->needed_input = input;
  return TN_NEEDS_DATA;
}

static tn_status not_now(void *ctx, const char *service) {
  return call_fail(ctx, TN_ERR_STATE, "calls the host's %s, which is there only while running",
                   service);
}

static tn_status output_resize(void *ctx, uint32_t output, int32_t rank, const int64_t *shape) {
  (void)output, (void)rank, (void)shape;
  return not_now(ctx, "output_resize");
}

static tn_status string_set(void *ctx, uint32_t output, int64_t index, const char *data,
                            int64_t size) {
  (void)output, (void)index, (void)data, (void)size;
  return not_now(ctx, "string_set");
}

static int64_t list_size(void *ctx, const tn_tensor *list) {
  (void)list;
  return not_now(ctx, "list_size");
}

static const tn_tensor *list_item(void *ctx, const tn_tensor *list, int64_t index) {
  (void)list, (void)index;
  (void)not_now(ctx, "list_item");
  return NULL;
}

static tn_status list_append(void *ctx, uint32_t output, const tn_tensor *item) {
  (void)output, (void)item;
  return not_now(ctx, "list_append");
}

static tn_status list_append_map(void *ctx, uint32_t output, const tn_tensor *keys,
                                 const tn_tensor *values) {
  (void)output, (void)keys, (void)values;
  return not_now(ctx, "list_append_map");
}

static tn_status subgraph_run(void *ctx, int64_t graph, uint32_t n_in, const tn_tensor *const *in,
                              uint32_t n_out, const tn_tensor **out) {
  (void)graph, (void)n_in, (void)in, (void)n_out, (void)out;
  return not_now(ctx, "subgraph_run");
}

static void value_release(void *ctx, const tn_tensor *value) { (void)ctx, (void)value; }

static tn_status output_set(void *ctx, uint32_t output, const tn_tensor *value) {
  (void)output, (void)value;
  return not_now(ctx, "output_set");
}

static tn_status fetch(void *ctx, const tn_graph *g, int32_t value) {
  tn_call_frame *f = ctx;
  if (!f->graph) return TN_ERR_INVALID;
  if (!g) {
    const tn_node *n = &tn_graph_node(f->graph, f->node)->node;
    if (value < 0 || (uint32_t)value >= n->n_inputs) return TN_ERR_INVALID;
    g = f->graph;
    value = n->inputs[value];
    if (value < 0) return TN_OK; /* left out */
  }
  if (value < 0 || value >= g->values.n) return TN_ERR_INVALID;
  return fetch_value(f, g, value);
}

static const void *get_extension(void *ctx, const char *name) {
  static const tn_scaled_const scaled_const = {TN_HEAD(tn_scaled_const), tn_graph_set_scaled};
  (void)ctx;
  return strcmp(name, TN_SCALED_CONST) ? NULL : &scaled_const;
}

tn_status tn_call_take_bodies(tn_call_frame *f) {
  const tn_gnode *n = tn_graph_node(f->graph, f->node);
  for (uint32_t k = 0; f->bodies && k < n->n_subgraphs; k++) {
    if (!f->bodies[k]) continue;
    if (tn_vec_push(f->graph->a, &f->graph->subgraphs, f->bodies[k])) return TN_ERR_MEMORY;
    n->subgraphs[k] = f->bodies[k];
    f->bodies[k] = NULL;
  }
  return TN_OK;
}

const tn_host tn_plan_host = {.head = TN_HEAD(tn_host),
                              .graph = &tn_graph_api_table,
                              .fail = call_fail,
                              .log = host_log,
                              .alloc = host_alloc,
                              .free = host_free,
                              .needs_data = needs_data,
                              .output_resize = output_resize,
                              .string_set = string_set,
                              .list_size = list_size,
                              .list_item = list_item,
                              .list_append = list_append,
                              .subgraph_shape = tn_call_subgraph_shape,
                              .subgraph_infer = tn_call_subgraph_infer,
                              .subgraph_run = subgraph_run,
                              .value_release = value_release,
                              .output_set = output_set,
                              .fetch = fetch,
                              .get_extension = get_extension,
                              .list_append_map = list_append_map};
