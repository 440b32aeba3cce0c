/* FlatBuffers, read in place; see flat.h. */
#include "base/flat.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/text.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "FlatBuffers are read as the little-endian numbers they are"
#endif

/* Visits that any buffer may cost, and what each of its bytes adds. */
enum { VISITS_BASE = 65536, VISITS_PER_BYTE = 4 };

static __attribute__((format(printf, 3, 4))) void(flat_wrong)(tn_flat *f, uint64_t at,
                                                              const char *format, ...) {
  if (f->status) return;
  va_list args;
  va_start(args, format);
  tn_error_text(f->text, sizeof f->text, TN_ERR_INVALID, format, args);
  va_end(args);
  f->status = TN_ERR_INVALID;
  f->at = at;
}

static const char *field_name(const tn_flat_type *type, uint32_t field) {
  for (uint32_t k = 0; type->fields[k]; k++)
    if (k == field) return type->fields[k];
  return "?";
}

/* Are there n bytes at `at`? */
static bool inside(const tn_flat *f, uint64_t at, uint64_t n) {
  return !f->status && at <= f->size && n <= f->size - at;
}

static uint64_t load(const tn_flat *f, uint64_t at, uint32_t width) {
  uint64_t v = 0;
  memcpy(&v, f->data + at, width);
  return v;
}

static bool visit(tn_flat *f, uint64_t n, uint64_t at, const char *what) {
  if (n > f->left) {
    flat_wrong(f, at, "%s: the file refers to the same things over and over", what);
    return false;
  }
  f->left -= n;
  return true;
}

void tn_flat_open(tn_flat *flat, const void *data, uint64_t size) {
  const uint64_t base = VISITS_BASE;
  *flat = (tn_flat){.data = data, .size = size};
  flat->left =
      size > (UINT64_MAX - base) / VISITS_PER_BYTE ? UINT64_MAX : base + size * VISITS_PER_BYTE;
}

bool tn_flat_is(const void *data, uint64_t size, const char *identifier) {
  return size >= 8 && !memcmp((const uint8_t *)data + 4, identifier, 4);
}

/* ---- tables ---- */

static tn_flat_table no_table(tn_flat *f, const tn_flat_type *type) {
  return (tn_flat_table){.flat = f, .type = type};
}

static tn_flat_table open_table(tn_flat *f, uint64_t at, const tn_flat_type *type) {
  tn_flat_table t = {.flat = f, .type = type, .at = at};
  if (!inside(f, at, 4)) {
    flat_wrong(f, at, "%s: stands outside the file", type->name);
    return no_table(f, type);
  }
  int32_t back;
  memcpy(&back, f->data + at, sizeof back);
  const int64_t vtable = (int64_t)at - back;
  if (vtable < 0 || !inside(f, (uint64_t)vtable, 4)) {
    flat_wrong(f, at, "%s: its list of fields stands outside the file", type->name);
    return no_table(f, type);
  }
  t.vtable = (uint64_t)vtable;
  t.vtable_bytes = (uint32_t)load(f, t.vtable, 2);
  t.bytes = (uint32_t)load(f, t.vtable + 2, 2);
  const bool fits = t.vtable_bytes >= 4 && t.bytes >= 4 && inside(f, t.vtable, t.vtable_bytes) &&
                    inside(f, at, t.bytes);
  if (!fits) flat_wrong(f, at, "%s: is longer than the file", type->name);
  return fits && visit(f, 1, at, type->name) ? t : no_table(f, type);
}

tn_flat_table tn_flat_root(tn_flat *f, const tn_flat_type *type) {
  if (inside(f, 0, 8)) return open_table(f, load(f, 0, 4), type);
  flat_wrong(f, 0, "%s: the file has no room for one", type->name);
  return no_table(f, type);
}

/* Where the field stands; 0: it is missing. */
static uint64_t field_at(const tn_flat_table *t, uint32_t field, uint32_t width) {
  tn_flat *f = t->flat;
  const uint64_t entry = 4 + 2 * (uint64_t)field;
  if (!t->at || f->status || entry + 2 > t->vtable_bytes) return 0;
  const uint64_t offset = load(f, t->vtable + entry, 2);
  if (!offset) return 0;
  if (offset >= 4 && offset + width <= t->bytes) return t->at + offset;
  flat_wrong(f, t->vtable + entry, "%s.%s: stands outside its table", t->type->name,
             field_name(t->type, field));
  return 0;
}

bool tn_flat_has(const tn_flat_table *t, uint32_t field) { return field_at(t, field, 1) != 0; }

static int64_t with_sign(uint64_t v, uint32_t width) {
  const uint32_t unused = 64 - 8 * width;
  return (int64_t)(v << unused) >> unused;
}

