/* Regions: turning a node into a strided copy (tenon::Region), after proving that every region
 * stays inside its tensors and that no two write the same element. The proof tries, in this order:
 * address intervals that do not meet; boxes over the output's dims that do not meet; for small
 * outputs, marking every element. What none of them proves is refused. */
#include <string.h>

#include "graph/copy.h"
#include "graph/core_ops.h"

/* First and last element that offset + sum index*stride reaches; false on overflow. */
static bool extent(int64_t offset, const tn_region *r, const int64_t *stride, int64_t *lo,
                   int64_t *hi) {
  *lo = *hi = offset;
  for (int32_t k = 0; k < r->rank; k++) {
    int64_t span;
    if (tn_mul_i64(r->size[k] - 1, stride[k], &span) || tn_add_i64(*lo, span < 0 ? span : 0, lo) ||
        tn_add_i64(*hi, span > 0 ? span : 0, hi))
      return false;
  }
  return true;
}

static bool is_empty(const tn_region *r) {
  for (int32_t k = 0; k < r->rank; k++)
    if (r->size[k] == 0) return true;
  return false;
}

static bool in_bounds(const tn_region *r, int64_t n_src, int64_t n_dst) {
  int64_t lo, hi;
  return extent(r->src_offset, r, r->src_stride, &lo, &hi) && lo >= 0 && hi < n_src &&
         extent(r->dst_offset, r, r->dst_stride, &lo, &hi) && lo >= 0 && hi < n_dst;
}

/* No element twice within one region: each stride steps over all that the smaller ones reach. */
static bool is_injective(const tn_region *r) {
  bool done[TN_MAX_RANK] = {false};
  int64_t reach = 0;
  for (int32_t round = 0; round < r->rank; round++) {
    int32_t at = -1;
    int64_t best = INT64_MAX;
    for (int32_t k = 0; k < r->rank; k++) {
      int64_t s = r->dst_stride[k] < 0 ? -r->dst_stride[k] : r->dst_stride[k];
      if (!done[k] && s < best) at = k, best = s;
    }
    done[at] = true;
    if (r->size[at] <= 1) continue;
    if (best <= reach) return false;
    reach += (r->size[at] - 1) * best;
  }
  return true;
}

/* The region's place in the output as a box: per output dim start, step and count. */
typedef struct box {
  int64_t start[TN_MAX_RANK], step[TN_MAX_RANK], count[TN_MAX_RANK];
} box;

/* Dim d of the region, along one dim of the output, or along several of them in one, the inner ones
 * of which it goes all along. */
static bool walk_box(const tn_region *r, int32_t d, const tn_tensor *out, const int64_t *stride,
                     box *b) {
  const bool back = r->dst_stride[d] < 0;
  int64_t s = back ? -r->dst_stride[d] : r->dst_stride[d], size = r->size[d];
  for (;;) {
    int32_t k = 0;
    while (k < out->rank && (stride[k] > s || s % stride[k] || b->count[k] > 1)) k++;
    if (k == out->rank) return false;
    const int64_t step = s / stride[k], n = out->shape[k] / step;
    const bool leaves = step * (size - 1) >= out->shape[k];
    if (leaves && (back || n < 2 || out->shape[k] % step || b->start[k] >= step || size % n))
      return false;
    b->step[k] = step;
    b->count[k] = leaves ? n : size;
    if (back) b->start[k] -= step * (size - 1);
    if (b->start[k] < 0 || b->start[k] + step * (b->count[k] - 1) >= out->shape[k]) return false;
    if (!leaves) return true;
    size /= n;
    s = stride[k] * out->shape[k];
  }
}

static bool to_box(const tn_region *r, const tn_tensor *out, box *b) {
  int64_t stride[TN_MAX_RANK], rest = r->dst_offset;
  for (int32_t k = out->rank - 1; k >= 0; k--)
    stride[k] = k == out->rank - 1 ? 1 : stride[k + 1] * out->shape[k + 1];
  for (int32_t k = 0; k < out->rank; k++) {
    b->start[k] = rest / stride[k];
    rest %= stride[k];
    b->step[k] = b->count[k] = 1;
  }
  for (int32_t d = 0; d < r->rank; d++)
    if (r->size[d] != 1 && !walk_box(r, d, out, stride, b)) return false;
  return true;
}

