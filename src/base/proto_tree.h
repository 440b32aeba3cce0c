/* Protobuf messages as a tree, whichever form a file has: text or bytes. Tables of fields say what
 * is known; what is asked for goes by the names that the format has for it. */
#ifndef TN_BASE_PROTO_TREE_H
#define TN_BASE_PROTO_TREE_H

#include <string.h>

#include "base/base.h"
#include "base/proto.h"
#include "tenon/graph.h"

typedef enum tn_proto_kind {
  TN_FIELD_SKIP,   /* known, and of no meaning here */
  TN_FIELD_INT,    /* integers, booleans, and enums by their number */
  TN_FIELD_FLOAT,  /* 32 bits */
  TN_FIELD_DOUBLE, /* 64 bits */
  TN_FIELD_TEXT,
  TN_FIELD_BYTES,   /* a string of any bytes */
  TN_FIELD_MESSAGE, /* another message */
  /* Elements of weights: where they are packed they stay where they are in the file, and the value
   * has their bytes; else there is one value for each. */
  TN_FIELD_FLOATS,
  TN_FIELD_DOUBLES,
  TN_FIELD_INTS /* varints */
} tn_proto_kind;

typedef struct tn_proto_field {
  const char *name;
  uint32_t number;
  tn_proto_kind kind;
  bool is_list;
  const struct tn_proto_type *type; /* of a message */
  const char *names;                /* of an enum: "MAX=0 AVE=1" */
} tn_proto_field;

typedef struct tn_proto_type {
  const char *name;
  const tn_proto_field *fields;
  uint32_t n_fields;
} tn_proto_type;

typedef struct tn_proto_value {
  struct tn_proto_value *next; /* in the order of the file */
  const tn_proto_field *field;
  int64_t i;
  double f;
  tn_str s;
  tn_proto_span bytes; /* of elements */
  struct tn_proto_message *message;
  uint64_t at; /* byte in the file */
} tn_proto_value;

typedef struct tn_proto_message {
  const tn_proto_type *type;
  tn_proto_value *first, *last;
  uint64_t at;
} tn_proto_message;

/* A file that is read. */
typedef struct tn_proto_file {
  const tn_source *source;
  const char *path;
  const uint8_t *data;
  uint64_t size;
  tn_arena *arena;
  bool is_text;
} tn_proto_file;

enum { TN_PROTO_MAX_DEPTH = 64 };

/* Records "<path>:<line>:<column>: <message>" of text, "<path>: <message>, at byte <at>" of others,
 * and answers code. */
tn_status(tn_proto_fail)(const tn_proto_file *f, tn_status code, uint64_t at, const char *format,
                         ...) __attribute__((format(printf, 4, 5)));
tn_status tn_proto_no_memory(const tn_proto_file *f);

/* The whole file as a message of that type. */
tn_status tn_proto_read_text(const tn_proto_file *f, const tn_proto_type *type,
                             tn_proto_message *out);
tn_status tn_proto_read_wire(const tn_proto_file *f, const tn_proto_type *type,
                             tn_proto_message *out);
/* A message that stands alone in these bytes of the file. */
tn_status tn_proto_read_span(const tn_proto_file *f, tn_proto_span bytes, const tn_proto_type *type,
                             tn_proto_message *out);

/* Appends a value of the field, which is answered; NULL: no memory. */
tn_proto_value *tn_proto_add(const tn_proto_file *f, tn_proto_message *m,
                             const tn_proto_field *field, uint64_t at);
const tn_proto_field *tn_proto_field_named(const tn_proto_type *type, tn_str name);

/* The next value of that name after `before` (NULL: the first of them); NULL: there is none. */
const tn_proto_value *tn_proto_next(const tn_proto_message *m, const char *name,
                                    const tn_proto_value *before);
/* The last value of that name, as Protobuf has it; a message's default if there is none. m NULL:
 * an empty message. */
int64_t tn_proto_int(const tn_proto_message *m, const char *name, int64_t missing);
tn_str tn_proto_str(const tn_proto_message *m, const char *name);
const tn_proto_message *tn_proto_sub(const tn_proto_message *m, const char *name);
uint64_t tn_proto_count(const tn_proto_message *m, const char *name);

#endif
