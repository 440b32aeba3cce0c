/* The protobuf wire format, read in place: a message is a span of the file, and its fields are
 * taken off it one by one.
 *
 * Nothing is copied and nothing is believed: every length is checked against the span it stands in.
 * Errors name the file, the node and attribute being read, and the byte where the trouble is. */
#ifndef TN_FORMATS_ONNX_WIRE_H
#define TN_FORMATS_ONNX_WIRE_H

#include <string.h>

#include "base/base.h"
#include "base/proto.h"
#include "tenon/graph.h"

typedef tn_proto_span onnx_span;

static inline int64_t onnx_size(onnx_span s) { return s.end - s.p; }

/* What is being read, for messages: "node 'conv1' (Conv): attribute 'pads': ..."; a node without a
 * name by its number and what it makes. Lives on the C stack. */
typedef struct onnx_where {
  const struct onnx_where *up;
  const char *what;
  onnx_span name, detail, made;
  int32_t number;
} onnx_where;

typedef struct onnx_reader {
  const tn_source *source;
  const tn_host *host;
  const tn_graph_api *api;
  tn_allocator allocator; /* the host's memory, for arenas */
  const onnx_where *where;
  int64_t dense_left; /* bytes that sparse tensors may still grow to */
  int64_t ir_version;
  int32_t depth;          /* of graphs inside graphs */
  int32_t n_nodes;        /* of the graph that is being read, so far */
  onnx_span sibling_name; /* the last file of external data that was opened, */
  onnx_span sibling;      /* and what it holds */
} onnx_reader;

void onnx_reader_init(onnx_reader *r, const tn_source *source);

/* Records "<path>: <where>: <message>, at byte <offset of at>" and answers code. at NULL or outside
 * the file: no byte. */
tn_status(onnx_fail)(const onnx_reader *r, tn_status code, const uint8_t *at, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));
tn_status onnx_no_memory(const onnx_reader *r);

/* Wire types. Groups (3 and 4) are refused: ONNX has none. */
enum {
  ONNX_VARINT = TN_PROTO_VARINT,
  ONNX_FIXED64 = TN_PROTO_FIXED64,
  ONNX_BYTES = TN_PROTO_BYTES,
  ONNX_FIXED32 = TN_PROTO_FIXED32
};

typedef struct onnx_field {
  uint32_t number, wire;
  uint64_t value;    /* of a varint or fixed number */
  onnx_span bytes;   /* of a string, message or packed list */
  const uint8_t *at; /* where the field begins */
} onnx_field;

/* Takes the next field off `rest`. Answers 1, 0 at the end of the message, or a negative status. */
int32_t onnx_next(const onnx_reader *r, onnx_span *rest, onnx_field *out_field);

/* The value of a field, whose wire type is checked. Text is UTF-8 without zero bytes. */
tn_status onnx_int(const onnx_reader *r, const onnx_field *f, int64_t *out);
tn_status onnx_float(const onnx_reader *r, const onnx_field *f, double *out);
tn_status onnx_bytes(const onnx_reader *r, const onnx_field *f, onnx_span *out);
tn_status onnx_text(const onnx_reader *r, const onnx_field *f, onnx_span *out);

/* How many numbers the repeated field `number` of a message holds, packed or not; wire: of one
 * number. */
tn_status onnx_count(const onnx_reader *r, onnx_span message, uint32_t number, uint32_t wire,
                     int64_t *out_n);
/* Copies them, in the file's order, the lowest `width` bytes of each; out has room for onnx_count()
 * of them. */
tn_status onnx_gather(const onnx_reader *r, onnx_span message, uint32_t number, uint32_t wire,
                      uint32_t width, void *out);

/* A zero-terminated copy in the arena; NULL if there is no memory. */
static inline char *onnx_str(tn_arena *arena, onnx_span text) {
  return tn_arena_strn(arena, (const char *)text.p, onnx_size(text));
}
static inline tn_str onnx_as_str(onnx_span s) { return (tn_str){(const char *)s.p, onnx_size(s)}; }
static inline bool onnx_is(onnx_span text, const char *other) {
  return tn_str_is(onnx_as_str(text), other);
}
static inline bool onnx_same(onnx_span a, onnx_span b) {
  return onnx_size(a) == onnx_size(b) && (a.p == a.end || !memcmp(a.p, b.p, (size_t)onnx_size(a)));
}

#endif
