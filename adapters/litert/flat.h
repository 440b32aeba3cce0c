/* A writer of FlatBuffers: a table's fields are slots of 8 bytes, and what it points to is written
 * behind it. What does not fit or has no memory sets `failed`; all calls after that do nothing. */
#ifndef FLAT_H
#define FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FLAT_FIELDS = 16 };

typedef struct flat {
  uint8_t *data; /* at a multiple of 64; freed by flat_free */
  size_t n, room;
  bool failed;
} flat;

/* An empty buffer with the identifier of four letters; room: what is likely needed, in bytes. */
void flat_open(flat *f, const char *identifier, size_t room);
void flat_free(flat *f);
/* A table without any of its fields; answers its place. */
size_t flat_table(flat *f, uint32_t n_fields);
void flat_root(flat *f, size_t table);
/* Sets a number of any width up to 8 bytes. */
void flat_set(flat *f, size_t table, uint32_t field, int64_t value);
/* Makes a field point to a table, vector or text that was written after its table. */
void flat_link(flat *f, size_t table, uint32_t field, size_t child);
/* n elements of `width` bytes, those of 64 bytes and more at a multiple of 64; data NULL: zeros. */
size_t flat_vector(flat *f, size_t n, size_t width, const void *data);
void flat_link_item(flat *f, size_t vector, size_t index, size_t child);
size_t flat_text(flat *f, const char *text);
/* The elements of a vector, until something is written. */
static inline void *flat_items(const flat *f, size_t vector) { return f->data + vector + 4; }

#endif
