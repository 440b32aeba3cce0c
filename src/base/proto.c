/* Numbers and byte strings of the protobuf wire format; see proto.h. */
#include "base/proto.h"

#include <string.h>

bool tn_proto_varint(tn_proto_span *s, uint64_t *out) {
  uint64_t v = 0;
  const uint8_t *p = s->p;
  for (uint32_t shift = 0; shift < 64 && p < s->end; shift += 7) {
    uint8_t byte = *p++;
    if (shift == 63 && byte > 1) return false;
    v |= (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    s->p = p;
    *out = v;
    return true;
  }
  return false;
}

static bool take_fixed(tn_proto_span *s, uint32_t width, uint64_t *out) {
  if (s->end - s->p < (int64_t)width) return false;
  *out = 0;
  memcpy(out, s->p, width);
  s->p += width;
  return true;
}

bool tn_proto_bytes(tn_proto_span *s, tn_proto_span *out) {
  uint64_t n;
  tn_proto_span at = *s;
  if (!tn_proto_varint(&at, &n) || n > (uint64_t)(at.end - at.p)) return false;
  *out = (tn_proto_span){at.p, at.p + n};
  s->p = out->end;
  return true;
}

bool tn_proto_number(tn_proto_span *s, uint32_t wire, uint64_t *out) {
  if (wire == TN_PROTO_VARINT) return tn_proto_varint(s, out);
  return take_fixed(s, wire == TN_PROTO_FIXED64 ? 8 : 4, out);
}
