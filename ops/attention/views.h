/* Values of four dims as strided copies of others: what rewrites see of splits into heads, slices
 * and transpositions, which are regions by then. */
#ifndef TN_OPS_ATTENTION_VIEWS_H
#define TN_OPS_ATTENTION_VIEWS_H

#include "tenon/kit/pattern.h"

enum { BATCH, HEAD, ROW, COLUMN };

/* A value of four dims as a strided copy of another one; of dims of one element any stride. */
typedef struct view {
  int32_t base;
  int64_t offset, size[4], stride[4];
} view;

/* Strides of the source of a region that writes elements `size`, `to` apart; false: it writes
 * others, or in other pieces. */
static inline bool view_strides(const tn_region *r, const int64_t size[4], const int64_t to[4],
                                int64_t stride[4]) {
  int64_t written = 1, all = 1;
  for (int32_t k = 0; k < r->rank; k++) written *= r->size[k];
  for (int32_t d = 3; d >= 0; d--) {
    all *= size[d];
    stride[d] = 0;
    if (size[d] == 1) continue;
    int32_t k = 0;
    while (k < r->rank && (r->size[k] == 1 || r->dst_stride[k] <= 0 || to[d] % r->dst_stride[k] ||
                           to[d] * size[d] > r->dst_stride[k] * r->size[k]))
      k++;
    if (k == r->rank) return false;
    stride[d] = to[d] / r->dst_stride[k] * r->src_stride[k];
  }
  return written == all;
}

static inline void view_dense(const int64_t size[4], int64_t stride[4]) {
  int64_t dense = 1;
  for (int d = 3; d >= 0; dense *= size[d--]) stride[d] = dense;
}

/* The one region of which the value is all; NULL: it is made otherwise. */
static inline const tn_region *view_region(const tn_pattern *p, int32_t value) {
  const int32_t node = value < 0 ? -1 : p->api->value_producer(p->graph, value);
  const tn_node *made = node < 0 ? NULL : p->api->node(p->graph, node);
  uint32_t n = 0;
  const tn_region *const *regions = made ? p->api->node_regions(p->graph, node, &n) : NULL;
  return n == 1 && made->n_outputs == 1 && regions[0]->dst_offset == 0 ? regions[0] : NULL;
}

static inline int32_t view_source(const tn_pattern *p, int32_t value, const tn_region *r) {
  return p->api->node(p->graph, p->api->value_producer(p->graph, value))->inputs[r->input];
}

/* Where the view is all of a base that is a copy itself, the view of what that copies. */
static inline bool view_step(const tn_pattern *p, view *v) {
  const tn_region *r = v->offset == 0 ? view_region(p, v->base) : NULL;
  int64_t stride[4];
  if (!r || !view_strides(r, v->size, v->stride, stride)) return false;
  v->base = view_source(p, v->base, r);
  v->offset = r->src_offset;
  memcpy(v->stride, stride, sizeof stride);
  return true;
}

/* Of a value of f32 that has elements, with dims `size`: a copy of another one, if that is how it
 * is made, else itself. */
static inline bool view_as(const tn_pattern *p, int32_t value, const int64_t size[4], view *out) {
  const tn_tensor *t = tn_pattern_type(p, value);
  int64_t n = 1;
  for (int d = 0; d < 4; d++) n *= size[d];
  if (!t || t->dtype != TN_F32 || n == 0 || tn_elements(t) != n) return false;
  *out = (view){.base = value};
  memcpy(out->size, size, sizeof out->size);
  view_dense(size, out->stride);
  view_step(p, out);
  return tn_pattern_type(p, out->base) != NULL;
}

/* The same of a value of rank 4, with its own dims. */
static inline bool view_of(const tn_pattern *p, int32_t value, view *out) {
  const tn_tensor *t = tn_pattern_type(p, value);
  return t && t->rank == 4 && view_as(p, value, t->shape, out);
}

static inline bool view_has_strides(const view *v, const int64_t stride[4]) {
  for (int d = 0; d < 4; d++)
    if (v->size[d] != 1 && v->stride[d] != stride[d]) return false;
  return true;
}

#endif
