/* Rewrite: a Pad with zeros before a Conv becomes pads of the Conv. */
#include "conv.gen.h"
#include "tenon/kit/window_fuse.h"

tn_status conv_pad_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const tn_tensor *w = n ? tn_pattern_type(&p, n->inputs[1]) : NULL;
  tn_padded d;
  tn_attr attrs[TN_PADDED_ATTRS];
  if (!w || w->rank < 3 || !tn_window_padded_input(&p, n, w->shape + 2, &d) || d.fill != 0)
    return TN_OK;
  tn_window_padded_attrs(&d, attrs);
  const int32_t inputs[3] = {d.from, n->inputs[1], tn_pattern_input(n, 2)};
  return tn_lower_like(call, graph, node, node, inputs, inputs[2] < 0 ? 2 : 3, attrs,
                       TN_PADDED_ATTRS);
}
