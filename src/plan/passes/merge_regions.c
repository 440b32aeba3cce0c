/* Merging regions: a strided copy of a strided copy is one strided copy if the outer walk can be
 * said in the dims of the inner one: each of its dims steps along one inner dim, and those that
 * share one do not leave it together. Saves the intermediate tensor: Transpose of Reshape of Slice,
 * Slice of Transpose, and so on; and Transpose of a Concat or Pad, whose own regions then write to
 * where it would. */
#include <string.h>

#include "plan/passes/passes.h"

/* True if the region writes its whole output once, in row-major order of its own dims. */
static bool covers(const tn_region *r, int64_t n_out) {
  int64_t expect = 1;
  if (r->dst_offset || !n_out) return false;
  for (int32_t k = r->rank - 1; k >= 0; k--) {
    if (r->size[k] != 1 && r->dst_stride[k] != expect) return false;
    if (tn_mul_i64(expect, r->size[k], &expect)) return false;
  }
  return expect == n_out;
}

/* Rewrites `outer`, which reads the output of `inner`, to read inner's input instead. false: it
 * cannot be said so. */
static bool compose(const tn_region *inner, const tn_region *outer, tn_region *out) {
  int64_t low[TN_MAX_RANK], high[TN_MAX_RANK], rest = outer->src_offset; /* where the walk gets */
  *out = *outer;
  out->src_offset = inner->src_offset;
  for (int32_t k = 0; k < inner->rank; k++) {
    int64_t step = inner->dst_stride[k];
    low[k] = high[k] = inner->size[k] > 1 ? rest / step : 0;
    if (inner->size[k] > 1) rest %= step;
    out->src_offset += low[k] * inner->src_stride[k];
  }
  if (rest) return false;
  for (int32_t d = 0; d < outer->rank; d++) {
    if (outer->size[d] == 1 || outer->src_stride[d] == 0) {
      out->src_stride[d] = 0;
      continue;
    }
    int64_t stride = outer->src_stride[d], size = stride < 0 ? -stride : stride;
    int32_t k = 0;
    while (k < inner->rank && (inner->size[k] == 1 || inner->dst_stride[k] > size)) k++;
    if (k == inner->rank || size % inner->dst_stride[k]) return false;
    *(stride < 0 ? &low[k] : &high[k]) += stride / inner->dst_stride[k] * (outer->size[d] - 1);
    out->src_stride[d] = stride / inner->dst_stride[k] * inner->src_stride[k];
  }
  for (int32_t k = 0; k < inner->rank; k++)
    if (low[k] < 0 || high[k] >= inner->size[k]) return false;
  return true;
}

/* The one region of the node that makes the value, if merging through it is possible. */
static const tn_region *source_region(const tn_graph *g, int32_t value, int32_t *out_input) {
  const tn_value *v = tn_graph_val(g, value);
  if (v->producer < 0) return NULL;
  const tn_gnode *n = tn_graph_node(g, v->producer);
  if (!tn_is_region(n) || n->n_regions != 1 || n->n_epilogue ||
      !covers(n->regions[0], tn_tensor_elements(v->type)))
    return NULL;
  *out_input = n->node.inputs[n->regions[0]->input];
  return n->regions[0];
}

/* Regions that read the value by way of `inner`, in `made`: as many as read that input of the node.
 * *out_n: how many; -1: one cannot be said so. */
static tn_status compose_all(tn_graph *g, const tn_gnode *n, uint32_t input, const tn_region *inner,
                             tn_region **made, int64_t *out_n) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < n->n_regions; k++) count += n->regions[k]->input == (int32_t)input;
  *made = tn_arena_alloc(&g->arena, count * sizeof **made);
  *out_n = 0;
  if (!*made) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n->n_regions; k++)
    if (n->regions[k]->input == (int32_t)input &&
        !compose(inner, n->regions[k], &(*made)[(*out_n)++])) {
      *out_n = -1;
      break;
    }
  return TN_OK;
}

/* *table: the node's regions in memory of their own; NULL as long as none has changed. */
static tn_status merge_input(tn_graph *g, int32_t node, uint32_t input, const tn_region ***table) {
  tn_gnode *n = tn_graph_node(g, node);
  int32_t from = -1;
  tn_region *made;
  int64_t n_made;
  const tn_region *inner =
      n->node.inputs[input] < 0 ? NULL : source_region(g, n->node.inputs[input], &from);
  if (!inner || (int32_t)input == n->region_fill) return TN_OK;
  tn_status s = compose_all(g, n, input, inner, &made, &n_made);
  if (!s && n_made >= 0) s = tn_graph_set_node_input(g, node, input, from);
  if (s || n_made < 0) return s;
  if (!*table) {
    *table = tn_arena_alloc(&g->arena, n->n_regions * sizeof **table);
    if (!*table) return TN_ERR_MEMORY;
    for (uint32_t k = 0; k < n->n_regions; k++) (*table)[k] = n->regions[k];
    n->regions = *table;
  }
  for (uint32_t k = 0; k < n->n_regions; k++)
    if (n->regions[k]->input == (int32_t)input) (*table)[k] = made++;
  return TN_OK;
}

/* The region writes each element where it was, as a transpose of a transpose does, to where no name
 * is wanted. */
