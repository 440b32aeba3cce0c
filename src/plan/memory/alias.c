/* Arranging: values that need no memory of their own. A region that moves nothing makes its
 * output a view of its input. Where a region node only puts whole inputs one after the other
 * (concat), the inputs are views of the output: their producers write straight into it. Such
 * nodes do not run. */
#include <string.h>

#include "plan/memory/arrange.h"
#include "tenon/kit/region_dims.h"

/* ---- places ---- */

static bool is_dynamic(const tn_arrangement *r, int32_t value) {
  const tn_value *v = tn_graph_val(r->g, value);
  if (v->producer < 0) return false;
  const tn_gnode *n = tn_graph_node(r->g, v->producer);
  return v->type->kind != TN_KIND_TENSOR || v->type->dtype == TN_STRING || !v->known ||
         tn_storage_bytes(v->type) < 0 || n->n_subgraphs ||
         (n->choice->plan.flags & TN_PLAN_DATA_DEPENDENT);
}

static void place(tn_arrangement *r, int32_t value) {
  const tn_value *v = tn_graph_val(r->g, value);
  tn_slot *slot = &r->plan->slots[value];
  slot->place = TN_PLACE_NONE;
  if (v->constant)
    slot->place = TN_PLACE_CONST;
  else if (v->producer >= 0)
    slot->place = is_dynamic(r, value) ? TN_PLACE_DYNAMIC : TN_PLACE_ARENA;
  if (slot->place == TN_PLACE_DYNAMIC) slot->index = r->plan->n_dynamic++;
}

static void place_inputs(tn_arrangement *r) {
  for (int64_t k = 0; k < r->g->inputs.n; k++) {
    tn_slot *slot = &r->plan->slots[r->g->inputs.data[k]];
    if (slot->place != TN_PLACE_NONE) continue; /* its data are part of the key */
    slot->place = TN_PLACE_INPUT;
    slot->index = (int32_t)k;
  }
}

/* ---- views ---- */

/* True if the region reads a dense run of the input and writes a dense run of the output, both
 * in the same order. */
static bool is_run(const tn_region *region, int64_t *out_n) {
  int32_t dims[TN_MAX_RANK], n = 0;
  for (int32_t d = 0; d < region->rank; d++) {
    if (region->size[d] == 0) return false;
    if (region->size[d] == 1) continue;
    int32_t at = n++;
    for (; at > 0 && region->dst_stride[dims[at - 1]] > region->dst_stride[d]; at--)
      dims[at] = dims[at - 1];
    dims[at] = d;
  }
  *out_n = 1;
  for (int32_t k = 0; k < n; k++) { /* innermost first */
    int32_t d = dims[k];
    if (region->dst_stride[d] != *out_n || region->src_stride[d] != *out_n) return false;
    if (tn_mul_i64(*out_n, region->size[d], out_n)) return false;
  }
  return true;
}

/* True if `count` elements from `offset` on, in row-major order, lie at the same place and in one
 * piece in the tensor's storage: in blocked layouts whole blocks of channels of a single image
 * do. */
static bool is_stored_so(const tn_tensor *t, int64_t offset, int64_t count) {
  if (t->layout == TN_PLAIN) return true;
  int64_t slice = TN_LAYOUT_BLOCK(t->layout);
  if (t->layout != TN_BLOCKED(slice) || t->rank < 2 || t->shape[0] != 1) return false;
  for (int32_t d = 2; d < t->rank; d++) slice *= t->shape[d];
  return slice > 0 && offset % slice == 0 && count % slice == 0;
}

static bool byte_offset(const tn_tensor *t, int64_t elements, uint64_t *out_bytes) {
  int64_t bits;
  if (elements < 0 || tn_mul_i64(elements, tn_dtype(t->dtype)->bits, &bits) || bits % 8)
    return false;
  *out_bytes = (uint64_t)bits / 8;
  return true;
}

static bool has_fixed_memory(const tn_arrangement *r, int32_t value) {
  tn_place place = r->plan->slots[value].place;
  return place == TN_PLACE_ARENA || place == TN_PLACE_INPUT || place == TN_PLACE_CONST;
}

static void make_view(tn_arrangement *r, int32_t value, int32_t of, uint64_t offset) {
  r->root[value] = of;
  r->inside[value] = offset;
}

/* A Transpose between plain and channels-last order, each in its own layout. */
static bool order_view(tn_arrangement *r, const tn_gnode *n) {
  const tn_region *region = n->n_regions == 1 ? n->regions[0] : NULL;
  tn_region storage;
  if (!region) return false;
  const int32_t in = n->node.inputs[region->input], out = n->node.outputs[0];
  const tn_tensor *from = tn_graph_val(r->g, in)->type, *to = tn_graph_val(r->g, out)->type;
  const bool crosses = (from->layout == TN_PLAIN && to->layout == TN_CHANNELS_LAST) ||
                       (from->layout == TN_CHANNELS_LAST && to->layout == TN_PLAIN);
  if (!crosses || from->dtype != to->dtype || !has_fixed_memory(r, in) ||
      r->plan->slots[out].place != TN_PLACE_ARENA ||
      !tn_region_in_storage(region, from, to, &storage) ||
      !tn_region_is_whole(&storage, from, to) ||
      !tn_arrange_may_view(r, r->on[out], 0, tn_storage_bytes(to), false))
    return false;
  make_view(r, out, in, 0);
  return true;
}

