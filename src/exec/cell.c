/* Cells: growing, copying and taking in values of any kind. */
#include "exec/cell.h"

#include <string.h>

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
  strings_clear(&c->strings, a);
  for (int64_t k = 0; k < c->list.n_made; k++) tn_cell_free((tn_cell *)c->list.items.data[k]);
  tn_vec_free(a, &c->list.items);
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
    strings_reset(&c->strings);
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

tn_status tn_cell_string(tn_cell *c, int64_t index, const char *data, int64_t size) {
  if (c->value.kind != TN_KIND_TENSOR || c->value.dtype != TN_STRING) return TN_ERR_INVALID;
  int64_t n = tn_storage_elements(&c->value);
  if (index < 0 || index >= n || size < 0 || (size && !data)) return TN_ERR_INVALID;
  const char *copy = strings_copy(&c->strings, c->a, data, (uint64_t)size);
  if (!copy) return TN_ERR_MEMORY;
  ((tn_str *)c->data)[index] = (tn_str){copy, size};
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

static tn_status set_list(tn_cell *c, const tn_tensor *value) {
  const tn_list *from = tn_list_of(value);
  tn_status status = tn_cell_list(c, value);
  for (int64_t k = 0; !status && from && k < from->items.n; k++)
    status = tn_list_add(&c->list, from->items.data[k]);
  return status;
}

tn_status tn_cell_set(tn_cell *c, const tn_tensor *value) {
  if (value == &c->value) return TN_OK;
  return value->kind == TN_KIND_TENSOR ? set_tensor(c, value) : set_list(c, value);
}
