/* Helpers for the lower functions of operators: strided copies of up to 16 dims that become
 * regions, and the small things of writing nodes and constants into a graph. All use nothing but
 * call->host, so that they serve any part. */
#ifndef TN_KIT_LOWER_H
#define TN_KIT_LOWER_H

#include <stdbool.h>
#include <string.h>

#include "tenon/graph.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

enum { TN_MOVE_MAX_RANK = 2 * TN_MAX_RANK };

/* A strided copy as tn_region, with room for the dims that Tile and DepthToSpace split. */
typedef struct tn_move {
  int32_t input, rank;
  int64_t src_offset, dst_offset;
  int64_t size[TN_MOVE_MAX_RANK], src_stride[TN_MOVE_MAX_RANK], dst_stride[TN_MOVE_MAX_RANK];
} tn_move;

/* Adds a dim inside of those that are there. */
TN_KIT_FN void tn_move_push(tn_move *m, int64_t size, int64_t src_stride, int64_t dst_stride);

/* Regions being collected. The first problem sticks in status; later calls do nothing. */
typedef struct tn_moves {
  const tn_call *call;
  tn_graph *graph;
  tn_region *regions; /* memory of host->alloc; freed by tn_moves_become and tn_moves_drop */
  int64_t n, cap;
  tn_status status;
} tn_moves;

TN_KIT_FN tn_moves tn_moves_begin(const tn_call *call, tn_graph *graph);
/* Merges dims; a move that still has more than TN_MAX_RANK of them becomes several regions. Empty
 * moves vanish. */
TN_KIT_FN void tn_moves_add(tn_moves *moves, const tn_move *move);
/* One region: n elements from src_offset to dst_offset, both contiguous. */
TN_KIT_FN void tn_moves_add_run(tn_moves *moves, int32_t input, int64_t src_offset,
                                int64_t dst_offset, int64_t n);
/* Turns the node into tenon::Region; fill as for tn_graph_api.set_regions. Answers the status;
 * frees the regions. */
TN_KIT_FN tn_status tn_moves_become(tn_moves *moves, int32_t node, const int32_t *inputs,
                                    uint32_t n_inputs, int32_t fill);
/* Adds a new tenon::Region with an output of this type, which becomes *out_value. Keeps nothing of
 * the regions. */
TN_KIT_FN tn_status tn_moves_emit(tn_moves *moves, const tn_tensor *type, const int32_t *inputs,
                                  uint32_t n_inputs, int32_t fill, int32_t *out_value);
TN_KIT_FN void tn_moves_drop(tn_moves *moves);

/* The node is a copy of input `input`, element by element in row-major order, whatever the two
 * shapes: one region that the planner can make an alias. */
TN_KIT_FN tn_status tn_lower_to_alias(const tn_call *call, tn_graph *graph, int32_t node,
                                      uint32_t input);

/* Value id of input `input` of the node; -1: left out. */
TN_KIT_FN int32_t tn_node_input(const tn_call *call, const tn_graph *graph, int32_t node,
                                uint32_t input);

/* A new constant value; answers its id or a negative status. data is copied. */
TN_KIT_FN int32_t tn_emit_const(const tn_call *call, tn_graph *graph, const tn_tensor *data);
TN_KIT_FN int32_t tn_emit_ints(const tn_call *call, tn_graph *graph, const int64_t *data,
                               int64_t n); /* i64[n] */
TN_KIT_FN int32_t tn_emit_floats(const tn_call *call, tn_graph *graph, const double *data,
                                 int64_t n); /* f32[n] */

/* A constant of rank 0 and of this dtype, to which the number is rounded. */
TN_KIT_FN int32_t tn_emit_number(const tn_call *call, tn_graph *graph, uint32_t dtype,
                                 double number);

/* A new node of the newest version of `op` (domain ai.onnx) with one output, whose id is answered,
 * or a negative status. Negative inputs below -1 are statuses of tn_emit_...: they are answered. */
TN_KIT_FN int32_t tn_emit_node(const tn_call *call, tn_graph *graph, const char *name,
                               const char *op, const int32_t *inputs, uint32_t n_inputs,
                               const tn_attr *attrs, uint32_t n_attrs);

TN_KIT_FN tn_attr tn_attr_int(const char *name, int64_t i);
TN_KIT_FN tn_attr tn_attr_float(const char *name, double f);
TN_KIT_FN tn_attr tn_attr_str(const char *name, const char *text);
TN_KIT_FN tn_attr tn_attr_ints(const char *name, tn_ints ints);
TN_KIT_FN tn_attr tn_attr_graph(const char *name, tn_graph *const *graph);

