/* Messages from bytes. Fields that the schema does not name are passed over, as Protobuf
 * has it. */
#include "base/proto_tree.h"

#include "tenon/kit/text.h"

typedef struct wire {
  const tn_proto_file *f;
  int32_t depth;
} wire;

static tn_status read_message(wire *w, tn_proto_span rest, tn_proto_message *m);

static uint64_t offset(const wire *w, const uint8_t *p) { return (uint64_t)(p - w->f->data); }

static const tn_proto_field *field_numbered(const tn_proto_type *type, uint64_t number) {
  for (uint32_t k = 0; k < type->n_fields; k++)
    if (type->fields[k].number == number) return &type->fields[k];
  return NULL;
}

static bool is_of_32(const tn_proto_field *f) {
  return f->kind == TN_FIELD_FLOAT || f->kind == TN_FIELD_FLOATS;
}
static bool is_of_64(const tn_proto_field *f) {
  return f->kind == TN_FIELD_DOUBLE || f->kind == TN_FIELD_DOUBLES;
}
static bool is_varint(const tn_proto_field *f) {
  return f->kind == TN_FIELD_INT || f->kind == TN_FIELD_INTS;
}

static tn_status add_number(wire *w, tn_proto_message *m, const tn_proto_field *field,
                            uint64_t bits, uint64_t at) {
  tn_proto_value *v = tn_proto_add(w->f, m, field, at);
  if (!v) return tn_proto_no_memory(w->f);
  const uint32_t low = (uint32_t)bits;
  float number = 0;
  memcpy(&number, &low, sizeof number);
  if (is_of_32(field))
    v->f = (double)number;
  else if (is_of_64(field))
    memcpy(&v->f, &bits, sizeof bits);
  else
    memcpy(&v->i, &bits, sizeof bits);
  return TN_OK;
}

static tn_status read_packed(wire *w, tn_proto_message *m, const tn_proto_field *field,
                             uint32_t type, tn_proto_span bytes) {
  tn_status s = TN_OK;
  while (bytes.p < bytes.end && !s) {
    uint64_t bits;
    const uint64_t at = offset(w, bytes.p);
    if (!tn_proto_number(&bytes, type, &bits))
      return tn_proto_fail(w->f, TN_ERR_INVALID, at, "the list of numbers in %s.%s breaks off",
                           m->type->name, field->name);
    s = add_number(w, m, field, bits, at);
  }
  return s;
}

static tn_status read_text(wire *w, tn_proto_message *m, const tn_proto_field *field,
                           tn_proto_span bytes, uint64_t at) {
  tn_proto_value *v = tn_proto_add(w->f, m, field, at);
  if (!v) return tn_proto_no_memory(w->f);
  v->s = (tn_str){(const char *)bytes.p, bytes.end - bytes.p};
  if (field->kind == TN_FIELD_BYTES) return TN_OK;
  if (tn_utf8_valid(v->s.data, v->s.size) && !memchr(v->s.data, 0, (size_t)v->s.size)) return TN_OK;
  return tn_proto_fail(w->f, TN_ERR_INVALID, at, "%s.%s is no text", m->type->name, field->name);
}

static tn_status read_sub(wire *w, tn_proto_message *m, const tn_proto_field *field,
                          tn_proto_span bytes, uint64_t at) {
  tn_proto_value *v = tn_proto_add(w->f, m, field, at);
  tn_proto_message *sub = tn_arena_alloc(w->f->arena, sizeof *sub);
  if (!v || !sub) return tn_proto_no_memory(w->f);
  *sub = (tn_proto_message){.type = field->type, .at = at};
  v->message = sub;
  if (++w->depth > TN_PROTO_MAX_DEPTH)
    return tn_proto_fail(w->f, TN_ERR_INVALID, at, "messages stand more than %d deep",
                         TN_PROTO_MAX_DEPTH);
  const tn_status s = read_message(w, bytes, sub);
  w->depth--;
  return s;
}

static tn_status read_bytes(wire *w, tn_proto_message *m, const tn_proto_field *field,
                            tn_proto_span bytes, uint64_t at) {
  tn_proto_value *v;
  switch (field->kind) {
    case TN_FIELD_INT: return read_packed(w, m, field, TN_PROTO_VARINT, bytes);
    case TN_FIELD_FLOAT: return read_packed(w, m, field, TN_PROTO_FIXED32, bytes);
    case TN_FIELD_DOUBLE: return read_packed(w, m, field, TN_PROTO_FIXED64, bytes);
    case TN_FIELD_BYTES:
    case TN_FIELD_TEXT: return read_text(w, m, field, bytes, at);
    case TN_FIELD_MESSAGE: return read_sub(w, m, field, bytes, at);
    default:
      v = tn_proto_add(w->f, m, field, at);
      if (!v) return tn_proto_no_memory(w->f);
      v->bytes = bytes;
      return TN_OK;
  }
}

static tn_status read_field(wire *w, tn_proto_span *rest, tn_proto_message *m) {
  const uint64_t at = offset(w, rest->p);
  uint64_t tag, bits = 0;
  tn_proto_span bytes = {rest->p, rest->p};
  if (!tn_proto_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return tn_proto_fail(w->f, TN_ERR_INVALID, at, "there is no field of %s where one should begin",
                         m->type->name);
  const uint32_t type = (uint32_t)(tag & 7);
  const bool is_number =
      type == TN_PROTO_VARINT || type == TN_PROTO_FIXED32 || type == TN_PROTO_FIXED64;
  if (!is_number && type != TN_PROTO_BYTES)
    return tn_proto_fail(w->f, TN_ERR_INVALID, at, "field %u of %s has wire type %u",
                         (unsigned)(tag >> 3), m->type->name, type);
  if (!(is_number ? tn_proto_number(rest, type, &bits) : tn_proto_bytes(rest, &bytes)))
    return tn_proto_fail(w->f, TN_ERR_INVALID, at,
                         "field %u of %s is longer than what it stands in", (unsigned)(tag >> 3),
                         m->type->name);
  const tn_proto_field *field = field_numbered(m->type, tag >> 3);
  if (!field || field->kind == TN_FIELD_SKIP) return TN_OK;
  if (!is_number) return read_bytes(w, m, field, bytes, at);
  if ((is_varint(field) && type == TN_PROTO_VARINT) ||
      (is_of_32(field) && type == TN_PROTO_FIXED32) ||
      (is_of_64(field) && type == TN_PROTO_FIXED64))
    return add_number(w, m, field, bits, at);
  return tn_proto_fail(w->f, TN_ERR_INVALID, at, "%s.%s has wire type %u", m->type->name,
                       field->name, type);
}

static tn_status read_message(wire *w, tn_proto_span rest, tn_proto_message *m) {
  tn_status s = TN_OK;
  while (rest.p < rest.end && !s) s = read_field(w, &rest, m);
  return s;
}

tn_status tn_proto_read_span(const tn_proto_file *f, tn_proto_span bytes, const tn_proto_type *type,
                             tn_proto_message *out) {
  wire w = {.f = f};
  *out = (tn_proto_message){.type = type, .at = offset(&w, bytes.p)};
  return read_message(&w, bytes, out);
}

tn_status tn_proto_read_wire(const tn_proto_file *f, const tn_proto_type *type,
                             tn_proto_message *out) {
  if (!f->size) return tn_proto_fail(f, TN_ERR_INVALID, 0, "the file is empty");
  return tn_proto_read_span(f, (tn_proto_span){f->data, f->data + f->size}, type, out);
}
