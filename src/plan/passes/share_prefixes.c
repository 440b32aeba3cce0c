/* Concatenations that begin with another: Concat(a, b, c), where Concat(a, b) = t is there, becomes
 * Concat(t, c). Networks that hand all earlier results to each layer (DenseNet) are written so; as
 * each value can be made in place inside one other, arranging then needs no copy for any of them,
 * where it would have copied all but one. */
#include "plan/passes/passes.h"
#include "tenon/kit/checked.h"

static bool same_strides(const int64_t *a, const int64_t *b, const tn_region *r) {
  for (int32_t k = 0; k < r->rank; k++)
    if (r->size[k] != 1 && a[k] != b[k]) return false;
  return true;
}

/* True if both read the same elements of the same value, in the same order. */
static bool reads_alike(const tn_gnode *a, const tn_gnode *b, uint32_t k) {
  const tn_region *x = a->regions[k], *y = b->regions[k];
  if (x->rank != y->rank || x->src_offset != y->src_offset ||
      a->node.inputs[x->input] != b->node.inputs[y->input])
    return false;
  for (int32_t d = 0; d < x->rank; d++)
    if (x->size[d] != y->size[d]) return false;
  return same_strides(x->src_stride, y->src_stride, x);
}

/* The first `n` regions lie one behind the other along dim `d`: *out is all of them as one. */
static bool join(const tn_gnode *node, uint32_t n, int32_t d, tn_region *out) {
  *out = *node->regions[0];
  for (uint32_t k = 1; k < n; k++) {
    const tn_region *r = node->regions[k];
    int64_t end;
    if (r->rank != out->rank || tn_mul_i64(out->size[d], out->dst_stride[d], &end) ||
        tn_add_i64(end, out->dst_offset, &end) || r->dst_offset != end)
      return false;
    for (int32_t i = 0; i < r->rank; i++)
      if ((i != d && r->size[i] != out->size[i]) || r->dst_stride[i] != out->dst_stride[i])
        return false;
    if (tn_add_i64(out->size[d], r->size[d], &out->size[d])) return false;
  }
  return true;
}

/* True if the region is the whole of a dense tensor, each dim of it in its place. */
static bool is_whole(const tn_region *r, int64_t n_elements) {
  int64_t expect = 1;
  for (int32_t k = r->rank - 1; k >= 0; k--) {
    if (r->size[k] != 1 && r->dst_stride[k] != expect) return false;
    if (tn_mul_i64(expect, r->size[k], &expect)) return false;
  }
  return !r->dst_offset && expect == n_elements;
}

/* A value that no region reads may be made of `node`, which cannot read what depends on it. */
static bool reads_all_inputs(const tn_gnode *n) {
  for (uint32_t i = 0; i < n->node.n_inputs; i++) {
    bool found = false;
    for (uint32_t k = 0; k < n->n_regions && !found; k++)
      found = n->node.inputs[n->regions[k]->input] == n->node.inputs[i];
    if (!found) return false;
  }
  return true;
}

/* True if `node` begins with what `other` is made of: *out copies other's output to there. */
static bool begins_with(const tn_graph *g, const tn_gnode *node, const tn_gnode *other,
                        tn_region *out) {
  tn_region whole;
  const uint32_t n = other->n_regions;
  if (!other->alive || !tn_is_region(other) || other->n_epilogue || other->region_fill >= 0 ||
      n < 2 || n >= node->n_regions)
    return false;
  for (uint32_t k = 0; k < n; k++)
    if (!reads_alike(node, other, k)) return false;
  if (!reads_all_inputs(other)) return false;
  const tn_tensor *made = tn_graph_val(g, other->node.outputs[0])->type;
  for (int32_t d = 0; d < node->regions[0]->rank; d++) {
    if (!join(other, n, d, &whole) || !is_whole(&whole, tn_tensor_elements(made))) continue;
    if (!join(node, n, d, out)) continue;
    out->src_offset = 0;
    for (int32_t k = 0; k < out->rank; k++) out->src_stride[k] = whole.dst_stride[k];
    return true;
  }
  return false;
}

/* The longest beginning of the node that is there already; -1: none. */
static int32_t find_beginning(const tn_graph *g, int32_t node, tn_region *out) {
  const tn_gnode *n = tn_graph_node(g, node);
  const tn_value *first = tn_graph_val(g, n->node.inputs[n->regions[0]->input]);
  int32_t best = -1;
  for (int64_t k = first->users.n - 1; k >= 0; k--) { /* the longer ones come later, as a rule */
    const int32_t id = first->users.data[k];
    tn_region joined;
    if (id == node ||
        (best >= 0 && tn_graph_node(g, id)->n_regions <= tn_graph_node(g, best)->n_regions) ||
        !begins_with(g, n, tn_graph_node(g, id), &joined))
      continue;
    best = id;
    *out = joined;
  }
  return best;
}

static tn_status begin_with(const tn_planner *p, tn_graph *g, int32_t node, int32_t other,
                            tn_region *joined, tn_diag *diag) {
  const tn_gnode *n = tn_graph_node(g, node), *o = tn_graph_node(g, other);
  const uint32_t rest = n->n_regions - o->n_regions;
  int32_t *inputs = tn_arena_alloc(&g->arena, (rest + 1) * sizeof *inputs);
  tn_region *made = tn_arena_alloc(&g->arena, rest * sizeof *made);
  const tn_region **regions = tn_arena_alloc(&g->arena, (rest + 1) * sizeof *regions);
  if (!inputs || !made || !regions) return TN_ERR_MEMORY;
  joined->input = 0;
  regions[0] = joined;
  inputs[0] = o->node.outputs[0];
  for (uint32_t k = 0; k < rest; k++) {
    made[k] = *n->regions[o->n_regions + k];
    inputs[k + 1] = n->node.inputs[made[k].input];
    made[k].input = (int32_t)k + 1;
    regions[k + 1] = &made[k];
  }
  tn_status s = tn_graph_set_regions(g, node, inputs, rest + 1, regions, rest + 1, -1);
  return s ? s : tn_check_from(p, g, node, diag);
}

tn_status tn_share_region_prefixes(const tn_planner *p, tn_graph *g, bool *out_changed,
                                   tn_diag *diag) {
  *out_changed = false;
  tn_status s = tn_graph_sort(g, diag);
  /* From the end, where the longer ones are: the beginning of each is still whole then. */
  for (int64_t at = g->order.n - 1; at >= 0 && !s; at--) {
    const int32_t id = g->order.data[at];
    const tn_gnode *n = tn_graph_node(g, id);
    tn_region joined;
    if (!tn_is_region(n) || n->n_regions < 3 || n->n_epilogue || n->region_fill >= 0) continue;
    const int32_t other = find_beginning(g, id, &joined);
    if (other < 0) continue;
    s = begin_with(p, g, id, other, &joined, diag);
    *out_changed = true;
  }
  return s ? s : tn_graph_remove_dead(g);
}
