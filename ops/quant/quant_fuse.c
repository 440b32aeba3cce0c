/* Rewrites: what stands between DequantizeLinear and QuantizeLinear is done on the quantised values
 * themselves, where that gives the same bits.
 *
 *   Quantize(Dequantize(q)), same numbers    q
 *   Region, MaxPool, Gather, Resize of Dequantize(q)         Dequantize of it of q
 *   Quantize(Region(x, y))                   Region(Quantize(x), Quantize(y))
 *   Quantize(Relu(x)), Quantize(Clip(x))     Quantize(x), if what is cut off saturates anyway
 *   Quantize([Relu|Clip](Dequantize(a) + Dequantize(b)))     tenon::QuantAdd; of *: QuantMul
 *
 * Regions are what Reshape, Transpose, Concat, Slice, Pad and the like have become by then. */
#include "quant.gen.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/qdq.h"
#include "tenon/kit/text.h"

/* ---- moved down ---- */

/* DequantizeLinear of q takes the node's place; like: a value that one like it makes. */
static tn_status dequantize_instead(const tn_call *call, tn_graph *graph, int32_t node, int32_t q,
                                    int32_t like) {
  const tn_graph_api *api = call->host->graph;
  const tn_node *old = api->node(graph, api->value_producer(graph, like));
  const int32_t inputs[3] = {q, old->inputs[1], tn_pattern_input(old, 2)};
  return tn_lower_as(call, graph, node, "DequantizeLinear", inputs, inputs[2] < 0 ? 2 : 3, NULL, 0);
}

/* What the inputs of a node hold that only moves elements. */
typedef struct moved {
  tn_qdq q;
  int32_t *from; /* values of bytes; of the host's memory */
  int64_t n;     /* elements of all */
} moved;

/* All inputs but `fill` are dequantised with the same numbers. */
static bool are_dequantized(const tn_pattern *p, const tn_node *n, int32_t fill, moved *out) {
  bool is_first = true;
  for (int32_t k = 0; k < (int32_t)n->n_inputs; k++) {
    tn_qdq q;
    if (k == fill) continue;
    if (!tn_qdq_dequantized(p, n->inputs[k], &out->from[k], &q)) return false;
    if (!is_first && !tn_qdq_same(&q, &out->q)) return false;
    /* an input of a body has no shape, though what is made of it may have one */
    if (!tn_pattern_type(p, out->from[k])) return false;
    const int64_t size = tn_elements(p->api->value_type(p->graph, n->inputs[k]));
    if (size < 0) return false;
    out->q = q;
    out->n += size;
    is_first = false;
  }
  return !is_first;
}

/* Bytes of what the regions leave uncovered: *out is -1 if there is nothing of that kind, or if
 * zeros will do. */
static bool fill_of(const tn_pattern *p, const tn_node *n, int32_t fill, int64_t uncovered,
                    bool is_quantized, const tn_qdq *q, int32_t *out) {
  double number = 0;
  *out = -1;
  if (uncovered == 0) return true;
  if (fill >= 0 && !tn_pattern_number(p, n->inputs[fill], &number)) return false;
  const float want = (float)number;
  const int32_t at = tn_qdq_quantize(q, want);
  const float is = tn_qdq_dequantize(q, at);
  if (at != 0) *out = at & 0xff;
  return is_quantized || !memcmp(&is, &want, sizeof is);
}

/* The regions of the node once more, from these values of bytes, which it has for each input of the
 * node but the one that fills, and room for one more; fill: the byte where there are none, -1:
 * zero. */
