/* The protobuf wire format, read in place: numbers and byte strings are taken off a span one by
 * one, and every length is checked against the span it stands in. What fields mean, and messages,
 * are the business of the formats that are written in it. */
#ifndef TN_BASE_PROTO_H
#define TN_BASE_PROTO_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_proto_span {
  const uint8_t *p, *end;
} tn_proto_span;

/* Wire types. Groups (3 and 4) are not read. */
enum { TN_PROTO_VARINT = 0, TN_PROTO_FIXED64 = 1, TN_PROTO_BYTES = 2, TN_PROTO_FIXED32 = 5 };

/* Take something off the span; false, and the span stays, if it is cut off. */

/* A varint; false, too, if it is longer than 64 bits. */
bool tn_proto_varint(tn_proto_span *s, uint64_t *out);
/* A length and so many bytes, which stay where they are. */
bool tn_proto_bytes(tn_proto_span *s, tn_proto_span *out);
/* A number of wire type `wire`: a varint, 8 or 4 bytes. */
bool tn_proto_number(tn_proto_span *s, uint32_t wire, uint64_t *out);

#endif