/* Replaces the node by one of the newest version of `op` (domain ai.onnx; NULL: its own) with these
 * inputs (ids, perhaps those of the node itself; -1: left out), these attributes and as many
 * outputs. Negative ids below -1 are statuses of tn_emit_...: they are answered. */
TN_KIT_FN tn_status tn_lower_as(const tn_call *call, tn_graph *graph, int32_t node, const char *op,
                                const int32_t *inputs, uint32_t n_inputs, const tn_attr *attrs,
                                uint32_t n_attrs);
/* The same by an operator of Tenon's own domain. */
TN_KIT_FN tn_status tn_lower_to_own(const tn_call *call, tn_graph *graph, int32_t node,
                                    const char *op, const int32_t *inputs, uint32_t n_inputs,
                                    const tn_attr *attrs, uint32_t n_attrs);
/* Adds a node of the operator and version of node `like`, of as many outputs, with these inputs and
 * with its attributes, but for those of the same names in attrs, which it gets, too. out_values:
 * room for its outputs, new values. */
TN_KIT_FN tn_status tn_emit_like(const tn_call *call, tn_graph *graph, int32_t like,
                                 const int32_t *inputs, uint32_t n_inputs, const tn_attr *attrs,
                                 uint32_t n_attrs, int32_t *out_values);
/* Replaces the node by such a one. */
TN_KIT_FN tn_status tn_lower_like(const tn_call *call, tn_graph *graph, int32_t node, int32_t like,
                                  const int32_t *inputs, uint32_t n_inputs, const tn_attr *attrs,
                                  uint32_t n_attrs);
/* Replaces the node by the newest version of its own operator (domain ai.onnx), with the same
 * inputs and with all its attributes but those in `dropped`, a list that ends with NULL. */
TN_KIT_FN tn_status tn_lower_without(const tn_call *call, tn_graph *graph, int32_t node,
                                     const char *const *dropped);

#ifdef TN_KIT_BODIES

enum { LOWER_MAX_ATTRS = 24, LOWER_MAX_OUTPUTS = 8 };

TN_KIT_FN void tn_move_push(tn_move *m, int64_t size, int64_t src_stride, int64_t dst_stride) {
  int32_t k = m->rank++;
  m->size[k] = size;
  m->src_stride[k] = src_stride;
  m->dst_stride[k] = dst_stride;
}

TN_KIT_FN tn_moves tn_moves_begin(const tn_call *call, tn_graph *graph) {
  tn_moves moves = TN_KIT_ZERO;
  moves.call = call;
  moves.graph = graph;
  return moves;
}

TN_KIT_FN void tn_moves_drop(tn_moves *moves) {
  if (moves->regions) moves->call->host->free(moves->call->ctx, moves->regions);
  moves->regions = NULL;
  moves->n = moves->cap = 0;
}

static tn_region *tn_moves_new_region(tn_moves *moves) {
  if (moves->n == moves->cap) {
    int64_t cap = moves->cap ? 2 * moves->cap : 8;
    tn_region *more =
        (tn_region *)moves->call->host->alloc(moves->call->ctx, (uint64_t)cap * sizeof *more);
    if (!more) {
      moves->status = TN_ERR_MEMORY;
      return NULL;
    }
    if (moves->n) memcpy(more, moves->regions, (size_t)moves->n * sizeof *more);
    if (moves->regions) moves->call->host->free(moves->call->ctx, moves->regions);
    moves->regions = more;
    moves->cap = cap;
  }
  return &moves->regions[moves->n++];
}

/* Drops dims of size 1 and merges neighbours that both sides step through alike. False: the move is
 * empty. */
static inline bool tn_move_merge_dims(tn_move *m) {
  int32_t rank = 0;
  for (int32_t k = 0; k < m->rank; k++) {
    if (m->size[k] == 0) return false;
    if (m->size[k] == 1) continue;
    int32_t last = rank - 1;
    bool joins = last >= 0 && m->src_stride[last] == m->src_stride[k] * m->size[k] &&
                 m->dst_stride[last] == m->dst_stride[k] * m->size[k];
    int64_t size = m->size[k]; /* the slot it goes to may be its own */
    if (!joins) m->size[++last] = 1;
    m->size[last] *= size;
    m->src_stride[last] = m->src_stride[k];
    m->dst_stride[last] = m->dst_stride[k];
    rank = last + 1;
  }
  m->rank = rank;
  return true;
}

