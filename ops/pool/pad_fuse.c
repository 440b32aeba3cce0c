/* Rewrites: a Pad before a pool becomes pads of the pool, where that gives the same: of an average
 * with zeros that count, of a maximum with what is never the largest. */
#include "pool.gen.h"
#include "tenon/kit/window_fuse.h"

static bool is_padded(const tn_pattern *p, const tn_node *n, tn_padded *out) {
  const tn_attr *kernel = n ? tn_pattern_attr(n, "kernel_shape", TN_ATTR_INTS) : NULL;
  /* With ceil_mode, which windows there are depends on whose the pads are. */
  return kernel && n->n_outputs == 1 && !tn_pattern_int(n, "ceil_mode", 0) &&
         tn_pattern_type(p, n->inputs[0]) &&
         tn_pattern_type(p, n->inputs[0])->rank == kernel->ints.size + 2 &&
         tn_window_padded_input(p, n, kernel->ints.data, out);
}

tn_status average_pool_pad_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  tn_padded d;
  tn_attr attrs[TN_PADDED_ATTRS + 1];
  if (!is_padded(&p, n, &d) || d.fill != 0) return TN_OK;
  if (d.has_own && !tn_pattern_int(n, "count_include_pad", 0)) return TN_OK;
  tn_window_padded_attrs(&d, attrs);
  attrs[TN_PADDED_ATTRS] = tn_attr_int("count_include_pad", 1);
  return tn_lower_like(call, graph, node, node, &d.from, 1, attrs, TN_PADDED_ATTRS + 1);
}

/* Nothing in the value is less than zero. */
static bool is_positive(const tn_pattern *p, int32_t value) {
  static const char *const ops[] = {"Relu", "Sigmoid", "Abs", "Softmax", "HardSigmoid"};
  const tn_node *clip = tn_pattern_node(p, value, "Clip");
  double least, most = 0;
  for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
    if (tn_pattern_node(p, value, ops[k])) return true;
  return clip && tn_pattern_number(p, tn_pattern_input(clip, 1), &least) && least >= 0 &&
         (tn_pattern_input(clip, 2) < 0 || tn_pattern_number(p, clip->inputs[2], &most)) &&
         most >= 0;
}

/* Every window holds an element that is no pad: where taps are apart, it may not. */
static bool is_dense(const tn_node *n) {
  const tn_attr *dilations = tn_pattern_attr(n, "dilations", TN_ATTR_INTS);
  for (int64_t k = 0; dilations && k < dilations->ints.size; k++)
    if (dilations->ints.data[k] != 1) return false;
  return true;
}

tn_status max_pool_pad_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  tn_padded d;
  tn_attr attrs[TN_PADDED_ATTRS];
  if (!is_padded(&p, n, &d) || !is_dense(n)) return TN_OK;
  if (!(d.fill <= 0 && is_positive(&p, d.from)) && d.fill != -(double)INFINITY) return TN_OK;
  if (!(TN_MASK(tn_pattern_type(&p, d.from)->dtype) & TN_MASK_FLOAT)) return TN_OK;
  tn_window_padded_attrs(&d, attrs);
  return tn_lower_like(call, graph, node, node, &d.from, 1, attrs, TN_PADDED_ATTRS);
}
