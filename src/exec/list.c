/* Sequences, optionals and maps: how items are kept, and the list functions of tenon.h.
 *
 * Items are cells. Items beyond the end stay as spares, so that a list that is filled anew with
 * every run allocates only the first time. */
#include "exec/cell.h"

tn_list *tn_list_of(const tn_tensor *value) {
  if (!value || value->kind == TN_KIND_TENSOR) return NULL;
  return (tn_list *)(uintptr_t)value->object;
}

const char *tn_list_refuses(const tn_list *list, const tn_tensor *item) {
  if (list->kind == TN_KIND_OPTIONAL && list->items.n == 1) return "it holds one already";
  if (list->kind == TN_KIND_MAP && list->items.n == 2) return "it has keys and values already";
  const bool is_key = list->kind == TN_KIND_MAP && list->items.n == 0;
  return is_key || !list->dtype || !item->dtype || list->dtype == item->dtype
             ? NULL
             : "the list holds another dtype";
}

/* The cell for one more item, not counted yet. */
static tn_status list_next(tn_list *list, const tn_tensor *item, tn_cell **out) {
  if (tn_list_refuses(list, item)) return TN_ERR_INVALID;
  if (list->items.n == list->n_made) {
    if (tn_vec_room(list->a, &list->items, 1)) return TN_ERR_MEMORY;
    tn_cell *cell = tn_cell_new(list->a);
    if (!cell) return TN_ERR_MEMORY;
    list->items.data[list->n_made++] = &cell->value;
  }
  *out = (tn_cell *)list->items.data[list->items.n];
  return TN_OK;
}

tn_status tn_list_add(tn_list *list, const tn_tensor *item) {
  tn_cell *cell;
  tn_status status = list_next(list, item, &cell);
  if (!status) status = tn_cell_set(cell, item);
  if (!status) list->items.n++;
  return status;
}

tn_status tn_list_add_map(tn_list *list, const tn_tensor *keys, const tn_tensor *values) {
  tn_cell *cell;
  const tn_tensor type = {
      .dtype = values->dtype, .kind = TN_KIND_MAP, .elements = TN_ELEMENTS_KEY(keys->dtype)};
  tn_status status = list_next(list, &type, &cell);
  if (!status) status = tn_cell_list(cell, &type);
  if (!status) status = tn_list_add(&cell->list, keys);
  if (!status) status = tn_list_add(&cell->list, values);
  if (!status) list->items.n++;
  return status;
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
  if (!status && list->kind != TN_KIND_MAP)
    list->elements = item->kind == TN_KIND_TENSOR ? 0 : TN_ELEMENTS(item->kind, item->elements);
  return status;
}

void tn_list_destroy(tn_tensor *list) { tn_value_free(list); }
