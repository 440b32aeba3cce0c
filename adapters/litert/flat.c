/* A writer of FlatBuffers; see flat.h. */
#include "flat.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, SLOT = 8, MOST_BYTES = 0x7fffffff };

static bool grow(flat *f, size_t bytes) {
  if (bytes <= f->room) return true;
  const size_t least = bytes < 2 * f->room ? 2 * f->room : bytes,
               room = (least + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  uint8_t *data = aligned_alloc(ALIGNMENT, room);
  if (!data) return false;
  memset(data, 0, room);
  if (f->n) memcpy(data, f->data, f->n);
  free(f->data);
  f->data = data;
  f->room = room;
  return true;
}

/* Zeros, `before` bytes and then `bytes` at a multiple of `alignment`; answers where those
 * begin. */
static size_t take(flat *f, size_t before, size_t bytes, size_t alignment) {
  const size_t at = (f->n + before + alignment - 1) / alignment * alignment;
  if (!f->failed) f->failed = bytes > MOST_BYTES - at || !grow(f, at + bytes);
  if (f->failed) return 0;
  f->n = at + bytes;
  return at;
}

static void put(flat *f, size_t at, const void *value, size_t bytes) {
  if (!f->failed) memcpy(f->data + at, value, bytes);
}

static void put_32(flat *f, size_t at, uint32_t value) { put(f, at, &value, sizeof value); }

void flat_open(flat *f, const char *identifier, size_t room) {
  *f = (flat){0};
  f->failed = room > MOST_BYTES || !grow(f, room + ALIGNMENT);
  put(f, take(f, 0, SLOT, SLOT) + 4, identifier, 4);
}

void flat_free(flat *f) {
  free(f->data);
  *f = (flat){.failed = true};
}

/* Before a table: bytes of this list, bytes of the table, for each field its place there or 0. */
size_t flat_table(flat *f, uint32_t n_fields) {
  const uint16_t sizes[2] = {(uint16_t)(4 + 2 * n_fields), (uint16_t)(SLOT + SLOT * n_fields)};
  const size_t list = take(f, 0, sizes[0], SLOT), table = take(f, 0, sizes[1], SLOT);
  put(f, list, sizes, sizeof sizes);
  put_32(f, table, (uint32_t)(table - list));
  return table;
}

void flat_root(flat *f, size_t table) { put_32(f, 0, (uint32_t)table); }

/* Where the field's slot is, which is there from now on. */
static size_t open_field(flat *f, size_t table, uint32_t field) {
  const uint16_t place = (uint16_t)(SLOT + SLOT * field);
  uint32_t back = 0;
  if (f->failed) return 0;
  memcpy(&back, f->data + table, sizeof back);
  put(f, table - back + 4 + 2 * (size_t)field, &place, sizeof place);
  return table + place;
}

void flat_set(flat *f, size_t table, uint32_t field, int64_t value) {
  put(f, open_field(f, table, field), &value, sizeof value);
}

void flat_link(flat *f, size_t table, uint32_t field, size_t child) {
  const size_t at = open_field(f, table, field);
  put_32(f, at, (uint32_t)(child - at));
}

size_t flat_vector(flat *f, size_t n, size_t width, const void *data) {
  if (n > MOST_BYTES / width) f->failed = true;
  const size_t bytes = f->failed ? 0 : n * width;
  const size_t at = take(f, 4, bytes, bytes >= ALIGNMENT ? ALIGNMENT : SLOT) - 4;
  put_32(f, at, (uint32_t)n);
  if (data && n) put(f, at + 4, data, bytes);
  return at;
}

void flat_link_item(flat *f, size_t vector, size_t index, size_t child) {
  const size_t at = vector + 4 + 4 * index;
  put_32(f, at, (uint32_t)(child - at));
}

size_t flat_text(flat *f, const char *text) {
  const size_t at = flat_vector(f, strlen(text) + 1, 1, text); /* a zero byte ends it */
  put_32(f, at, (uint32_t)strlen(text));
  return at;
}