static tn_status move_bytes(const tn_call *call, tn_graph *graph, int32_t node, moved *m,
                            int32_t fill, int32_t *out_value) {
  const tn_graph_api *api = call->host->graph;
  const tn_node *n = api->node(graph, node);
  const tn_tensor *old = api->value_type(graph, n->outputs[0]);
  const tn_tensor type = tn_tensor_make(m->q.dtype, old->rank, old->shape, NULL);
  const uint8_t byte = (uint8_t)fill;
  const tn_tensor filling = tn_tensor_make(m->q.dtype, 0, NULL, (void *)(uintptr_t)&byte);
  const int32_t old_fill = api->node_region_fill(graph, node);
  uint32_t n_regions, n_inputs = n->n_inputs;
  const tn_region *const *regions = api->node_regions(graph, node, &n_regions);
  tn_moves moves = tn_moves_begin(call, graph);
  for (uint32_t k = 0; k < n_regions; k++) {
    const tn_region *r = regions[k];
    tn_move move = {.input = r->input, .src_offset = r->src_offset, .dst_offset = r->dst_offset};
    if (old_fill >= 0 && r->input > old_fill) move.input--;
    for (int32_t d = 0; d < r->rank; d++)
      tn_move_push(&move, r->size[d], r->src_stride[d], r->dst_stride[d]);
    tn_moves_add(&moves, &move);
  }
  if (old_fill >= 0) {
    n_inputs--;
    memmove(m->from + old_fill, m->from + old_fill + 1,
            (n_inputs - (uint32_t)old_fill) * sizeof *m->from);
  }
  if (fill < 0) return tn_moves_emit(&moves, &type, m->from, n_inputs, -1, out_value);
  const int32_t value = tn_emit_const(call, graph, &filling);
  if (value < 0) {
    tn_moves_drop(&moves);
    return value;
  }
  m->from[n_inputs] = value;
  return tn_moves_emit(&moves, &type, m->from, n_inputs + 1, (int32_t)n_inputs, out_value);
}

/* How many elements of its output the node's regions leave out; -1: it is no Region of known
 * size. */
static int64_t uncovered_by(const tn_pattern *p, int32_t node) {
  const tn_node *region = tn_pattern_root(p, node);
  if (!region || strcmp(region->op, "Region") || strcmp(region->domain, "tenon")) return -1;
  const tn_tensor *type = tn_pattern_type(p, region->outputs[0]);
  uint32_t n;
  int64_t sum = 0;
  const tn_region *const *regions = p->api->node_regions(p->graph, node, &n);
  for (uint32_t k = 0; k < n; k++) sum += tn_dims_size(regions[k]->size, regions[k]->rank);
  return type && n ? tn_elements(type) - sum : -1;
}

static tn_status region_of_bytes(const tn_call *call, tn_graph *graph, int32_t node, moved *m) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = p.api->node(graph, node);
  const int32_t fill = p.api->node_region_fill(graph, node), out = n->outputs[0];
  const int64_t uncovered = uncovered_by(&p, node);
  int32_t byte, value;
  if (uncovered < 0 || !are_dequantized(&p, n, fill, m)) return TN_OK;
  const bool is_quantized = tn_qdq_is_quantized(&p, out, &m->q);
  /* What becomes much more by it is better moved as it is. */
  if (!is_quantized && tn_elements(p.api->value_type(graph, out)) / 2 > m->n) return TN_OK;
  if (!fill_of(&p, n, fill, uncovered, is_quantized, &m->q, &byte)) return TN_OK;
  const int32_t like = n->inputs[fill == 0];
  const tn_status s = move_bytes(call, graph, node, m, byte, &value);
  return s ? s : dequantize_instead(call, graph, node, value, like);
}

typedef tn_status (*with_moved_fn)(const tn_call *call, tn_graph *graph, int32_t node, moved *m);

/* With room for a value for each input of the region, and one more. */
static tn_status with_moved(const tn_call *call, tn_graph *graph, int32_t node, int32_t region,
                            with_moved_fn f) {
  const uint32_t n = call->host->graph->node(graph, region)->n_inputs;
  moved m = {.from = call->host->alloc(call->ctx, (n + 1) * sizeof *m.from)};
  if (!m.from) return TN_ERR_MEMORY;
  const tn_status s = f(call, graph, node, &m);
  call->host->free(call->ctx, m.from);
  return s;
}

tn_status dequantize_below_region(const tn_call *call, tn_graph *graph, int32_t node) {
  return with_moved(call, graph, node, node, region_of_bytes);
}

/* Resize mixes neighbours, or fills in, unless it says otherwise. */
static bool picks(const tn_node *n) {
  for (uint32_t k = 0; k < n->n_attrs && !strcmp(n->op, "Resize"); k++) {
    const tn_attr *a = n->attrs[k];
    if (!strcmp(a->name, "mode") && !tn_str_is(a->s, "nearest")) return false;
    if (!strcmp(a->name, "coordinate_transformation_mode") && tn_str_is(a->s, "tf_crop_and_resize"))
      return false;
  }
  return true;
}

enum { MAX_INPUTS = 4 };

/* The node, of one output and few inputs, once more, but of bytes for its input 0; then
 * DequantizeLinear. */
