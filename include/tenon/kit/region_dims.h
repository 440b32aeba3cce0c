/* Regions seen in the dims of the two tensors that they join: which index of one walks which index
 * of the other. So rewrites find Transpose, Pad and the like again in what lowering has made. */
#ifndef TN_KIT_REGION_DIMS_H
#define TN_KIT_REGION_DIMS_H

#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"
#include "tenon/kit/tensor.h"

/* One walk of a region: `size` steps, each src_step further along dim src_axis of the input and
 * dst_step further along dim dst_axis of the output. src_axis -1: it stays where it is. */
typedef struct tn_region_walk {
  int64_t size, src_step, dst_step;
  int32_t src_axis, dst_axis;
} tn_region_walk;

typedef struct tn_region_dims {
  int32_t n; /* walks, all of more than one step */
  tn_region_walk walks[TN_MOVE_MAX_RANK];
  int64_t src_at[TN_MAX_RANK], dst_at[TN_MAX_RANK]; /* indices of the first element */
} tn_region_dims;

/* False if it cannot be said so (a walk leaves a dim in the middle), or if the region is empty. */
TN_KIT_FN bool tn_region_dims_of(const tn_region *r, const tn_tensor *in, const tn_tensor *out,
                                 tn_region_dims *out_dims);

/* Elements per step of each dim in the storage of a tensor in plain or channels-last layout. */
TN_KIT_FN void tn_storage_strides(const tn_tensor *t, int64_t *out);
/* The region in offsets and strides of the storage of both sides, each in plain or channels-last
 * layout. False as above. */
TN_KIT_FN bool tn_region_in_storage(const tn_region *r, const tn_tensor *in, const tn_tensor *out,
                                    tn_region *out_region);
static inline int64_t tn_region_elements(const tn_region *r) {
  int64_t n = 1;
  for (int32_t k = 0; k < r->rank; k++) n *= r->size[k];
  return n;
}
/* Of a region in the storage's terms: is all of the input all of the output, in the same order? */
TN_KIT_FN bool tn_region_is_whole(const tn_region *storage, const tn_tensor *in,
                                  const tn_tensor *out);

/* The value is made by one region that keeps the number of dims and covers all of its output:
 * perm[k] is the dim of *out_from that is dim k of the value. Dims of size 1 keep their order. */
TN_KIT_FN bool tn_region_transposes(const tn_pattern *p, int32_t value, int32_t *out_from,
                                    int32_t *perm);

/* The node becomes that transpose of the value, which is of this type, whatever dims of size 1 its
 * output has besides. */
TN_KIT_FN tn_status tn_become_transpose(const tn_call *call, tn_graph *graph, int32_t node,
                                        int32_t value, const tn_tensor *type, const int32_t *perm);

/* The value is *out_from with lo[k] elements before and hi[k] behind it in dim k, which hold
 * *out_fill. */
TN_KIT_FN bool tn_region_pads(const tn_pattern *p, int32_t value, int32_t *out_from, int64_t *lo,
                              int64_t *hi, double *out_fill);

#ifdef TN_KIT_BODIES

/* Strides of the side that is being split are in `along`, of the other in `other`. */
typedef struct tn_split_walks {
  int32_t n;
  int64_t size[TN_MOVE_MAX_RANK], along[TN_MOVE_MAX_RANK], other[TN_MOVE_MAX_RANK];
} tn_split_walks;

static inline void tn_offset_indices(const tn_tensor *t, int64_t offset, int64_t *out) {
  for (int32_t k = t->rank - 1; k >= 0; k--) {
    out[k] = offset % t->shape[k];
    offset /= t->shape[k];
  }
}

static inline int64_t tn_stride_size(int64_t stride) { return stride < 0 ? -stride : stride; }

/* The outermost dim that such a stride can walk along; -1: none. */
static inline int32_t tn_stride_axis(const tn_tensor *t, const int64_t *strides, int64_t stride) {
  for (int32_t k = 0; k < t->rank; k++)
    if (t->shape[k] > 1 && strides[k] <= tn_stride_size(stride))
      return tn_stride_size(stride) % strides[k] ? -1 : k;
  return -1;
}

/* Splits walk k where it goes over the end of a dim into the one before it. False: it does so in
 * the middle of a step. */
static inline bool tn_walk_split(tn_split_walks *w, int32_t k, const tn_tensor *t,
                                 const int64_t *strides, const int64_t *at) {
  const int32_t axis = tn_stride_axis(t, strides, w->along[k]);
  if (axis < 0) return false;
  const int64_t step = w->along[k] / strides[axis], n = t->shape[axis];
  const int64_t last = at[axis] + (w->size[k] - 1) * step;
  if (last >= 0 && last < n) return true;
  if (step < 0 || n % step || at[axis] >= step || w->size[k] % (n / step) ||
      w->n == TN_MOVE_MAX_RANK)
    return false;
  const int32_t outer = w->n++;
  w->size[outer] = w->size[k] / (n / step);
  w->along[outer] = w->along[k] * (n / step);
  w->other[outer] = w->other[k] * (n / step);
  w->size[k] = n / step;
  return true;
}