static inline void tn_moves_add_region(tn_moves *moves, const tn_move *m) {
  tn_region *r = tn_moves_new_region(moves);
  if (!r) return;
  const tn_region none = TN_KIT_ZERO;
  *r = none;
  r->head = (tn_head)TN_HEAD(tn_region);
  r->input = m->input;
  r->rank = m->rank;
  r->src_offset = m->src_offset;
  r->dst_offset = m->dst_offset;
  for (int32_t k = 0; k < m->rank; k++) {
    r->size[k] = m->size[k];
    r->src_stride[k] = m->src_stride[k];
    r->dst_stride[k] = m->dst_stride[k];
  }
}

/* The dim with the fewest steps. */
static inline int32_t tn_move_smallest_dim(const tn_move *m) {
  int32_t at = 0;
  for (int32_t k = 1; k < m->rank; k++)
    if (m->size[k] < m->size[at]) at = k;
  return at;
}

/* A dim too many is taken out and walked here. At most TN_MAX_RANK of them, so that an odometer of
 * that length is enough. */
static void tn_moves_add_unrolled(tn_moves *moves, tn_move *m) {
  int64_t size[TN_MAX_RANK], src[TN_MAX_RANK], dst[TN_MAX_RANK], at[TN_MAX_RANK] = {0};
  int32_t n = 0;
  for (; m->rank > TN_MAX_RANK; n++) {
    int32_t k = tn_move_smallest_dim(m);
    size[n] = m->size[k], src[n] = m->src_stride[k], dst[n] = m->dst_stride[k];
    m->rank--;
    for (; k < m->rank; k++) {
      m->size[k] = m->size[k + 1];
      m->src_stride[k] = m->src_stride[k + 1];
      m->dst_stride[k] = m->dst_stride[k + 1];
    }
  }
  for (int32_t k = 0; k >= 0 && !moves->status;) {
    tn_moves_add_region(moves, m);
    for (k = n - 1; k >= 0; k--) {
      m->src_offset += src[k];
      m->dst_offset += dst[k];
      if (++at[k] < size[k]) break;
      m->src_offset -= src[k] * size[k];
      m->dst_offset -= dst[k] * size[k];
      at[k] = 0;
    }
  }
}

TN_KIT_FN void tn_moves_add(tn_moves *moves, const tn_move *move) {
  tn_move m = *move;
  if (moves->status || !tn_move_merge_dims(&m)) return;
  if (m.rank > TN_MAX_RANK)
    tn_moves_add_unrolled(moves, &m);
  else
    tn_moves_add_region(moves, &m);
}

TN_KIT_FN void tn_moves_add_run(tn_moves *moves, int32_t input, int64_t src_offset,
                                int64_t dst_offset, int64_t n) {
  tn_move m = TN_KIT_ZERO;
  m.input = input;
  m.src_offset = src_offset;
  m.dst_offset = dst_offset;
  tn_move_push(&m, n, 1, 1);
  tn_moves_add(moves, &m);
}

TN_KIT_FN tn_status tn_moves_become(tn_moves *moves, int32_t node, const int32_t *inputs,
                                    uint32_t n_inputs, int32_t fill) {
  const tn_host *host = moves->call->host;
  tn_status s = moves->status;
  const tn_region **list =
      (const tn_region **)host->alloc(moves->call->ctx, (uint64_t)(moves->n + 1) * sizeof *list);
  int32_t *ids = (int32_t *)host->alloc(
      moves->call->ctx, (n_inputs + 1) * sizeof *ids); /* inputs may be those of the node itself */
  if (!s && (!list || !ids)) s = TN_ERR_MEMORY;
  if (!s) {
    for (int64_t k = 0; k < moves->n; k++) list[k] = &moves->regions[k];
    for (uint32_t k = 0; k < n_inputs; k++) ids[k] = inputs[k];
    s = host->graph->set_regions(moves->graph, node, ids, n_inputs, list, (uint32_t)moves->n, fill);
  }
  if (list) host->free(moves->call->ctx, list);
  if (ids) host->free(moves->call->ctx, ids);
  tn_moves_drop(moves);
  return s;
}

