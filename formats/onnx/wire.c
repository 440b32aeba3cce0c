/* The protobuf wire format and the messages of the reader; see wire.h. */
#include "wire.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/io_memory.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the ONNX reader uses the file's little-endian numbers as they stand"
#endif

/* ---- The reader ---- */

/* How far sparse tensors may grow: what any file may take, and what each of its bytes adds. */
enum { DENSE_BASE = 64 << 20, DENSE_PER_BYTE = 256 };

void onnx_reader_init(onnx_reader *r, const tn_source *source) {
  *r = (onnx_reader){.source = source, .host = source->host, .api = source->host->graph};
  r->allocator = tn_source_allocator(source);
  int64_t growth;
  bool huge = source->size > INT64_MAX ||
              tn_mul_i64((int64_t)source->size, DENSE_PER_BYTE, &growth) ||
              tn_add_i64(growth, DENSE_BASE, &r->dense_left);
  if (huge) r->dense_left = INT64_MAX;
}

/* Parts of a chain that are told at each end; those between them are left out. */
enum { WHERE_ENDS = 3, WHERE_TEXT = 1000 };

static int nameless_part(const onnx_where *w, int detail, char *buf, int size) {
  const int made = (int)tn_min_i64(onnx_size(w->made), 60);
  char maker[80] = "", op[80] = "";
  if (made) snprintf(maker, sizeof maker, " that makes '%.*s'", made, (const char *)w->made.p);
  if (detail) snprintf(op, sizeof op, " (%.*s)", detail, (const char *)w->detail.p);
  return snprintf(buf, (size_t)size, "%s #%d%s%s: ", w->what, w->number, maker, op);
}

static int where_part(const onnx_where *w, char *buf, int size) {
  int name = (int)tn_min_i64(onnx_size(w->name), 80),
      detail = (int)tn_min_i64(onnx_size(w->detail), 60);
  if (!name && !strcmp(w->what, "node")) return nameless_part(w, detail, buf, size);
  return snprintf(buf, (size_t)size, detail ? "%s '%.*s' (%.*s): " : "%s '%.*s'%.*s: ", w->what,
                  name, name ? (const char *)w->name.p : "", detail,
                  detail ? (const char *)w->detail.p : "");
}

/* Writes the chain of what is being read, outermost first; answers its length. inner: how many
 * parts stand within this one. */
static int where_text(const onnx_where *w, int inner, char *buf, int size) {
  int outer = 0;
  for (const onnx_where *up = w->up; up; up = up->up) outer++;
  int n = w->up ? where_text(w->up, inner + 1, buf, size) : 0;
  if (outer < WHERE_ENDS || inner < WHERE_ENDS) return n + where_part(w, buf + n, size - n);
  return outer == WHERE_ENDS ? n + snprintf(buf + n, (size_t)(size - n), "...: ") : n;
}

tn_status(onnx_fail)(const onnx_reader *r, tn_status code, const uint8_t *at, const char *format,
                     ...) {
  char where[WHERE_TEXT] = "", text[300], place[40] = "";
  if (r->where) where_text(r->where, 0, where, sizeof where);
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  if (code == TN_ERR_MEMORY) snprintf(text, sizeof text, "out of memory");
  const tn_source *s = r->source;
  if (at && at >= s->data && at <= s->data + s->size)
    snprintf(place, sizeof place, ", at byte %lld", (long long)(at - s->data));
  return (r->host->fail)(s->ctx, code, "%s: %s%s%s", s->path ? s->path : "(memory)", where, text,
                         place);
}

tn_status onnx_no_memory(const onnx_reader *r) {
  return onnx_fail(r, TN_ERR_MEMORY, NULL, "out of memory");
}

/* ---- Fields ---- */