/* All walks; what is split off comes up in its turn. Also: walks that share a dim stay in it. */
static bool tn_walk_split_all(tn_split_walks *w, const tn_tensor *t, const int64_t *strides,
                              const int64_t *at) {
  int64_t low[TN_MAX_RANK], high[TN_MAX_RANK];
  for (int32_t k = 0; k < t->rank; k++) low[k] = high[k] = at[k];
  for (int32_t k = 0; k < w->n; k++) {
    if (w->along[k] == 0) continue;
    if (!tn_walk_split(w, k, t, strides, at)) return false;
    const int32_t axis = tn_stride_axis(t, strides, w->along[k]);
    const int64_t way = w->along[k] / strides[axis] * (w->size[k] - 1);
    *(way < 0 ? &low[axis] : &high[axis]) += way;
  }
  for (int32_t k = 0; k < t->rank; k++)
    if (low[k] < 0 || high[k] >= t->shape[k]) return false;
  return true;
}

static inline void tn_walk_swap_sides(tn_split_walks *w) {
  for (int32_t k = 0; k < w->n; k++) {
    const int64_t along = w->along[k];
    w->along[k] = w->other[k];
    w->other[k] = along;
  }
}

TN_KIT_FN bool tn_region_dims_of(const tn_region *r, const tn_tensor *in, const tn_tensor *out,
                                 tn_region_dims *d) {
  int64_t src[TN_MAX_RANK], dst[TN_MAX_RANK];
  tn_split_walks w = TN_KIT_ZERO;
  const tn_region_dims none = TN_KIT_ZERO;
  for (int32_t k = 0; k < r->rank; k++) {
    if (r->size[k] == 0) return false;
    if (r->size[k] == 1) continue;
    w.size[w.n] = r->size[k];
    w.along[w.n] = r->src_stride[k];
    w.other[w.n++] = r->dst_stride[k];
  }
  if (tn_elements(in) < 1 || tn_elements(out) < 1) return false;
  *d = none;
  tn_dense_strides(in, src);
  tn_dense_strides(out, dst);
  tn_offset_indices(in, r->src_offset, d->src_at);
  tn_offset_indices(out, r->dst_offset, d->dst_at);
  if (!tn_walk_split_all(&w, in, src, d->src_at)) return false;
  tn_walk_swap_sides(&w);
  if (!tn_walk_split_all(&w, out, dst, d->dst_at)) return false;
  for (int32_t k = 0; k < w.n; k++) {
    const int32_t from = w.other[k] ? tn_stride_axis(in, src, w.other[k]) : -1,
                  to = tn_stride_axis(out, dst, w.along[k]);
    if (to < 0 || (w.other[k] && from < 0)) return false;
    d->walks[d->n++] = (tn_region_walk){.size = w.size[k],
                                        .src_step = from < 0 ? 0 : w.other[k] / src[from],
                                        .dst_step = w.along[k] / dst[to],
                                        .src_axis = from,
                                        .dst_axis = to};
  }
  return true;
}

TN_KIT_FN void tn_storage_strides(const tn_tensor *t, int64_t *out) {
  tn_dense_strides(t, out);
  if (t->layout != TN_CHANNELS_LAST || t->rank < 2) return;
  int64_t step = t->shape[1];
  for (int32_t k = t->rank - 1; k >= 2; k--) {
    out[k] = step;
    step *= t->shape[k];
  }
  out[1] = 1;
}

TN_KIT_FN bool tn_region_in_storage(const tn_region *r, const tn_tensor *in, const tn_tensor *out,
                                    tn_region *to) {
  int64_t src[TN_MAX_RANK], dst[TN_MAX_RANK];
  tn_region_dims d;
  *to = *r;
  if (in->layout == TN_PLAIN && out->layout == TN_PLAIN) return true;
  if (!tn_region_dims_of(r, in, out, &d) || d.n > TN_MAX_RANK) return false;
  tn_storage_strides(in, src);
  tn_storage_strides(out, dst);
  to->src_offset = to->dst_offset = 0;
  for (int32_t k = 0; k < in->rank; k++) to->src_offset += d.src_at[k] * src[k];
  for (int32_t k = 0; k < out->rank; k++) to->dst_offset += d.dst_at[k] * dst[k];
  to->rank = d.n;
  for (int32_t k = 0; k < d.n; k++) {
    const tn_region_walk *w = &d.walks[k];
    to->size[k] = w->size;
    to->src_stride[k] = w->src_axis < 0 ? 0 : w->src_step * src[w->src_axis];
    to->dst_stride[k] = w->dst_step * dst[w->dst_axis];
  }
  return true;
}

TN_KIT_FN bool tn_region_is_whole(const tn_region *r, const tn_tensor *in, const tn_tensor *out) {
  int64_t n = 1;
  uint32_t taken = 0;
  if (r->src_offset || r->dst_offset) return false;
  for (int32_t left = r->rank; left > 0; left--) { /* the dims, from the innermost on */
    int32_t at = -1;
    for (int32_t k = 0; k < r->rank && at < 0; k++)
      if (!(taken >> k & 1) && (r->size[k] == 1 || r->dst_stride[k] == n)) at = k;
    if (at < 0 || (r->size[at] > 1 && r->src_stride[at] != n)) return false;
    taken |= UINT32_C(1) << at;
    n *= r->size[at];
  }
  return n == tn_elements(in) && n == tn_elements(out);
}