int64_t tn_flat_int(const tn_flat_table *t, uint32_t field, uint32_t width, int64_t missing) {
  const uint64_t at = field_at(t, field, width);
  return at ? with_sign(load(t->flat, at, width), width) : missing;
}

int64_t tn_flat_uint(const tn_flat_table *t, uint32_t field, uint32_t width, int64_t missing) {
  const uint64_t at = field_at(t, field, width), v = at ? load(t->flat, at, width) : 0;
  if (v <= INT64_MAX) return at ? (int64_t)v : missing;
  flat_wrong(t->flat, at, "%s.%s: is too large", t->type->name, field_name(t->type, field));
  return missing;
}

double tn_flat_float(const tn_flat_table *t, uint32_t field, double missing) {
  const uint64_t at = field_at(t, field, 4);
  float v = 0;
  if (at) memcpy(&v, t->flat->data + at, sizeof v);
  return at ? (double)v : missing;
}

/* ---- what offsets point to ---- */

/* The place that the offset at `at` points to; 0: it points outside. */
static uint64_t follow(tn_flat *f, uint64_t at, const char *table, const char *field) {
  const uint64_t to = at + load(f, at, 4);
  if (to > at && inside(f, to, 4)) return to;
  flat_wrong(f, at, "%s.%s: its offset points outside the file", table, field);
  return 0;
}

tn_flat_table tn_flat_sub(const tn_flat_table *t, uint32_t field, const tn_flat_type *type) {
  const uint64_t at = field_at(t, field, 4);
  const uint64_t to = at ? follow(t->flat, at, t->type->name, field_name(t->type, field)) : 0;
  return to ? open_table(t->flat, to, type) : no_table(t->flat, type);
}

static tn_flat_vector open_vector(tn_flat *f, uint64_t at, const char *table, const char *field,
                                  uint32_t width) {
  tn_flat_vector v = {.flat = f, .table = table, .field = field, .width = width};
  if (!at || f->status) return v;
  const uint64_t n = load(f, at, 4);
  if (!inside(f, at + 4, n * width)) { /* n has 32 bits, width is small */
    flat_wrong(f, at, "%s.%s: has %llu elements, more than the file holds", table, field,
               (unsigned long long)n);
    return v;
  }
  v.at = at + 4;
  v.n = n;
  return v;
}

tn_flat_vector tn_flat_vec(const tn_flat_table *t, uint32_t field, uint32_t width) {
  const char *name = field_name(t->type, field);
  const uint64_t at = field_at(t, field, 4);
  return open_vector(t->flat, at ? follow(t->flat, at, t->type->name, name) : 0, t->type->name,
                     name, width);
}

tn_str tn_flat_text(const tn_flat_table *t, uint32_t field) {
  const tn_flat_vector v = tn_flat_vec(t, field, 1);
  return (tn_str){v.at ? (const char *)v.flat->data + v.at : "", (int64_t)v.n};
}

/* ---- elements ---- */

static bool has(const tn_flat_vector *v, uint64_t index) {
  return index < v->n && !v->flat->status && visit(v->flat, 1, v->at, v->field);
}

static uint64_t item_at(const tn_flat_vector *v, uint64_t index) {
  return has(v, index) && v->width == 4
             ? follow(v->flat, v->at + index * v->width, v->table, v->field)
             : 0;
}

tn_flat_table tn_flat_item(const tn_flat_vector *v, uint64_t index, const tn_flat_type *type) {
  const uint64_t at = item_at(v, index);
  return at ? open_table(v->flat, at, type) : no_table(v->flat, type);
}

tn_str tn_flat_item_text(const tn_flat_vector *v, uint64_t index) {
  const tn_flat_vector text = open_vector(v->flat, item_at(v, index), v->table, v->field, 1);
  return (tn_str){text.at ? (const char *)v->flat->data + text.at : "", (int64_t)text.n};
}

int64_t tn_flat_int_at(const tn_flat_vector *v, uint64_t index) {
  if (!has(v, index)) return 0;
  return with_sign(load(v->flat, v->at + index * v->width, v->width), v->width);
}

double tn_flat_float_at(const tn_flat_vector *v, uint64_t index) {
  float x = 0;
  if (has(v, index) && v->width == 4)
    memcpy(&x, v->flat->data + v->at + index * v->width, sizeof x);
  return (double)x;
}

const char *tn_flat_name(tn_arena *arena, tn_str name) {
  bool ok = name.size && tn_utf8_valid(name.data, name.size);
  for (int64_t k = 0; ok && k < name.size; k++) {
    const unsigned char c = (unsigned char)name.data[k];
    ok = c >= 0x20 && c != 0x7f;
  }
  return ok ? tn_arena_strn(arena, name.data, name.size) : "";
}
