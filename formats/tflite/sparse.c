/* Sparse constants, made dense. A sparse tensor is a tree of levels, one for each dim of its shape
 * and one for each dim of its blocks, in the order in which they are walked. A dense level has all
 * of its indices; of a sparse one, segments say which of a list of indices each branch has. The
 * leaves are the elements that the buffer holds. */
#include "reader.h"

enum { MOST_LEVELS = 2 * TN_MAX_RANK, BYTES_PER_BYTE = 256, BYTES_BASE = 1 << 20 };

typedef struct level {
  int64_t dim;       /* of the shape */
  int64_t stride, n; /* in the dense tensor, of a step of this level; steps */
  bool is_sparse;
  tn_flat_vector segments, indices;
} level;

typedef struct tree {
  const tflite_reader *r;
  const tflite_tensor *t;
  level levels[MOST_LEVELS];
  int64_t n_levels;
  uint64_t left; /* branches that may still be visited */
  const uint8_t *from;
  uint64_t n_from, width; /* elements, bytes of one */
  uint8_t *to;
} tree;

static tn_status wrong(const tree *w, const char *what) {
  return tflite_fail(w->r, TN_ERR_INVALID, w->t->at, "its sparsity is wrong: %s", what);
}

/* ---- reading ---- */

/* A union of lists of indices of 32, 16 and 8 bits. */
static tn_flat_vector indices_of(const tn_flat_table *dim, uint32_t field) {
  const int64_t type = tn_flat_uint(dim, field, 1, 0);
  const tn_flat_table list = tn_flat_sub(dim, field + 1, &tflite_options_type);
  return tn_flat_vec(&list, 0, type == 1 ? 4 : type == 2 ? 2 : 1);
}

static uint64_t index_at(const tn_flat_vector *v, uint64_t k) {
  const int64_t i = tn_flat_int_at(v, k);
  return v->width == 4 ? (uint64_t)i : (uint64_t)i & (v->width == 2 ? 0xffff : 0xff);
}

static tn_status read_level(tree *w, const tn_flat_table *dim, level *out) {
  enum { FORMAT, DENSE_SIZE, SEGMENTS, INDICES = 4 };
  out->is_sparse = tn_flat_uint(dim, FORMAT, 1, 0) != 0;
  out->n = tn_flat_int(dim, DENSE_SIZE, 4, 0);
  if (out->is_sparse) {
    out->segments = indices_of(dim, SEGMENTS);
    out->indices = indices_of(dim, INDICES);
  }
  return tflite_status(w->r);
}

/* Levels in the order of the file; block[d]: of dim d, 1 if it has none. */
static tn_status read_levels(tree *w, const tn_flat_table *sparsity, int64_t *block) {
  enum { ORDER, BLOCKS, DIMS };
  const tn_tensor *type = &w->t->type;
  const tn_flat_vector order = tn_flat_vec(sparsity, ORDER, 4),
                       blocks = tn_flat_vec(sparsity, BLOCKS, 4),
                       dims = tn_flat_vec(sparsity, DIMS, 4);
  uint32_t seen = 0;
  w->n_levels = (int64_t)order.n;
  if (tflite_status(w->r)) return tflite_status(w->r);
  if (dims.n != order.n || order.n != (uint64_t)type->rank + blocks.n || order.n > MOST_LEVELS)
    return wrong(w, "its lists are of other lengths than its dims");
  for (int64_t k = 0; k < w->n_levels; k++) {
    const int64_t at = tn_flat_int_at(&order, (uint64_t)k), inner = at - type->rank;
    level *l = &w->levels[k];
    if (at < 0 || at >= w->n_levels || seen >> at & 1) return wrong(w, "a dim is walked twice");
    seen |= UINT32_C(1) << at;
    l->dim = inner < 0 ? at : tn_flat_int_at(&blocks, (uint64_t)inner);
    if (l->dim < 0 || l->dim >= type->rank) return wrong(w, "a block has a dim that is not there");
    const tn_flat_table dim = tn_flat_item(&dims, (uint64_t)k, &tflite_options_type);
    const tn_status s = read_level(w, &dim, l);
    if (s) return s;
    l->stride = inner < 0; /* 1: outside of blocks */
    if (inner < 0) continue;
    if (block[l->dim] != 1 || l->is_sparse || l->n < 1) return wrong(w, "blocks are no blocks");
    block[l->dim] = l->n;
  }
  return TN_OK;
}