TN_KIT_FN tn_status tn_moves_emit(tn_moves *moves, const tn_tensor *type, const int32_t *inputs,
                                  uint32_t n_inputs, int32_t fill, int32_t *out_value) {
  const tn_graph_api *api = moves->call->host->graph;
  int32_t value = api->value(moves->graph, NULL);
  tn_status s = value < 0 ? value : api->value_set_type(moves->graph, value, type);
  tn_node made = TN_KIT_ZERO;
  made.head = (tn_head)TN_HEAD(tn_node);
  made.domain = "tenon";
  made.op = "Region";
  made.name = "";
  made.inputs = inputs;
  made.n_inputs = n_inputs;
  made.outputs = &value;
  made.n_outputs = 1;
  made.offset = -1;
  int32_t node = s ? s : api->add_node(moves->graph, &made);
  if (node < 0) {
    tn_moves_drop(moves);
    return node;
  }
  *out_value = value;
  return tn_moves_become(moves, node, inputs, n_inputs, fill);
}

TN_KIT_FN int32_t tn_node_input(const tn_call *call, const tn_graph *graph, int32_t node,
                                uint32_t input) {
  const tn_node *n = call->host->graph->node(graph, node);
  return n && input < n->n_inputs ? n->inputs[input] : -1;
}

TN_KIT_FN tn_status tn_lower_to_alias(const tn_call *call, tn_graph *graph, int32_t node,
                                      uint32_t input) {
  int32_t value = tn_node_input(call, graph, node, input);
  tn_moves moves = tn_moves_begin(call, graph);
  tn_moves_add_run(&moves, 0, 0, 0, tn_elements(call->inputs[input]));
  return tn_moves_become(&moves, node, &value, 1, -1);
}

TN_KIT_FN int32_t tn_emit_const(const tn_call *call, tn_graph *graph, const tn_tensor *data) {
  const tn_graph_api *api = call->host->graph;
  int32_t value = api->value(graph, NULL);
  tn_status s = value < 0 ? value : api->value_set_const(graph, value, data, 1);
  return s ? s : value;
}

TN_KIT_FN int32_t tn_emit_number(const tn_call *call, tn_graph *graph, uint32_t dtype,
                                 double number) {
  uint64_t storage[2] = {0}; /* a complex number takes both */
  tn_store_f64(dtype, storage, 0, number);
  const tn_tensor t = tn_tensor_make(dtype, 0, NULL, storage);
  return tn_emit_const(call, graph, &t);
}

TN_KIT_FN int32_t tn_emit_ints(const tn_call *call, tn_graph *graph, const int64_t *data,
                               int64_t n) {
  int64_t *copy = (int64_t *)call->host->alloc(call->ctx, (uint64_t)(n + 1) * sizeof *copy);
  if (!copy) return TN_ERR_MEMORY;
  if (n) memcpy(copy, data, (size_t)n * sizeof *copy);
  tn_tensor t = tn_tensor_make(TN_I64, 1, &n, copy);
  int32_t value = tn_emit_const(call, graph, &t);
  call->host->free(call->ctx, copy);
  return value;
}

TN_KIT_FN int32_t tn_emit_floats(const tn_call *call, tn_graph *graph, const double *data,
                                 int64_t n) {
  float *copy = (float *)call->host->alloc(call->ctx, (uint64_t)(n + 1) * sizeof *copy);
  if (!copy) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++) copy[k] = (float)data[k];
  tn_tensor t = tn_tensor_make(TN_F32, 1, &n, copy);
  int32_t value = tn_emit_const(call, graph, &t);
  call->host->free(call->ctx, copy);
  return value;
}

TN_KIT_FN int32_t tn_emit_node(const tn_call *call, tn_graph *graph, const char *name,
                               const char *op, const int32_t *inputs, uint32_t n_inputs,
                               const tn_attr *attrs, uint32_t n_attrs) {
  const tn_attr *list[LOWER_MAX_ATTRS];
  if (n_attrs > LOWER_MAX_ATTRS) return TN_ERR_INTERNAL;
  for (uint32_t k = 0; k < n_inputs; k++)
    if (inputs[k] < -1) return inputs[k];
  for (uint32_t k = 0; k < n_attrs; k++) list[k] = &attrs[k];
  const int32_t value = call->host->graph->value(graph, NULL);
  tn_node made = TN_KIT_ZERO;
  made.head = (tn_head)TN_HEAD(tn_node);
  made.domain = "";
  made.op = op;
  made.name = name;
  made.inputs = inputs;
  made.n_inputs = n_inputs;
  made.outputs = &value;
  made.n_outputs = 1;
  made.attrs = list;
  made.n_attrs = n_attrs;
  made.offset = -1;
  const int32_t id = value < 0 ? value : call->host->graph->add_node(graph, &made);
  return id < 0 ? id : value;
}

