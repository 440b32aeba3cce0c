/* FlatBuffers, read in place: a buffer is tables of fields, vectors and strings, tied together by
 * offsets.
 *
 * Nothing is copied and nothing is believed: each access is checked against the buffer when it is
 * made. The first thing that is wrong is kept in tn_flat.status, with a text that names table,
 * field and byte; what is asked for then, and all that is read later, answers "missing". So a
 * reader looks at the status once per object, not at every access. */
#ifndef TN_BASE_FLAT_H
#define TN_BASE_FLAT_H

#include <stdbool.h>

#include "base/alloc.h"
#include "tenon/plugin.h"

typedef struct tn_flat {
  const uint8_t *data;
  uint64_t size;
  uint64_t left; /* tables and elements that may still be visited: vectors may share their items */
  tn_status status;
  uint64_t at; /* where it went wrong */
  char text[160];
} tn_flat;

/* A table's name and those of its fields, for messages. Fields are counted from 0, as in their
 * .fbs; what is not in the list has no name. */
typedef struct tn_flat_type {
  const char *name;
  const char *const *fields; /* ends with NULL */
} tn_flat_type;

/* A table of a buffer; at 0: it is missing, and so are all its fields. */
typedef struct tn_flat_table {
  tn_flat *flat;
  const tn_flat_type *type;
  uint64_t at, vtable;
  uint32_t vtable_bytes, bytes;
} tn_flat_table;

/* n elements of `width` bytes from `at` on; n 0 and at 0: it is missing. */
typedef struct tn_flat_vector {
  tn_flat *flat;
  const char *table, *field;
  uint64_t at, n;
  uint32_t width;
} tn_flat_vector;

void tn_flat_open(tn_flat *flat, const void *data, uint64_t size);
/* Four letters at byte 4. */
bool tn_flat_is(const void *data, uint64_t size, const char *identifier);
tn_flat_table tn_flat_root(tn_flat *flat, const tn_flat_type *type);

/* Whether the field is written in the file. */
bool tn_flat_has(const tn_flat_table *t, uint32_t field);
/* A number; `missing` if it is not there. width: 1, 2, 4 or 8 bytes. Numbers without a sign that do
 * not fit are wrong. */
int64_t tn_flat_int(const tn_flat_table *t, uint32_t field, uint32_t width, int64_t missing);
int64_t tn_flat_uint(const tn_flat_table *t, uint32_t field, uint32_t width, int64_t missing);
double tn_flat_float(const tn_flat_table *t, uint32_t field, double missing);
tn_flat_table tn_flat_sub(const tn_flat_table *t, uint32_t field, const tn_flat_type *type);
tn_flat_vector tn_flat_vec(const tn_flat_table *t, uint32_t field, uint32_t width);
/* The bytes of a string; size 0 if it is missing. */
tn_str tn_flat_text(const tn_flat_table *t, uint32_t field);

/* Element `index` < n of a vector of tables (width 4), of integers, of floats. */
tn_flat_table tn_flat_item(const tn_flat_vector *v, uint64_t index, const tn_flat_type *type);
tn_str tn_flat_item_text(const tn_flat_vector *v, uint64_t index);
int64_t tn_flat_int_at(const tn_flat_vector *v, uint64_t index);
double tn_flat_float_at(const tn_flat_vector *v, uint64_t index);
static inline const uint8_t *tn_flat_bytes(const tn_flat_vector *v) {
  return v->at ? v->flat->data + v->at : NULL;
}
/* Bytes of the file as the data of a tensor, which nobody writes. */
static inline void *tn_flat_data(const uint8_t *bytes) {
  union {
    const uint8_t *in;
    void *out;
  } cast = {bytes};
  return cast.out;
}
/* A copy of a name; "" if it is not printable UTF-8. NULL: there is no memory. */
const char *tn_flat_name(tn_arena *arena, tn_str name);

#endif