static bool is_identity(const tn_graph *g, const tn_gnode *n) {
  const tn_region *r = n->n_regions == 1 && !n->n_epilogue ? n->regions[0] : NULL;
  if (!r || r->src_offset) return false;
  for (int64_t k = 0; k < g->outputs.n; k++)
    if (g->outputs.data[k] == n->node.outputs[0]) return false;
  const tn_tensor *x = tn_graph_val(g, n->node.inputs[r->input])->type,
                  *y = tn_graph_val(g, n->node.outputs[0])->type;
  for (int32_t k = 0; k < r->rank; k++)
    if (r->size[k] != 1 && r->src_stride[k] != r->dst_stride[k]) return false;
  return x->dtype == y->dtype && tn_same_shape(x, y) && covers(r, tn_tensor_elements(y));
}

static tn_status drop_identity(tn_graph *g, int32_t node) {
  const tn_gnode *n = tn_graph_node(g, node);
  const int32_t from = n->node.inputs[n->regions[0]->input], to = n->node.outputs[0];
  const tn_status s = tn_graph_replace_value(g, to, from);
  return s ? s : tn_graph_remove_node(g, node);
}

/* The region as a walk from where it writes to where it reads. */
static tn_region turned(const tn_region *r) {
  tn_region t = *r;
  t.src_offset = r->dst_offset, t.dst_offset = r->src_offset;
  memcpy(t.src_stride, r->dst_stride, sizeof t.src_stride);
  memcpy(t.dst_stride, r->src_stride, sizeof t.dst_stride);
  return t;
}

/* Dims in the order of what they step in dst. */
static void sort_dims(tn_region *r) {
  for (int32_t i = 1; i < r->rank; i++)
    for (int32_t k = i; k > 0 && r->dst_stride[k] > r->dst_stride[k - 1]; k--) {
      const int64_t size = r->size[k], src = r->src_stride[k], dst = r->dst_stride[k];
      r->size[k] = r->size[k - 1], r->size[k - 1] = size;
      r->src_stride[k] = r->src_stride[k - 1], r->src_stride[k - 1] = src;
      r->dst_stride[k] = r->dst_stride[k - 1], r->dst_stride[k - 1] = dst;
    }
}

/* The node before this one, if this one moves all of its elements, each to a place of its own, and
 * nothing else reads them: a Concat or Pad (of which a single region that covers is no case: it is
 * merged by its reader). NULL: it does not. *out_back: the way back. */
static tn_gnode *moved_whole(const tn_graph *g, const tn_gnode *n, tn_region *out_back) {
  const tn_region *r = n->n_regions == 1 && !n->n_epilogue ? n->regions[0] : NULL;
  if (!r) return NULL;
  const tn_value *v = tn_graph_val(g, n->node.inputs[r->input]),
                 *y = tn_graph_val(g, n->node.outputs[0]);
  if (v->producer < 0 || v->users.n != 1 || (v->flags | y->flags) & TN_VALUE_OUTPUT) return NULL;
  tn_gnode *before = tn_graph_node(g, v->producer);
  const int64_t elements = tn_tensor_elements(y->type);
  if (!tn_is_region(before) || before->n_epilogue || v->type->dtype != y->type->dtype ||
      tn_tensor_elements(v->type) != elements || !covers(r, elements))
    return NULL;
  *out_back = turned(r);
  sort_dims(out_back);
  return covers(out_back, elements) ? before : NULL;
}

/* Lets the regions of the node before write to where `node` moves their elements; node goes. */
static tn_status merge_into_source(tn_graph *g, int32_t node, bool *out_merged) {
  const tn_gnode *n = tn_graph_node(g, node);
  tn_region back;
  *out_merged = false;
  tn_gnode *before = moved_whole(g, n, &back);
  if (!before || !before->n_regions) return TN_OK;
  tn_region *made = tn_arena_alloc(&g->arena, before->n_regions * sizeof *made);
  const tn_region **table = tn_arena_alloc(&g->arena, before->n_regions * sizeof *table);
  if (!made || !table) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < before->n_regions; k++) {
    const tn_region from = turned(before->regions[k]);
    tn_region to;
    if (!compose(&back, &from, &to)) return TN_OK;
    made[k] = turned(&to);
    table[k] = &made[k];
  }
  const int32_t v = n->node.inputs[n->regions[0]->input], y = n->node.outputs[0];
  before->regions = table;
  tn_graph_val(g, v)->type = tn_graph_val(g, y)->type;
  *out_merged = true;
  const tn_status s = tn_graph_replace_value(g, y, v);
  return s ? s : tn_graph_remove_node(g, node);
}

tn_status tn_merge_regions(const tn_planner *p, tn_graph *g, bool *out_changed, tn_diag *diag) {
  (void)p;
  *out_changed = false;
  tn_status s = tn_graph_sort(g, diag);
  for (int64_t at = 0; at < g->order.n && !s;
       at++) { /* sources are merged before those that read them */
    int32_t id = g->order.data[at];
    const tn_gnode *n = tn_graph_node(g, id);
    const tn_region **table = NULL;
    for (uint32_t k = 0; tn_is_region(n) && k < n->node.n_inputs && !s; k++)
      s = merge_input(g, id, k, &table);
    const bool drops = !s && tn_is_region(n) && is_identity(g, n);
    bool merged = false;
    if (drops)
      s = drop_identity(g, id);
    else if (!s && tn_is_region(n))
      s = merge_into_source(g, id, &merged);
    *out_changed = *out_changed || drops || merged || table;
  }
  return s ? s : tn_graph_sort(g, diag);
}