static tn_status dequantize_below(const tn_call *call, tn_graph *graph, int32_t node,
                                  int32_t bytes) {
  const tn_graph_api *api = call->host->graph;
  const int32_t out = api->value(graph, NULL), like = api->node(graph, node)->inputs[0];
  if (out < 0) return out;
  tn_node made = *api->node(graph, node);
  int32_t inputs[MAX_INPUTS] = {bytes};
  for (uint32_t k = 1; k < made.n_inputs; k++) inputs[k] = made.inputs[k];
  made.inputs = inputs;
  made.outputs = &out;
  const int32_t id = api->add_node(graph, &made);
  return id < 0 ? id : dequantize_instead(call, graph, node, out, like);
}

static bool has_pads(const tn_node *n) {
  for (uint32_t k = 0; k < n->n_attrs; k++) {
    const tn_attr *a = n->attrs[k];
    if (!strcmp(a->name, "pads"))
      for (int64_t i = 0; i < a->ints.size; i++)
        if (a->ints.data[i] != 0) return true;
    if (!strcmp(a->name, "auto_pad") && a->s.size > 4 && !memcmp(a->s.data, "SAME", 4)) return true;
  }
  return tn_pattern_int(n, "ceil_mode", 0) != 0;
}

/* The largest of what was dequantised is the dequantised largest. Windows that lie in pads
 * altogether give -inf, which only quantising makes the least of the bytes. */
tn_status dequantize_below_max_pool(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  int32_t from;
  tn_qdq q;
  if (!n || n->n_outputs != 1 || !tn_qdq_dequantized(&p, n->inputs[0], &from, &q)) return TN_OK;
  if (has_pads(n) && !tn_qdq_is_quantized(&p, n->outputs[0], &q)) return TN_OK;
  return dequantize_below(call, graph, node, from);
}

/* Gather and the like, Resize to the nearest: each element is one of input 0. */
tn_status dequantize_below_pick(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  int32_t from;
  tn_qdq q;
  if (!n || n->n_outputs != 1 || n->n_inputs > MAX_INPUTS || !picks(n) ||
      !tn_qdq_dequantized(&p, n->inputs[0], &from, &q))
    return TN_OK;
  const tn_tensor *x = tn_pattern_type(&p, n->inputs[0]), *y = tn_pattern_type(&p, n->outputs[0]);
  const bool is_less = x && y && tn_elements(y) <= tn_elements(x);
  if (!is_less && !tn_qdq_is_quantized(&p, n->outputs[0], &q)) return TN_OK;
  return dequantize_below(call, graph, node, from);
}

/* ---- quantised again ---- */

static tn_status become_add(const tn_call *call, tn_graph *graph, int32_t node, const char *op,
                            const int32_t inputs[2], const tn_qdq of[2], const tn_qdq *y,
                            const int32_t bounds[2]) {
  const tn_attr list[] = {tn_attr_float("a_scale", (double)of[0].scale),
                          tn_attr_int("a_zero", of[0].zero),
                          tn_attr_float("b_scale", (double)of[1].scale),
                          tn_attr_int("b_zero", of[1].zero),
                          tn_attr_float("y_scale", (double)y->scale),
                          tn_attr_int("y_zero", y->zero),
                          tn_attr_int("y_dtype", y->dtype),
                          tn_attr_int("lo", bounds[0]),
                          tn_attr_int("hi", bounds[1])};
  return tn_lower_to_own(call, graph, node, op, inputs, 2, list, sizeof list / sizeof *list);
}

/* The value that the bytes are a function of, if it is one. */
static int32_t argument_of(const tn_pattern *p, int32_t bytes) {
  const int32_t id = p->api->value_producer(p->graph, bytes);
  const tn_node *n = tn_pattern_root(p, id);
  return n && !strcmp(n->domain, "tenon") && !strcmp(n->op, "QuantTable") ? n->inputs[0] : bytes;
}

/* *out_found: it was a sum or a product, and not of functions of one value, which a table holds. */
static tn_status add_of(const tn_call *call, tn_graph *graph, int32_t node, int32_t x,
                        const tn_qdq *y, const int32_t bounds[2], bool *out_found) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *add = tn_pattern_inner(&p, x, "Add"), *mul = tn_pattern_inner(&p, x, "Mul"),
                *pair = add ? add : mul;
  int32_t inputs[2];
  tn_qdq of[2];
  *out_found = false;
  for (int k = 0; k < 2; k++)
    if (!pair || !tn_qdq_dequantized(&p, pair->inputs[k], &inputs[k], &of[k])) return TN_OK;
  if (argument_of(&p, inputs[0]) == argument_of(&p, inputs[1])) return TN_OK;
  *out_found = true;
  return become_add(call, graph, node, add ? "QuantAdd" : "QuantMul", inputs, of, y, bounds);
}

