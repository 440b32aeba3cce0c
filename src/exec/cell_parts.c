/* Strings and lists in cells.
 *
 * The items of sequences, optionals and maps are cells. Items beyond the end stay as spares, so
 * that a list that is filled anew with every run allocates only the first time. */
#include <string.h>

#include "exec/cell.h"

enum { CHUNK_MIN = 256 };

struct tn_string_chunk {
  struct tn_string_chunk *next;
  uint64_t cap, used; /* of bytes[] */
  char bytes[];
};

/* ---- bytes of strings ---- */

static void strings_clear(tn_strings *s, const tn_allocator *a) {
  while (s->first) {
    struct tn_string_chunk *chunk = s->first;
    s->first = chunk->next;
    tn_free(a, chunk, sizeof *chunk + chunk->cap);
  }
  *s = (tn_strings){0};
}

/* A chunk behind `now`, which is the last one. */
static tn_status strings_grow(tn_strings *s, const tn_allocator *a, uint64_t cap) {
  struct tn_string_chunk *chunk = tn_alloc(a, sizeof *chunk + cap);
  if (!chunk) return TN_ERR_MEMORY;
  chunk->cap = cap;
  *(s->now ? &s->now->next : &s->first) = chunk;
  s->now = chunk;
  s->total += cap;
  return TN_OK;
}

/* Forgets all strings; the next ones go into the same chunks in the same order, so that equal ones
 * need no more. */
static void strings_reset(tn_strings *s) {
  s->now = s->first;
  if (s->now) s->now->used = 0;
}

static bool has_room(const struct tn_string_chunk *chunk, uint64_t size) {
  return chunk && chunk->cap - chunk->used >= size;
}

static const char *strings_copy(tn_strings *s, const tn_allocator *a, const char *data,
                                uint64_t size) {
  while (!has_room(s->now, size) && s->now && s->now->next) {
    s->now = s->now->next;
    s->now->used = 0;
  }
  if (!has_room(s->now, size)) {
    uint64_t cap = s->total > CHUNK_MIN ? s->total : CHUNK_MIN;
    if (strings_grow(s, a, cap > size ? cap : size)) return NULL;
  }
  char *to = s->now->bytes + s->now->used;
  if (size) memcpy(to, data, (size_t)size);
  s->now->used += size;
  return to;
}

void tn_cell_reset_strings(tn_cell *c) { strings_reset(&c->strings); }

tn_status tn_cell_string(tn_cell *c, int64_t index, const char *data, int64_t size) {
  if (c->value.kind != TN_KIND_TENSOR || c->value.dtype != TN_STRING) return TN_ERR_INVALID;
  int64_t n = tn_storage_elements(&c->value);
  if (index < 0 || index >= n || size < 0 || (size && !data)) return TN_ERR_INVALID;
  const char *copy = strings_copy(&c->strings, c->a, data, (uint64_t)size);
  if (!copy) return TN_ERR_MEMORY;
  ((tn_str *)c->data)[index] = (tn_str){copy, size};
  return TN_OK;
}

/* ---- items ---- */

const char *tn_list_refuses(const tn_list *list, const tn_tensor *item) {
  if (list->kind == TN_KIND_OPTIONAL && list->items.n == 1) return TN_WHY("it holds one already");
  if (list->kind == TN_KIND_MAP && list->items.n == 2)
    return TN_WHY("it has keys and values already");
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

/* ---- lists ---- */

tn_status tn_cell_list(tn_cell *c, const tn_tensor *type) {
  if (type->kind < TN_KIND_SEQUENCE || type->kind > TN_KIND_MAP) return TN_ERR_INVALID;
  c->list.kind = type->kind;
  c->list.dtype = type->dtype;
  c->list.items.n = 0;
  c->value = (tn_tensor){.head = TN_HEAD(tn_tensor),
                         .dtype = type->dtype,
                         .kind = type->kind,
                         .elements = type->elements,
                         .object = (uint64_t)(uintptr_t)&c->list};
  return TN_OK;
}

tn_status tn_cell_set_list(tn_cell *c, const tn_tensor *value) {
  const tn_list *from = tn_list_of(value);
  tn_status status = tn_cell_list(c, value);
  for (int64_t k = 0; !status && from && k < from->items.n; k++)
    status = tn_list_add(&c->list, from->items.data[k]);
  return status;
}

void tn_cell_clear_parts(tn_cell *c) {
  strings_clear(&c->strings, c->a);
  for (int64_t k = 0; k < c->list.n_made; k++) tn_cell_free((tn_cell *)c->list.items.data[k]);
  tn_vec_free(c->a, &c->list.items);
}