static bool boxes_apart(const box *a, const box *b, int32_t rank) {
  for (int32_t k = 0; k < rank; k++) {
    int64_t a_end = a->start[k] + a->step[k] * (a->count[k] - 1),
            b_end = b->start[k] + b->step[k] * (b->count[k] - 1);
    if (a_end < b->start[k] || b_end < a->start[k]) return true;
    if (a->step[k] == b->step[k] && (a->start[k] - b->start[k]) % a->step[k]) return true;
  }
  return false;
}

static bool pair_apart(const tn_region *a, const tn_region *b, const tn_tensor *out) {
  int64_t a_lo, a_hi, b_lo, b_hi;
  extent(a->dst_offset, a, a->dst_stride, &a_lo, &a_hi);
  extent(b->dst_offset, b, b->dst_stride, &b_lo, &b_hi);
  box x, y;
  return a_hi < b_lo || b_hi < a_lo ||
         (to_box(a, out, &x) && to_box(b, out, &y) && boxes_apart(&x, &y, out->rank));
}

static bool pairs_apart(const tn_region *const *r, uint32_t n, const tn_tensor *out) {
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < i; j++)
      if (!is_empty(r[i]) && !is_empty(r[j]) && !pair_apart(r[i], r[j], out)) return false;
  return true;
}

/* Marks every element that is written; false at the first that is written twice. */
static bool mark_region(const tn_region *r, uint8_t *seen) {
  int64_t index[TN_MAX_RANK] = {0}, at = r->dst_offset;
  for (int32_t d = r->rank; d >= 0;) {
    if (seen[at]) return false;
    seen[at] = 1;
    for (d = r->rank - 1; d >= 0; d--) {
      at += r->dst_stride[d];
      if (++index[d] < r->size[d]) break;
      at -= r->dst_stride[d] * r->size[d];
      index[d] = 0;
    }
    if (d < 0) break;
  }
  return true;
}

/* More regions are rather marked, where the output is not too large for that. */
enum { MAX_MARKED = 1 << 24, MAX_PAIRED = 256, MAX_PAIRED_LARGE = 4096 };

static tn_status prove_apart(const tn_graph *g, const tn_region *const *r, uint32_t n,
                             const tn_tensor *out, int64_t n_out) {
  const uint32_t most = n_out > MAX_MARKED ? MAX_PAIRED_LARGE : MAX_PAIRED;
  bool apart = n <= most && pairs_apart(r, n, out);
  for (uint32_t k = 0; k < n && apart; k++) apart = is_empty(r[k]) || is_injective(r[k]);
  if (apart) return TN_OK;
  if (n_out > MAX_MARKED) return TN_ERR_INVALID;
  uint8_t *seen = tn_alloc(g->a, (uint64_t)n_out);
  if (!seen) return TN_ERR_MEMORY;
  apart = true;
  for (uint32_t k = 0; k < n && apart; k++) apart = is_empty(r[k]) || mark_region(r[k], seen);
  tn_free(g->a, seen, (uint64_t)n_out);
  return apart ? TN_OK : TN_ERR_INVALID;
}

/* Also of dims of one step, whose stride says nothing: walks add it all the same. */
static bool is_stride(int64_t s) { return s >= -TN_MAX_ELEMENTS && s <= TN_MAX_ELEMENTS; }

static tn_status check_region(tn_graph *g, const int32_t *inputs, uint32_t n_inputs,
                              const tn_region *r, const tn_tensor *out, int64_t n_out) {
  if (!r || r->input < 0 || (uint32_t)r->input >= n_inputs)
    return tn_graph_refuse(g, TN_ERR_INVALID, "set_regions: a region is NULL, or its input none");
  bool ok = r->rank >= 0 && r->rank <= TN_MAX_RANK;
  for (int32_t d = 0; ok && d < r->rank; d++) ok = r->size[d] >= 0;
  if (!ok)
    return tn_graph_refuse(g, TN_ERR_INVALID,
                           "set_regions: the rank or a size of a region is none");
  for (int32_t d = 0; ok && d < r->rank; d++)
    ok = is_stride(r->src_stride[d]) && is_stride(r->dst_stride[d]);
  if (!ok)
    return tn_graph_refuse(g, TN_ERR_INVALID, "set_regions: a region leaves its input or output");
  const tn_tensor *in = tn_graph_val(g, inputs[r->input])->type;
  int64_t n_in = tn_tensor_elements(in);
  if (n_in < 0 || in->dtype != out->dtype)
    return tn_graph_refuse(g, TN_ERR_SHAPE,
                           "set_regions: an input has no known shape, or another "
                           "dtype than the output");
  if (!is_empty(r) && !in_bounds(r, n_in, n_out))
    return tn_graph_refuse(g, TN_ERR_INVALID, "set_regions: a region leaves its input or output");
  return TN_OK;
}

