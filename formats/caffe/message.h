/* Messages of Caffe as a tree, whichever form a file has: text (.prototxt) or bytes (.caffemodel).
 * What is asked for goes by the names that caffe.proto has for it. */
#ifndef TN_FORMATS_CAFFE_MESSAGE_H
#define TN_FORMATS_CAFFE_MESSAGE_H

#include <string.h>

#include "base/base.h"
#include "base/proto.h"
#include "tenon/graph.h"

typedef enum caffe_kind {
  CAFFE_SKIP,  /* known, and of no meaning when a network is run */
  CAFFE_INT,   /* integers, booleans, and enums by their number */
  CAFFE_FLOAT, /* 32 bits */
  CAFFE_TEXT,
  CAFFE_MESSAGE, /* another message */
  CAFFE_FLOATS,  /* elements of weights: they stay where they are in the file */
  CAFFE_DOUBLES
} caffe_kind;

typedef struct caffe_field {
  const char *name;
  uint32_t number;
  caffe_kind kind;
  bool is_list;
  const struct caffe_type *type; /* of a message */
  const char *names;             /* of an enum: "MAX=0 AVE=1" */
} caffe_field;

typedef struct caffe_type {
  const char *name;
  const caffe_field *fields;
  uint32_t n_fields;
} caffe_type;

/* schema.c */
extern const caffe_type caffe_net_type;

typedef struct caffe_value {
  struct caffe_value *next; /* in the order of the file */
  const caffe_field *field;
  int64_t i;
  double f;
  tn_str s;
  tn_proto_span bytes; /* of elements */
  struct caffe_message *message;
  uint64_t at; /* byte in the file */
} caffe_value;

typedef struct caffe_message {
  const caffe_type *type;
  caffe_value *first, *last;
  uint64_t at;
} caffe_message;

/* A file that is read. */
typedef struct caffe_file {
  const tn_source *source;
  const char *path;
  const uint8_t *data;
  uint64_t size;
  tn_arena *arena;
  bool is_text;
} caffe_file;

enum { CAFFE_MAX_DEPTH = 64 };

/* Records "<path>:<line>:<column>: <message>" of text, "<path>: <message>, at byte <at>" of others,
 * and answers code. */
tn_status caffe_fail(const caffe_file *f, tn_status code, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
tn_status caffe_no_memory(const caffe_file *f);

/* The whole file as a message of a net. */
tn_status caffe_read_text(const caffe_file *f, caffe_message *out);
tn_status caffe_read_wire(const caffe_file *f, caffe_message *out);

/* Appends a value of the field, which is answered; NULL: no memory. */
caffe_value *caffe_add(const caffe_file *f, caffe_message *m, const caffe_field *field,
                       uint64_t at);
const caffe_field *caffe_field_named(const caffe_type *type, tn_str name);

/* The next value of that name after `before` (NULL: the first of them); NULL: there is none. */
const caffe_value *caffe_next(const caffe_message *m, const char *name, const caffe_value *before);
/* The last value of that name, as Protobuf has it; a message's default if there is none. m NULL:
 * an empty message. */
int64_t caffe_int(const caffe_message *m, const char *name, int64_t missing);
tn_str caffe_text(const caffe_message *m, const char *name);
const caffe_message *caffe_sub(const caffe_message *m, const char *name);
uint64_t caffe_count(const caffe_message *m, const char *name);

#endif
