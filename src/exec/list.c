/* Sequences, optionals and maps: the list functions of tenon.h. */
#include "exec/cell.h"

tn_list *tn_list_of(const tn_tensor *value) {
  if (!value || value->kind == TN_KIND_TENSOR) return NULL;
  return (tn_list *)(uintptr_t)value->object;
}

tn_status tn_value_copy(const tn_allocator *a, const tn_tensor *from, tn_tensor **out) {
  *out = NULL;
  tn_cell *cell = tn_cell_new(a);
  if (!cell) return TN_ERR_MEMORY;
  tn_status status = tn_cell_set(cell, from);
  if (status) {
    tn_cell_free(cell);
    return status;
  }
  *out = &cell->value;
  return TN_OK;
}

void tn_value_free(tn_tensor *value) { tn_cell_free((tn_cell *)value); }

/* ---- tenon.h ---- */

int64_t tn_list_size(const tn_tensor *list) {
  const tn_list *l = tn_list_of(list);
  return l ? l->items.n : 0;
}

const tn_tensor *tn_list_item(const tn_tensor *list, int64_t index) {
  const tn_list *l = tn_list_of(list);
  return l && index >= 0 && index < l->items.n ? l->items.data[index] : NULL;
}

tn_status tn_list_create(tn_runtime *runtime, uint32_t kind, uint32_t dtype, tn_tensor **out_list) {
  if (!out_list) return TN_ERR_INVALID;
  *out_list = NULL;
  if (!runtime) return TN_ERR_INVALID;
  tn_cell *cell = tn_cell_new(&runtime->allocator);
  if (!cell) return TN_ERR_MEMORY;
  tn_tensor type = {.dtype = dtype, .kind = kind};
  tn_status status = tn_cell_list(cell, &type);
  if (status) {
    tn_cell_free(cell);
    return status;
  }
  *out_list = &cell->value;
  return TN_OK;
}

tn_status tn_list_append(tn_tensor *list, const tn_tensor *item) {
  tn_list *l = tn_list_of(list);
  if (!l || !item) return TN_ERR_INVALID;
  tn_status status = tn_list_add(l, item);
  if (status) return status;
  if (list->kind != TN_KIND_MAP)
    list->elements = item->kind == TN_KIND_TENSOR ? 0 : TN_ELEMENTS(item->kind, item->elements);
  else if (l->items.n == 1)
    list->elements = TN_ELEMENTS_KEY(item->dtype);
  return status;
}

void tn_list_destroy(tn_tensor *list) { tn_value_free(list); }