/* What a step of each level is in the dense tensor, and how many it has at most. */
static tn_status place_levels(tree *w, const int64_t *block) {
  const tn_tensor *type = &w->t->type;
  int64_t strides[TN_MAX_RANK], stride = 1;
  for (int32_t d = type->rank - 1; d >= 0; d--) {
    strides[d] = stride;
    stride *= type->shape[d];
    if (type->shape[d] % block[d]) return wrong(w, "a dim is no whole number of blocks");
  }
  for (int64_t k = 0; k < w->n_levels; k++) {
    level *l = &w->levels[k];
    const bool is_outside = l->stride;
    const int64_t most = is_outside ? type->shape[l->dim] / block[l->dim] : block[l->dim];
    if (!l->is_sparse && l->n != most) return wrong(w, "a dense dim has another size");
    l->n = most;
    l->stride = strides[l->dim] * (is_outside ? block[l->dim] : 1);
  }
  return TN_OK;
}

/* ---- walking ---- */

static tn_status walk(tree *w, int64_t k, uint64_t branch, int64_t at);

static tn_status step(tree *w, int64_t k, uint64_t branch, int64_t at, uint64_t index) {
  const level *l = &w->levels[k];
  if (index >= (uint64_t)l->n) return wrong(w, "an index is outside of its dim");
  if (!w->left--) return wrong(w, "it has more branches than its tensor has elements");
  return walk(w, k + 1, branch, at + (int64_t)index * l->stride);
}

/* Level k of branch number `branch`, from element `at` of the dense tensor on. */
static tn_status walk(tree *w, int64_t k, uint64_t branch, int64_t at) {
  tn_status s = TN_OK;
  if (k == w->n_levels) {
    if (branch >= w->n_from) return wrong(w, "it has more elements than its buffer");
    memcpy(w->to + (uint64_t)at * w->width, w->from + branch * w->width, w->width);
    return TN_OK;
  }
  const level *l = &w->levels[k];
  if (!l->is_sparse) {
    for (int64_t i = 0; i < l->n && !s; i++)
      s = step(w, k, branch * (uint64_t)l->n + (uint64_t)i, at, (uint64_t)i);
    return s;
  }
  if (branch + 1 >= l->segments.n) return wrong(w, "a segment is missing");
  const uint64_t from = index_at(&l->segments, branch), to = index_at(&l->segments, branch + 1);
  if (from > to || to > l->indices.n) return wrong(w, "a segment is outside of its indices");
  for (uint64_t i = from; i < to && !s; i++) s = step(w, k, i, at, index_at(&l->indices, i));
  return s;
}

tn_status tflite_sparse_read(tflite_reader *r, const tn_flat_table *sparsity,
                             const tflite_tensor *t, const uint8_t *data, uint64_t bytes,
                             tn_tensor *out) {
  tree w = {.r = r, .t = t, .from = data};
  int64_t block[TN_MAX_RANK];
  const int64_t size = tn_tensor_bytes(out), n = tn_tensor_elements(out);
  const uint32_t bits = tn_dtype(out->dtype)->bits;
  if (size < 0 || n < 0 || bits < 8 || bits % 8 || out->dtype == TN_STRING)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, t->at, "not supported: sparse values of this type");
  if ((uint64_t)size > BYTES_BASE + r->source->size * BYTES_PER_BYTE)
    return tflite_fail(r, TN_ERR_OVERFLOW, t->at,
                       "is so sparse that it has more than %d bytes for each of the file",
                       BYTES_PER_BYTE);
  w.width = bits / 8;
  w.n_from = bytes / w.width;
  w.left = (uint64_t)n * MOST_LEVELS;
  for (int32_t d = 0; d < TN_MAX_RANK; d++) block[d] = 1;
  tn_status s = read_levels(&w, sparsity, block);
  if (!s) s = place_levels(&w, block);
  if (s) return s;
  w.to = tn_arena_alloc(&r->arena, (uint64_t)size + 1);
  if (!w.to) return tflite_no_memory(r);
  memset(w.to, 0, (size_t)size);
  s = n ? walk(&w, 0, 0, 0) : TN_OK;
  out->data = w.to;
  return s ? s : tflite_status(r);
}