static inline tn_attr tn_attr_make(const char *name, uint32_t kind) {
  tn_attr a = TN_KIT_ZERO;
  a.head = (tn_head)TN_HEAD(tn_attr);
  a.name = name;
  a.kind = kind;
  return a;
}

TN_KIT_FN tn_attr tn_attr_int(const char *name, int64_t i) {
  tn_attr a = tn_attr_make(name, TN_ATTR_INT);
  a.i = i;
  return a;
}

TN_KIT_FN tn_attr tn_attr_float(const char *name, double f) {
  tn_attr a = tn_attr_make(name, TN_ATTR_FLOAT);
  a.f = f;
  return a;
}

TN_KIT_FN tn_attr tn_attr_str(const char *name, const char *text) {
  tn_attr a = tn_attr_make(name, TN_ATTR_STR);
  a.s.data = text;
  a.s.size = (int64_t)strlen(text);
  return a;
}

TN_KIT_FN tn_attr tn_attr_graph(const char *name, tn_graph *const *graph) {
  tn_attr a = tn_attr_make(name, TN_ATTR_GRAPH);
  a.graphs = graph;
  a.n_graphs = 1;
  return a;
}

TN_KIT_FN tn_attr tn_attr_ints(const char *name, tn_ints ints) {
  tn_attr a = tn_attr_make(name, TN_ATTR_INTS);
  a.ints = ints;
  return a;
}

/* Memory for so many inputs and as many outputs as the node has, which are new values; the inputs
 * are copied. The caller frees it. */
static inline tn_status tn_lower_begin(const tn_call *call, tn_graph *graph, int32_t node,
                                       const int32_t *inputs, uint32_t n_inputs,
                                       int32_t **out_ids) {
  const tn_graph_api *api = call->host->graph;
  const uint32_t n_outputs = api->node(graph, node)->n_outputs;
  int32_t *ids =
      (int32_t *)call->host->alloc(call->ctx, ((uint64_t)n_inputs + n_outputs + 1) * sizeof *ids);
  tn_status s = ids ? TN_OK : TN_ERR_MEMORY;
  if (!s && n_inputs) memcpy(ids, inputs, n_inputs * sizeof *ids);
  for (uint32_t k = 0; k < n_outputs && !s; k++) {
    const int32_t value = api->value(graph, NULL);
    ids[n_inputs + k] = value;
    if (value < 0) s = value;
  }
  if (s && ids) call->host->free(call->ctx, ids);
  *out_ids = s ? NULL : ids;
  return s;
}

/* What graph->node() shows lives until the graph changes: since tn_lower_begin() it has not. */
static inline tn_status tn_lower_replace_by(const tn_call *call, tn_graph *graph, int32_t node,
                                            tn_node *made) {
  const tn_graph_api *api = call->host->graph;
  const tn_node *old = api->node(graph, node);
  made->head = (tn_head)TN_HEAD(tn_node);
  if (!made->op) made->op = old->op;
  made->name = old->name;
  made->offset = old->offset;
  made->n_outputs = old->n_outputs;
  const int32_t id = api->add_node(graph, made);
  return id < 0 ? id : api->replace_node(graph, node, made->outputs, made->n_outputs);
}

static tn_status tn_lower_in(const tn_call *call, tn_graph *graph, int32_t node, const char *domain,
                             const char *op, const int32_t *inputs, uint32_t n_inputs,
                             const tn_attr *attrs, uint32_t n_attrs) {
  const tn_attr *list[LOWER_MAX_ATTRS];
  int32_t *ids;
  if (!call->host->graph->node(graph, node) || n_attrs > LOWER_MAX_ATTRS) return TN_ERR_INTERNAL;
  for (uint32_t k = 0; k < n_inputs; k++)
    if (inputs[k] < -1) return inputs[k];
  for (uint32_t k = 0; k < n_attrs; k++) list[k] = &attrs[k];
  tn_status s = tn_lower_begin(call, graph, node, inputs, n_inputs, &ids);
  if (s) return s;
  tn_node made = TN_KIT_ZERO;
  made.domain = domain;
  made.op = op;
  made.inputs = ids;
  made.n_inputs = n_inputs;
  made.outputs = ids + n_inputs;
  made.attrs = list;
  made.n_attrs = n_attrs;
  s = tn_lower_replace_by(call, graph, node, &made);
  call->host->free(call->ctx, ids);
  return s;
}