/* ---- moved up ---- */

/* Another node like this QuantizeLinear, of x. Answers its value, whose type is known at once. */
static int32_t quantize_too(const tn_pattern *p, int32_t node, int32_t x, uint32_t dtype) {
  const int32_t out = p->api->value(p->graph, NULL);
  if (out < 0) return out;
  tn_tensor type = *p->api->value_type(p->graph, x);
  type.dtype = dtype;
  type.data = NULL;
  const tn_status typed = p->api->value_set_type(p->graph, out, &type);
  if (typed) return typed;
  tn_node made = *p->api->node(p->graph, node);
  int32_t inputs[3] = {x, made.inputs[1], tn_pattern_input(&made, 2)};
  made.inputs = inputs;
  made.outputs = &out;
  const tn_status s = p->api->add_node(p->graph, &made);
  return s < 0 ? s : out;
}

/* Quantises what the region reads, and moves bytes. */
static tn_status quantize_parts(const tn_call *call, tn_graph *graph, int32_t node, moved *m) {
  const tn_pattern p = {call->host->graph, graph};
  const int32_t region = p.api->value_producer(graph, p.api->node(graph, node)->inputs[0]),
                fill = p.api->node_region_fill(graph, region);
  const uint32_t n = p.api->node(graph, region)->n_inputs;
  int32_t x, byte, out;
  tn_qdq_quantizes(&p, node, &x, &m->q);
  if (!fill_of(&p, p.api->node(graph, region), fill, uncovered_by(&p, region), true, &m->q, &byte))
    return TN_OK;
  for (uint32_t k = 0; k < n; k++) {
    if ((int32_t)k == fill) continue;
    m->from[k] = quantize_too(&p, node, p.api->node(graph, region)->inputs[k], m->q.dtype);
    if (m->from[k] < 0) return m->from[k];
  }
  const tn_status s = move_bytes(call, graph, region, m, byte, &out);
  return s ? s : p.api->replace_node(graph, node, &out, 1);
}

/* Where that is not more to quantise. */
static tn_status quantize_above_region(const tn_call *call, tn_graph *graph, int32_t node,
                                       int32_t x) {
  const tn_pattern p = {call->host->graph, graph};
  const int32_t region = p.api->value_producer(graph, x);
  if (region < 0 || !tn_pattern_is_read(&p, x, 1) || uncovered_by(&p, region) < 0) return TN_OK;
  const tn_node *n = p.api->node(graph, region);
  int64_t left = tn_elements(p.api->value_type(graph, x));
  for (int32_t k = 0; k < (int32_t)n->n_inputs; k++) {
    const tn_tensor *t = tn_pattern_type(&p, n->inputs[k]);
    if (!t) return TN_OK;
    if (k != p.api->node_region_fill(graph, region)) left -= tn_elements(t);
  }
  return left >= 0 ? with_moved(call, graph, node, region, quantize_parts) : TN_OK;
}

tn_status quantize_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  int32_t x, from, bounds[2];
  tn_qdq y, q;
  bool found;
  if (!tn_qdq_quantizes(&p, node, &x, &y)) return TN_OK;
  if (tn_qdq_dequantized(&p, x, &from, &q))
    return tn_qdq_same(&q, &y) ? p.api->replace_node(graph, node, &from, 1) : TN_OK;
  const int32_t inner = tn_qdq_bounds(&p, x, &y, bounds);
  const tn_status s = add_of(call, graph, node, inner, &y, bounds, &found);
  if (s || found) return s;
  if (inner == x) return quantize_above_region(call, graph, node, x);
  if (bounds[0] > tn_qdq_lowest(&y) || bounds[1] < tn_qdq_highest(&y)) return TN_OK;
  const tn_node *n = p.api->node(graph, node);
  const int32_t inputs[3] = {inner, n->inputs[1], tn_pattern_input(n, 2)};
  const tn_attr dtype = tn_attr_int("output_dtype", y.dtype == TN_I8 ? 3 : 2);
  return tn_lower_as(call, graph, node, NULL, inputs, inputs[2] < 0 ? 2 : 3, &dtype, inputs[2] < 0);
}
