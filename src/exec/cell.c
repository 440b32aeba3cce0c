/* Cells: growing, copying and taking in values. Strings and lists are in cell_parts.c. */
#include "exec/cell.h"

#include <string.h>

/* ---- creation and destruction ---- */

void tn_cell_init(tn_cell *c, const tn_allocator *a) {
  memset(c, 0, sizeof *c);
  c->a = c->list.a = a;
  c->value.head = (tn_head)TN_HEAD(tn_tensor);
}

tn_cell *tn_cell_new(const tn_allocator *a) {
  tn_cell *c = tn_alloc(a, sizeof *c);
  if (c) tn_cell_init(c, a);
  return c;
}

void tn_cell_clear(tn_cell *c) {
  const tn_allocator *a = c->a;
  tn_free(a, c->data, c->cap);
  tn_cell_clear_parts(c);
  tn_cell_init(c, a);
}

void tn_cell_free(tn_cell *c) {
  if (!c) return;
  tn_cell_clear(c);
  tn_free(c->a, c, sizeof *c);
}

/* ---- tensors ---- */

static tn_status cell_grow(tn_cell *c, uint64_t bytes) {
  if (bytes <= c->cap && c->data) return TN_OK;
  /* a value that grows a little with every run shall not be moved with every run */
  uint64_t cap =
      c->cap / 2 > bytes - c->cap && c->cap < UINT64_MAX / 2 ? c->cap + c->cap / 2 : bytes;
  void *data = tn_alloc(c->a, cap);
  if (!data) return TN_ERR_MEMORY;
  tn_free(c->a, c->data, c->cap);
  c->data = data;
  c->cap = cap;
  return TN_OK;
}

static tn_status check_dims(const tn_tensor *type) {
  if (type->rank < 0 || type->rank > TN_MAX_RANK || !tn_dtype(type->dtype)->bits)
    return TN_ERR_SHAPE;
  for (int32_t k = 0; k < type->rank; k++)
    if (type->shape[k] < 0) return TN_ERR_SHAPE;
  return TN_OK;
}

tn_status tn_cell_shape(tn_cell *c, const tn_tensor *type) {
  if (check_dims(type)) return TN_ERR_SHAPE;
  int64_t bytes = tn_storage_bytes(type);
  if (bytes < 0) return TN_ERR_OVERFLOW;
  if (cell_grow(c, (uint64_t)bytes)) return TN_ERR_MEMORY;
  if (type->dtype == TN_STRING) {
    tn_cell_reset_strings(c);
    memset(c->data, 0, (size_t)bytes);
  }
  c->value = (tn_tensor){.head = TN_HEAD(tn_tensor),
                         .data = c->data,
                         .layout = type->layout,
                         .dtype = type->dtype,
                         .rank = type->rank};
  memcpy(c->value.shape, type->shape, sizeof c->value.shape);
  return TN_OK;
}

static tn_status set_tensor(tn_cell *c, const tn_tensor *value) {
  int64_t bytes = check_dims(value) ? -1 : tn_storage_bytes(value);
  if (bytes < 0 || (bytes && !value->data)) return TN_ERR_INVALID;
  tn_status status = tn_cell_shape(c, value);
  if (status) return status;
  if (value->dtype != TN_STRING) {
    if (bytes) memcpy(c->data, value->data, (size_t)bytes);
    return TN_OK;
  }
  const tn_str *from = value->data;
  int64_t n = bytes / (int64_t)sizeof *from;
  for (int64_t k = 0; !status && k < n; k++)
    status = tn_cell_string(c, k, from[k].data, from[k].size);
  return status;
}

tn_status tn_cell_set(tn_cell *c, const tn_tensor *value) {
  if (value == &c->value) return TN_OK;
  return value->kind == TN_KIND_TENSOR ? set_tensor(c, value) : tn_cell_set_list(c, value);
}