static bool region_view(tn_arrangement *r, const tn_gnode *n) {
  int64_t count;
  uint64_t offset;
  const tn_region *region = n->n_regions == 1 ? n->regions[0] : NULL;
  if (!region || !is_run(region, &count) || region->dst_offset) return false;
  int32_t in = n->node.inputs[region->input], out = n->node.outputs[0];
  const tn_tensor *from = tn_graph_val(r->g, in)->type, *to = tn_graph_val(r->g, out)->type;
  if (from->layout != to->layout || from->dtype != to->dtype || count != tn_tensor_elements(to))
    return false;
  const bool is_all = count == tn_tensor_elements(from) && tn_same_shape(from, to);
  if (!is_all && (!is_stored_so(from, region->src_offset, count) || !is_stored_so(to, 0, count)))
    return false;
  if (!has_fixed_memory(r, in) || r->plan->slots[out].place != TN_PLACE_ARENA) return false;
  if (!byte_offset(from, region->src_offset, &offset)) return false;
  if (!tn_arrange_may_view(r, r->on[out], offset, tn_storage_bytes(to), false)) return false;
  make_view(r, out, in, offset);
  return true;
}

static bool as_plain(const tn_tensor *t, tn_layout layout) {
  int64_t pixels = 1;
  if (layout == TN_PLAIN) return true;
  if (t->rank < 2) return false;
  for (int32_t d = 2; d < t->rank; d++) pixels *= t->shape[d];
  if (layout == TN_CHANNELS_LAST) return pixels == 1 || t->shape[1] == 1;
  int64_t block = TN_LAYOUT_BLOCK(layout);
  return layout == TN_BLOCKED(block) && block > 0 && pixels == 1 && t->shape[1] % block == 0;
}

bool tn_layouts_coincide(const tn_tensor *type, tn_layout a, tn_layout b) {
  return a == b || (tn_tensor_elements(type) >= 0 && as_plain(type, a) && as_plain(type, b));
}

static bool reorder_view(tn_arrangement *r, const tn_gnode *n) {
  if (!tn_is_core_op(n, TN_CORE_REORDER) || n->node.n_outputs != 1) return false;
  int32_t in = n->node.inputs[0], out = n->node.outputs[0];
  const tn_tensor *from = tn_graph_val(r->g, in)->type, *to = tn_graph_val(r->g, out)->type;
  if (!has_fixed_memory(r, in) || r->plan->slots[out].place != TN_PLACE_ARENA) return false;
  if (!tn_same_shape(from, to) || !tn_layouts_coincide(from, from->layout, to->layout))
    return false;
  make_view(r, out, in, 0);
  return true;
}

/* ---- concat ---- */

static bool is_written_apart(const tn_arrangement *r, const tn_gnode *n, uint32_t index) {
  const tn_region *region = n->regions[index];
  int64_t count;
  uint64_t offset;
  int32_t in = n->node.inputs[region->input];
  const tn_tensor *type = tn_graph_val(r->g, in)->type;
  const tn_tensor *to = tn_graph_val(r->g, n->node.outputs[0])->type;
  if (!is_run(region, &count) || region->src_offset || count != tn_tensor_elements(type) ||
      type->layout != to->layout)
    return false;
  if (!is_stored_so(type, 0, count) || !is_stored_so(to, region->dst_offset, count)) return false;
  if (r->plan->slots[in].place != TN_PLACE_ARENA || r->root[in] != in) return false;
  for (uint32_t k = 0; k < index; k++)
    if (n->node.inputs[n->regions[k]->input] == in) return false; /* cannot be in two places */
  return byte_offset(type, region->dst_offset, &offset) && r->on[in] == r->on[n->node.outputs[0]] &&
         tn_arrange_may_view(r, r->on[in], offset, tn_storage_bytes(type), true);
}

/* All regions take whole values that can be made in place, and together they fill the output. */
static bool concat_views(tn_arrangement *r, const tn_gnode *n) {
  int64_t covered = 0;
  int32_t out = n->node.outputs[0];
  const tn_tensor *to = tn_graph_val(r->g, out)->type;
  if (n->n_regions < 2 || r->plan->slots[out].place != TN_PLACE_ARENA) return false;
  for (uint32_t k = 0; k < n->n_regions; k++) {
    if (!is_written_apart(r, n, k)) return false;
    covered += tn_tensor_elements(tn_graph_val(r->g, n->node.inputs[n->regions[k]->input])->type);
  }
  if (covered != tn_tensor_elements(to)) return false;
  for (uint32_t k = 0; k < n->n_regions; k++) {
    uint64_t offset = 0;
    (void)byte_offset(to, n->regions[k]->dst_offset, &offset);
    make_view(r, n->node.inputs[n->regions[k]->input], out, offset);
  }
  return true;
}

/* Follows the chain of views to its end. */
static void flatten(tn_arrangement *r, int32_t value) {
  int32_t root = value;
  uint64_t inside = 0;
  for (; r->root[root] != root; root = r->root[root]) inside += r->inside[root];
  r->root[value] = root;
  r->inside[value] = inside;
}

void tn_arrange_alias(tn_arrangement *r) {
  for (int32_t k = 0; k < r->n_values; k++) {
    r->root[k] = k;
    place(r, k);
  }
  place_inputs(r);
  for (int64_t k = 0; k < r->g->order.n; k++) {
    int32_t id = r->g->order.data[k];
    const tn_gnode *n = tn_graph_node(r->g, id);
    bool still = !n->n_epilogue &&
                 (tn_is_region(n) ? region_view(r, n) || order_view(r, n) || concat_views(r, n)
                                  : reorder_view(r, n));
    r->leader[id] = still ? -1 : id;
  }
  for (int32_t k = 0; k < r->n_values; k++) flatten(r, k);
}
