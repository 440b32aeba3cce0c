/* Uncovered elements: the whole output minus one box after the other. A box minus a box is at most
 * two boxes per dim. */
#include "cover.h"

#include "tenon/kit/checked.h"
#include "tenon/kit/tensor.h"
#include "tenon/tenon.h"

void tn_plain_strides(const tn_tensor *t, int64_t *strides) {
  int64_t step = 1;
  for (int32_t k = t->rank - 1; k >= 0; k--) {
    strides[k] = step;
    step *= t->shape[k];
  }
}

static int64_t region_elements(const tn_region *r) {
  int64_t n = 1;
  for (int32_t k = 0; k < r->rank; k++) n *= r->size[k];
  return n;
}

/* The dim of the output with this stride; -1: none. */
static int32_t find_dim(const tn_tensor *out, const int64_t *strides, int64_t stride) {
  for (int32_t k = 0; k < out->rank; k++)
    if (out->shape[k] > 1 && strides[k] == stride) return k;
  return -1;
}

/* Lets the box reach `size` steps of `stride`. A region's dim may span several dims of the output
 * if it fills the inner ones. */
static bool reach(const tn_tensor *out, const int64_t *strides, int64_t size, int64_t stride,
                  tn_box *box) {
  while (size > 1) {
    int32_t k = find_dim(out, strides, stride);
    if (k < 0 || box->count[k] != 1) return false;
    if (size <= out->shape[k] - box->start[k]) {
      box->count[k] = size;
      return true;
    }
    if (box->start[k] || size % out->shape[k]) return false;
    box->count[k] = out->shape[k];
    size /= out->shape[k];
    stride *= out->shape[k];
  }
  return true;
}

static bool region_box(const tn_tensor *out, const tn_region *r, tn_box *box) {
  int64_t strides[TN_MAX_RANK], at = r->dst_offset;
  tn_plain_strides(out, strides);
  for (int32_t k = 0; k < r->rank; k++)
    if (r->dst_stride[k] < 0) at += r->dst_stride[k] * (r->size[k] - 1);
  for (int32_t k = 0; k < out->rank; k++) {
    box->start[k] = at / strides[k];
    box->count[k] = 1;
    at %= strides[k];
  }
  for (int32_t k = 0; k < r->rank; k++)
    if (!reach(out, strides, r->size[k],
               r->dst_stride[k] < 0 ? -r->dst_stride[k] : r->dst_stride[k], box))
      return false;
  return true;
}

static bool add_box(tn_cover *cover, const tn_box *box) {
  if (cover->n == COVER_MAX) return false;
  cover->boxes[cover->n++] = *box;
  return true;
}

/* Adds `from` minus `hole` to the cover. The part of `from` below and above the hole in dim k, then
 * on with what is between. */
static bool subtract(tn_cover *cover, int32_t rank, tn_box from, const tn_box *hole) {
  for (int32_t k = 0; k < rank; k++)
    if (hole->start[k] + hole->count[k] <= from.start[k] ||
        from.start[k] + from.count[k] <= hole->start[k])
      return add_box(cover, &from);
  for (int32_t k = 0; k < rank; k++) {
    int64_t begin = tn_max_i64(from.start[k], hole->start[k]),
            from_end = from.start[k] + from.count[k];
    int64_t end = tn_min_i64(from_end, hole->start[k] + hole->count[k]);
    tn_box below = from, above = from;
    below.count[k] = begin - from.start[k];
    above.start[k] = end;
    above.count[k] = from_end - end;
    if (below.count[k] > 0 && !add_box(cover, &below)) return false;
    if (above.count[k] > 0 && !add_box(cover, &above)) return false;
    from.start[k] = begin;
    from.count[k] = end - begin;
  }
  return true;
}

static bool subtract_from_all(tn_cover *cover, int32_t rank, const tn_box *hole) {
  int32_t n = cover->n;
  for (int32_t k = 0; k < n;
       k++) { /* each box is taken from the front; what is left of it goes to the end */
    tn_box box = cover->boxes[0];
    for (int32_t j = 1; j < cover->n; j++) cover->boxes[j - 1] = cover->boxes[j];
    cover->n--;
    if (!subtract(cover, rank, box, hole)) return false;
  }
  return true;
}

void tn_cover_find(const tn_tensor *out, const tn_region *const *regions, uint32_t n_regions,
                   tn_cover *cover) {
  int64_t left = tn_elements(out);
  cover->n = 0;
  cover->everything = false;
  for (uint32_t r = 0; r < n_regions; r++) left -= region_elements(regions[r]);
  if (left <= 0) return;
  tn_box whole = {{0}, {0}}, box;
  for (int32_t k = 0; k < out->rank; k++) whole.count[k] = out->shape[k];
  add_box(cover, &whole);
  for (uint32_t r = 0; r < n_regions; r++) {
    if (region_elements(regions[r]) == 0) continue;
    cover->everything =
        !region_box(out, regions[r], &box) || !subtract_from_all(cover, out->rank, &box);
    if (cover->everything) return;
  }
}