static tn_status check_regions(tn_graph *g, const int32_t *inputs, uint32_t n_inputs,
                               const tn_region *const *r, uint32_t n, const tn_tensor *out) {
  int64_t n_out = tn_tensor_elements(out);
  if (n_out < 0)
    return tn_graph_refuse(g, TN_ERR_SHAPE, "set_regions: the output has no known shape");
  for (uint32_t k = 0; k < n; k++) {
    tn_status status = check_region(g, inputs, n_inputs, r[k], out, n_out);
    if (status) return status;
  }
  tn_status apart = prove_apart(g, r, n, out, n_out);
  return apart != TN_ERR_INVALID
             ? apart
             : tn_graph_refuse(g, apart, "set_regions: two regions write one element");
}

tn_status tn_graph_set_regions(tn_graph *g, int32_t node, const int32_t *inputs, uint32_t n_inputs,
                               const tn_region *const *regions, uint32_t n_regions, int32_t fill) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!g || node < 0 || node >= g->nodes.n || !g->nodes.data[node].alive ||
      (fill >= 0 && (uint32_t)fill >= n_inputs) || (n_inputs && !inputs) || (n_regions && !regions))
    return tn_graph_refuse(g, TN_ERR_INVALID,
                           "set_regions: no such node, a table is NULL, or fill is no input");
  if (g->lowering >= 0 && node != g->lowering && node < g->old_nodes)
    return tn_graph_refuse(g, TN_ERR_STATE,
                           "set_regions: only the node that the edit is asked for, or one that it "
                           "has added, may become regions");
  tn_gnode *n = tn_graph_node(g, node);
  bool ok = n->node.n_outputs >= 1 && n->node.outputs[0] >= 0;
  for (uint32_t k = 0; k < n_inputs; k++) ok = ok && inputs[k] >= 0 && inputs[k] < g->values.n;
  if (!ok)
    return tn_graph_refuse(g, TN_ERR_INVALID,
                           "set_regions: the node has no output, or an input is no value");
  tn_status s = check_regions(g, inputs, n_inputs, regions, n_regions,
                              tn_graph_val(g, n->node.outputs[0])->type);
  if (s) return s;
  const tn_region **copies = tn_arena_alloc(&g->arena, n_regions * sizeof *copies);
  int32_t *none = tn_arena_alloc(&g->arena, n_inputs * sizeof *none);
  if (!copies || !none) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_regions; k++) {
    tn_region *r = tn_arena_alloc(&g->arena, sizeof *r);
    if (!(copies[k] = r)) return TN_ERR_MEMORY;
    tn_copy_head(r, regions[k], sizeof *r);
  }
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if ((s = tn_graph_set_node_input(g, node, k, -1))) return s;
  for (uint32_t k = 0; k < n_inputs; k++) none[k] = -1;
  n->node.inputs = none;
  n->input_room = 0;
  n->node.n_inputs = n->n_formal = n_inputs;
  for (uint32_t k = 0; k < n_inputs; k++)
    if ((s = tn_graph_set_node_input(g, node, k, inputs[k]))) return s;
  n->node.domain = "tenon";
  n->node.op = TN_CORE_REGION;
  n->node.version = 1;
  n->node.n_outputs = 1;
  n->node.n_attrs = 0;
  n->def = NULL;
  n->regions = copies;
  n->n_regions = n_regions;
  n->region_fill = fill;
  tn_graph_val(g, n->node.outputs[0])->known = true; /* the check above needed all of it */
  return TN_OK;
}