int32_t onnx_next(const onnx_reader *r, onnx_span *rest, onnx_field *out) {
  if (rest->p == rest->end) return 0;
  *out = (onnx_field){.at = rest->p};
  uint64_t tag;
  if (!tn_proto_varint(rest, &tag))
    return onnx_fail(r, TN_ERR_INVALID, out->at, "the file breaks off inside a field");
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return onnx_fail(r, TN_ERR_INVALID, out->at,
                     "there is no field where one should begin; the file is damaged");
  out->number = (uint32_t)(tag >> 3);
  out->wire = (uint32_t)(tag & 7);
  bool ok = true;
  switch (out->wire) {
    case ONNX_VARINT:
    case ONNX_FIXED64:
    case ONNX_FIXED32: ok = tn_proto_number(rest, out->wire, &out->value); break;
    case ONNX_BYTES: ok = tn_proto_bytes(rest, &out->bytes); break;
    default:
      return onnx_fail(r, TN_ERR_INVALID, out->at,
                       "field %u has wire type %u, which ONNX does not use", out->number,
                       out->wire);
  }
  if (!ok)
    return onnx_fail(r, TN_ERR_INVALID, out->at, "field %u is longer than the message it stands in",
                     out->number);
  return 1;
}

static tn_status wrong_wire(const onnx_reader *r, const onnx_field *f, const char *expected) {
  return onnx_fail(r, TN_ERR_INVALID, f->at, "field %u has wire type %u, but should be %s",
                   f->number, f->wire, expected);
}

tn_status onnx_int(const onnx_reader *r, const onnx_field *f, int64_t *out) {
  if (f->wire != ONNX_VARINT) return wrong_wire(r, f, "an integer");
  *out = (int64_t)f->value;
  return TN_OK;
}

tn_status onnx_float(const onnx_reader *r, const onnx_field *f, double *out) {
  if (f->wire != ONNX_FIXED32) return wrong_wire(r, f, "a 32-bit float");
  float value;
  uint32_t bits = (uint32_t)f->value;
  memcpy(&value, &bits, sizeof value);
  *out = (double)value;
  return TN_OK;
}

tn_status onnx_bytes(const onnx_reader *r, const onnx_field *f, onnx_span *out) {
  if (f->wire != ONNX_BYTES) return wrong_wire(r, f, "a string or message");
  *out = f->bytes;
  return TN_OK;
}

tn_status onnx_text(const onnx_reader *r, const onnx_field *f, onnx_span *out) {
  tn_status s = onnx_bytes(r, f, out);
  if (s) return s;
  int64_t n = onnx_size(*out);
  if (n && memchr(out->p, 0, (size_t)n))
    return onnx_fail(r, TN_ERR_INVALID, f->at, "the text in field %u contains a zero byte",
                     f->number);
  if (!tn_utf8_valid((const char *)out->p, n))
    return onnx_fail(r, TN_ERR_INVALID, f->at, "the text in field %u is not valid UTF-8",
                     f->number);
  return TN_OK;
}

/* ---- Repeated numbers ---- */

/* The numbers of one field, which holds one of them or a packed list: width 0 counts only. Adds to
 * *n. */
static tn_status field_numbers(const onnx_reader *r, const onnx_field *f, uint32_t wire,
                               uint32_t width, uint8_t *out, int64_t *n) {
  if (f->wire == wire) {
    if (width) memcpy(out + *n * width, &f->value, width);
    ++*n;
    return TN_OK;
  }
  if (f->wire != ONNX_BYTES) return wrong_wire(r, f, "a list of numbers");
  onnx_span rest = f->bytes;
  while (rest.p < rest.end) {
    uint64_t value;
    const uint8_t *at = rest.p;
    if (!tn_proto_number(&rest, wire, &value))
      return onnx_fail(r, TN_ERR_INVALID, at, "the list of numbers in field %u breaks off",
                       f->number);
    if (width) memcpy(out + *n * width, &value, width);
    ++*n;
  }
  return TN_OK;
}

static tn_status numbers(const onnx_reader *r, onnx_span message, uint32_t number, uint32_t wire,
                         uint32_t width, uint8_t *out, int64_t *n) {
  onnx_field f;
  int32_t more;
  *n = 0;
  while ((more = onnx_next(r, &message, &f)) > 0) {
    tn_status s = f.number == number ? field_numbers(r, &f, wire, width, out, n) : TN_OK;
    if (s) return s;
  }
  return more;
}

tn_status onnx_count(const onnx_reader *r, onnx_span message, uint32_t number, uint32_t wire,
                     int64_t *out_n) {
  return numbers(r, message, number, wire, 0, NULL, out_n);
}

tn_status onnx_gather(const onnx_reader *r, onnx_span message, uint32_t number, uint32_t wire,
                      uint32_t width, void *out) {
  int64_t n;
  return numbers(r, message, number, wire, width, out, &n);
}