/* The only region of the node that makes the value, between tensors of as many dims; NULL: it is
 * not made so. */
static const tn_region *tn_pattern_only_region(const tn_pattern *p, int32_t value,
                                               int32_t *out_from, const tn_tensor **in,
                                               const tn_tensor **out) {
  const int32_t id = value < 0 ? -1 : p->api->value_producer(p->graph, value);
  const tn_node *n = tn_pattern_root(p, id);
  uint32_t n_regions = 0;
  if (!n || strcmp(n->op, "Region") || strcmp(n->domain, "tenon")) return NULL;
  const tn_region *const *regions = p->api->node_regions(p->graph, id, &n_regions);
  if (n_regions != 1) return NULL;
  *out_from = n->inputs[regions[0]->input];
  *in = tn_pattern_type(p, *out_from);
  *out = tn_pattern_type(p, value);
  return *in && *out && (*in)->rank == (*out)->rank && (*in)->rank > 0 ? regions[0] : NULL;
}

static inline int64_t tn_region_covered(const tn_region_dims *d) {
  int64_t n = 1;
  for (int32_t k = 0; k < d->n; k++) n *= d->walks[k].size;
  return n;
}

/* Every walk goes all along one dim of the input, by steps of one. */
static inline bool tn_region_walks_whole_dims(const tn_region_dims *d, const tn_tensor *in) {
  for (int32_t k = 0; k < in->rank; k++)
    if (d->src_at[k]) return false;
  for (int32_t k = 0; k < d->n; k++) {
    const tn_region_walk *w = &d->walks[k];
    if (w->src_axis < 0 || w->src_step != 1 || w->dst_step != 1 ||
        w->size != in->shape[w->src_axis])
      return false;
  }
  return tn_region_covered(d) == tn_elements(in);
}

TN_KIT_FN bool tn_region_transposes(const tn_pattern *p, int32_t value, int32_t *out_from,
                                    int32_t *perm) {
  const tn_tensor *in, *out;
  const tn_region *r = tn_pattern_only_region(p, value, out_from, &in, &out);
  tn_region_dims d;
  if (!r || !tn_region_dims_of(r, in, out, &d) || !tn_region_walks_whole_dims(&d, in) ||
      tn_elements(in) != tn_elements(out))
    return false;
  uint32_t taken = 0;
  for (int32_t k = 0; k < out->rank; k++) perm[k] = -1;
  for (int32_t k = 0; k < d.n; k++) {
    perm[d.walks[k].dst_axis] = d.walks[k].src_axis;
    taken |= UINT32_C(1) << d.walks[k].src_axis;
  }
  for (int32_t k = 0, next = 0; k < out->rank; k++) {
    if (perm[k] >= 0) continue;
    while (taken >> next & 1) next++;
    perm[k] = next++;
  }
  for (int32_t k = 0; k < out->rank; k++)
    if (out->shape[k] != in->shape[perm[k]]) return false;
  return true;
}

TN_KIT_FN tn_status tn_become_transpose(const tn_call *call, tn_graph *graph, int32_t node,
                                        int32_t value, const tn_tensor *type, const int32_t *perm) {
  int64_t src[TN_MAX_RANK], dst = tn_elements(type);
  tn_move move = TN_KIT_ZERO;
  tn_moves moves = tn_moves_begin(call, graph);
  tn_dense_strides(type, src);
  for (int32_t k = 0; k < type->rank; k++) {
    const int64_t size = type->shape[perm[k]];
    dst = size ? dst / size : 0;
    tn_move_push(&move, size, src[perm[k]], dst);
  }
  tn_moves_add(&moves, &move);
  return tn_moves_become(&moves, node, &value, 1, -1);
}

TN_KIT_FN bool tn_region_pads(const tn_pattern *p, int32_t value, int32_t *out_from, int64_t *lo,
                              int64_t *hi, double *out_fill) {
  const tn_tensor *in, *out;
  const tn_region *r = tn_pattern_only_region(p, value, out_from, &in, &out);
  tn_region_dims d;
  if (!r || !tn_region_dims_of(r, in, out, &d) || !tn_region_walks_whole_dims(&d, in)) return false;
  for (int32_t k = 0; k < d.n; k++)
    if (d.walks[k].src_axis != d.walks[k].dst_axis) return false;
  for (int32_t k = 0; k < in->rank; k++) {
    lo[k] = d.dst_at[k];
    hi[k] = out->shape[k] - in->shape[k] - lo[k];
    if (hi[k] < 0) return false;
  }
  const int32_t id = p->api->value_producer(p->graph, value),
                fill = p->api->node_region_fill(p->graph, id);
  *out_fill = 0;
  return fill < 0 || tn_pattern_number(
                         p, tn_pattern_input(p->api->node(p->graph, id), (uint32_t)fill), out_fill);
}

#endif

#endif