TN_KIT_FN tn_status tn_lower_as(const tn_call *call, tn_graph *graph, int32_t node, const char *op,
                                const int32_t *inputs, uint32_t n_inputs, const tn_attr *attrs,
                                uint32_t n_attrs) {
  return tn_lower_in(call, graph, node, "", op, inputs, n_inputs, attrs, n_attrs);
}

TN_KIT_FN tn_status tn_lower_to_own(const tn_call *call, tn_graph *graph, int32_t node,
                                    const char *op, const int32_t *inputs, uint32_t n_inputs,
                                    const tn_attr *attrs, uint32_t n_attrs) {
  return tn_lower_in(call, graph, node, "tenon", op, inputs, n_inputs, attrs, n_attrs);
}

static inline bool tn_attrs_have(const tn_attr *attrs, uint32_t n, const char *name) {
  uint32_t k = 0;
  while (k < n && strcmp(attrs[k].name, name)) k++;
  return k < n;
}

TN_KIT_FN tn_status tn_emit_like(const tn_call *call, tn_graph *graph, int32_t like,
                                 const int32_t *inputs, uint32_t n_inputs, const tn_attr *attrs,
                                 uint32_t n_attrs, int32_t *out_values) {
  const tn_graph_api *api = call->host->graph;
  const tn_attr *list[LOWER_MAX_ATTRS];
  if (!api->node(graph, like)) return TN_ERR_INTERNAL;
  for (uint32_t k = 0; k < n_inputs; k++)
    if (inputs[k] < -1) return inputs[k];
  const uint32_t n_outputs = api->node(graph, like)->n_outputs;
  for (uint32_t k = 0; k < n_outputs; k++)
    if ((out_values[k] = api->value(graph, NULL)) < 0) return out_values[k];
  tn_node made = *api->node(graph, like);
  uint32_t n = 0;
  for (uint32_t k = 0; k < made.n_attrs + n_attrs; k++) {
    const bool is_new = k >= made.n_attrs;
    const tn_attr *a = is_new ? &attrs[k - made.n_attrs] : made.attrs[k];
    if (!is_new && tn_attrs_have(attrs, n_attrs, a->name)) continue;
    if (n == LOWER_MAX_ATTRS) return TN_ERR_INTERNAL;
    list[n++] = a;
  }
  made.inputs = inputs;
  made.n_inputs = n_inputs;
  made.outputs = out_values;
  made.attrs = list;
  made.n_attrs = n;
  const int32_t id = api->add_node(graph, &made);
  return id < 0 ? id : TN_OK;
}

TN_KIT_FN tn_status tn_lower_like(const tn_call *call, tn_graph *graph, int32_t node, int32_t like,
                                  const int32_t *inputs, uint32_t n_inputs, const tn_attr *attrs,
                                  uint32_t n_attrs) {
  const tn_graph_api *api = call->host->graph;
  int32_t values[LOWER_MAX_OUTPUTS];
  if (!api->node(graph, like) || api->node(graph, like)->n_outputs > LOWER_MAX_OUTPUTS)
    return TN_ERR_INTERNAL;
  const tn_status s = tn_emit_like(call, graph, like, inputs, n_inputs, attrs, n_attrs, values);
  return s ? s : api->replace_node(graph, node, values, api->node(graph, node)->n_outputs);
}

static inline bool tn_name_is_one_of(const char *name, const char *const *list) {
  while (*list && strcmp(*list, name)) list++;
  return *list != NULL;
}

TN_KIT_FN tn_status tn_lower_without(const tn_call *call, tn_graph *graph, int32_t node,
                                     const char *const *dropped) {
  const tn_attr *list[LOWER_MAX_ATTRS];
  int32_t *outputs;
  if (!call->host->graph->node(graph, node)) return TN_ERR_INTERNAL;
  tn_status s = tn_lower_begin(call, graph, node, NULL, 0, &outputs);
  if (s) return s;
  const tn_node *old = call->host->graph->node(graph, node);
  tn_node made = TN_KIT_ZERO;
  made.domain = "";
  made.inputs = old->inputs;
  made.n_inputs = old->n_inputs;
  made.outputs = outputs;
  made.attrs = list;
  for (uint32_t k = 0; k < old->n_attrs && !s; k++) {
    if (tn_name_is_one_of(old->attrs[k]->name, dropped)) continue;
    if (made.n_attrs == LOWER_MAX_ATTRS)
      s = TN_ERR_INTERNAL;
    else
      list[made.n_attrs++] = old->attrs[k];
  }
  if (!s) s = tn_lower_replace_by(call, graph, node, &made);
  call->host->free(call->ctx, outputs);
  return s;
}

#endif

#endif
