/* Tensors as descriptions: how many elements they have, how many bytes they take in their layout,
 * and where each element lies. */
#ifndef TN_KIT_TENSOR_H
#define TN_KIT_TENSOR_H

#include <string.h>

#include "tenon/kit/dtype.h"

/* Number of elements; -1: unknown dims, or more than TN_MAX_ELEMENTS. */
TN_KIT_FN int64_t tn_elements(const tn_tensor *t);

/* Bytes of so many elements, without padding; -1 likewise. */
TN_KIT_FN int64_t tn_bytes(const tn_tensor *t);

/* Elements of the storage, pad lanes included. */
TN_KIT_FN int64_t tn_storage_elements(const tn_tensor *t);

/* Bytes a tensor takes in its layout (padding of blocked layouts included). -1: unknown dims or
 * overflow. */
TN_KIT_FN int64_t tn_storage_bytes(const tn_tensor *t);

/* Place in the storage of the element with logical row-major index `index`. t->shape must be
 * known. */
TN_KIT_FN int64_t tn_storage_index(const tn_tensor *t, int64_t index);

/* Strides of a dense tensor in row-major order, in elements; out: room for t->rank. */
TN_KIT_FN void tn_dense_strides(const tn_tensor *t, int64_t *out);

/* True if both have the same dtype, rank and dims. */
TN_KIT_FN bool tn_same_shape(const tn_tensor *a, const tn_tensor *b);

#ifdef TN_KIT_BODIES

TN_KIT_FN int64_t tn_elements(const tn_tensor *t) {
  int64_t n;
  if (t->rank < 0 || t->rank > TN_MAX_RANK) return -1;
  return tn_dims_product(t->shape, t->rank, &n) ? -1 : n;
}

TN_KIT_FN int64_t tn_bytes(const tn_tensor *t) { return tn_dtype_bytes(t->dtype, tn_elements(t)); }

/* Block length of TN_BLOCKED; 0 for other layouts. */
static inline int64_t tn_layout_block(tn_layout layout) {
  int64_t b = TN_LAYOUT_BLOCK(layout);
  return layout == TN_BLOCKED(b) ? b : 0;
}

TN_KIT_FN int64_t tn_storage_elements(const tn_tensor *t) {
  if (t->layout == TN_PLAIN || t->layout == TN_CHANNELS_LAST) return tn_elements(t);
  int64_t b = tn_layout_block(t->layout);
  if (b == 0 || t->rank < 2 || t->rank > TN_MAX_RANK || t->shape[1] < 0) return -1;
  int64_t dims[TN_MAX_RANK + 1], n;
  memcpy(dims, t->shape, sizeof t->shape);
  dims[1] = tn_ceil_div(t->shape[1], b);
  dims[t->rank] = b;
  return tn_dims_product(dims, t->rank + 1, &n) ? -1 : n;
}

TN_KIT_FN int64_t tn_storage_bytes(const tn_tensor *t) {
  return tn_dtype_bytes(t->dtype, tn_storage_elements(t));
}

TN_KIT_FN int64_t tn_storage_index(const tn_tensor *t, int64_t index) {
  if (t->layout == TN_PLAIN || t->rank < 2) return index;
  int64_t channels = t->shape[1], pixels = 1, b = tn_layout_block(t->layout);
  for (int32_t k = 2; k < t->rank; k++) pixels *= t->shape[k];
  if (channels == 0 || pixels == 0) return 0; /* there is no element to place */
  int64_t x = index % pixels, c = index / pixels % channels, n = index / pixels / channels;
  if (b == 0) return (n * pixels + x) * channels + c;
  return ((n * tn_ceil_div(channels, b) + c / b) * pixels + x) * b + c % b;
}

TN_KIT_FN void tn_dense_strides(const tn_tensor *t, int64_t *out) {
  int64_t stride = 1;
  for (int32_t k = t->rank - 1; k >= 0; k--) {
    out[k] = stride;
    stride *= t->shape[k];
  }
}

TN_KIT_FN bool tn_same_shape(const tn_tensor *a, const tn_tensor *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int32_t k = 0; k < a->rank; k++) {
    if (a->shape[k] != b->shape[k]) return false;
  }
  return true;
}

#endif

#endif
