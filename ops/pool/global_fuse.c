/* Rewrite: ReduceMean over all spatial dims becomes GlobalAveragePool, which reads blocked layouts,
 * too. Of rank 3, the mean over the last dim is rather a part of a normalisation. */
#include "pool.gen.h"
#include "tenon/kit/region_dims.h"

/* The axes, constant ones, are 2 .. rank - 1. */
static bool is_spatial(const tn_pattern *p, const tn_node *n, int32_t rank) {
  const tn_tensor *axes = tn_pattern_type(p, tn_pattern_input(n, 1));
  uint32_t mask = 0;
  if (!axes || !axes->data || axes->dtype != TN_I64) return false;
  for (int64_t k = 0; k < tn_elements(axes); k++) {
    const int64_t axis = ((const int64_t *)axes->data)[k];
    mask |= UINT32_C(1) << (axis < 0 ? axis + rank : axis);
  }
  return mask == (UINT32_C(1) << rank) - 4;
}

tn_status global_average_pool_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const tn_tensor *x = n ? tn_pattern_type(&p, n->inputs[0]) : NULL,
                  *y = n ? tn_pattern_type(&p, n->outputs[0]) : NULL;
  int32_t in = n ? n->inputs[0] : -1, from, perm[TN_MAX_RANK];
  if (!x || !y || x->dtype != TN_F32 || x->rank < 4 || !is_spatial(&p, n, x->rank) ||
      (tn_pattern_is_read(&p, in, 1) && tn_region_transposes(&p, in, &from, perm)))
    return TN_OK; /* a transpose before a reduction goes first */
  if (y->rank == x->rank)
    return tn_lower_as(call, graph, node, "GlobalAveragePool", &in, 1, NULL, 0);
  tn_tensor type = tn_tensor_make(TN_F32, x->rank, x->shape, NULL);
  for (int32_t k = 2; k < x->rank; k++) type.shape[k] = 1;
  const int64_t size = tn_elements(&type);
  int32_t pooled = p.api->value(graph, NULL);
  n = p.api->node(graph, node); /* what it shows lives until the graph changes */
  const tn_node made = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "GlobalAveragePool",
                        .name = n->name,
                        .n_inputs = 1,
                        .inputs = &in,
                        .n_outputs = 1,
                        .outputs = &pooled,
                        .offset = n->offset};
  tn_status s = pooled < 0 ? pooled : p.api->value_set_type(graph, pooled, &type);
  const int32_t id = s ? s : p.api->add_node(graph, &made);
  if (id < 0) return id;
  tn_moves moves = tn_moves_begin(call, graph);
  tn_moves_add_run(&moves, 0, 0, 0, size);
  return tn_moves_become(&moves, node, &pooled, 1, -1);
}
