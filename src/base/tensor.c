/* Tensors as descriptions: sizes, places of elements in a layout, and text for messages. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/dtype.h"

int64_t tn_tensor_elements(const tn_tensor *tensor) {
  int64_t n;
  if (tensor->rank < 0 || tensor->rank > TN_MAX_RANK) return -1;
  return tn_dims_product(tensor->shape, tensor->rank, &n) ? -1 : n;
}

int64_t tn_tensor_bytes(const tn_tensor *tensor) {
  return tn_dtype_bytes(tensor->dtype, tn_tensor_elements(tensor));
}

/* Block length of TN_BLOCKED; 0 for other layouts. */
static int64_t layout_block(tn_layout layout) {
  int64_t b = TN_LAYOUT_BLOCK(layout);
  return layout == TN_BLOCKED(b) ? b : 0;
}

int64_t tn_storage_elements(const tn_tensor *t) {
  if (t->layout == TN_PLAIN || t->layout == TN_CHANNELS_LAST) return tn_tensor_elements(t);
  int64_t b = layout_block(t->layout);
  if (b == 0 || t->rank < 2 || t->rank > TN_MAX_RANK || t->shape[1] < 0) return -1;
  int64_t dims[TN_MAX_RANK + 1], n;
  memcpy(dims, t->shape, sizeof t->shape);
  dims[1] = tn_ceil_div(t->shape[1], b);
  dims[t->rank] = b;
  return tn_dims_product(dims, t->rank + 1, &n) ? -1 : n;
}

int64_t tn_storage_bytes(const tn_tensor *t) {
  return tn_dtype_bytes(t->dtype, tn_storage_elements(t));
}

int64_t tn_storage_index(const tn_tensor *t, int64_t index) {
  if (t->layout == TN_PLAIN || t->rank < 2) return index;
  int64_t channels = t->shape[1], pixels = 1, b = layout_block(t->layout);
  for (int32_t k = 2; k < t->rank; k++) pixels *= t->shape[k];
  if (channels == 0 || pixels == 0) return 0; /* there is no element to place */
  int64_t x = index % pixels, c = index / pixels % channels, n = index / pixels / channels;
  if (b == 0) return (n * pixels + x) * channels + c;
  return ((n * tn_ceil_div(channels, b) + c / b) * pixels + x) * b + c % b;
}

bool tn_same_shape(const tn_tensor *a, const tn_tensor *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int32_t k = 0; k < a->rank; k++) {
    if (a->shape[k] != b->shape[k]) return false;
  }
  return true;
}

/* Adds to the zero-terminated buf as much of text as fits. */
static void append(char *buf, size_t size, const char *text) {
  size_t used = strlen(buf), n = strlen(text);
  if (n > size - 1 - used) n = size - 1 - used;
  memcpy(buf + used, text, n);
  buf[used + n] = 0;
}

const char *tn_tensor_text(const tn_tensor *t, char *buf, size_t size) {
  static const char *const kinds[] = {"", "sequence of ", "optional ", "map of "};
  if (size == 0) return buf;
  buf[0] = 0;
  if (t->kind < sizeof kinds / sizeof *kinds) append(buf, size, kinds[t->kind]);
  append(buf, size, tn_dtype_name(t->dtype));
  append(buf, size, "[");
  if (t->rank < 0 || t->rank > TN_MAX_RANK) append(buf, size, "...");
  for (int32_t k = 0; k < t->rank && k < TN_MAX_RANK; k++) {
    char dim[24];
    snprintf(dim, sizeof dim, "%s%lld", k ? "," : "", (long long)t->shape[k]);
    if (t->shape[k] < 0) snprintf(dim, sizeof dim, "%s?", k ? "," : "");
    append(buf, size, dim);
  }
  append(buf, size, "]");
  return buf;
}
