/* Making protobuf messages. Small things are copied, the elements of tensors only noted: they are
 * written from where they are. A message's length stands before it, so nothing reaches the sink
 * before all is made.
 *
 * Failures stick: after one, calls do nothing, and onnx_put_flush answers it. */
#ifndef TN_FORMATS_ONNX_PUT_H
#define TN_FORMATS_ONNX_PUT_H

#include "base/base.h"
#include "tenon/graph.h"

typedef struct onnx_chunk { /* a part of the file: `data`, or a range of onnx_put.small */
  const void *data;
  int64_t begin, size;
} onnx_chunk;

typedef struct onnx_put {
  const tn_sink *sink;
  tn_allocator allocator; /* the host's memory */
  TN_VEC(uint8_t) small;
  TN_VEC(onnx_chunk) chunks;
  int64_t size; /* of all chunks */
  tn_status status;
} onnx_put;

void onnx_put_init(onnx_put *p, const tn_sink *sink);
void onnx_put_free(onnx_put *p);
/* Records the message unless something failed before; answers the status that counts. */
tn_status(onnx_put_fail)(onnx_put *p, tn_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void onnx_put_int(onnx_put *p, uint32_t number, int64_t value);
void onnx_put_float(onnx_put *p, uint32_t number, double value);
void onnx_put_bytes(onnx_put *p, uint32_t number, const void *data, int64_t size);
void onnx_put_str(onnx_put *p, uint32_t number, const char *text);
/* StringStringEntryProto. */
void onnx_put_entry(onnx_put *p, uint32_t number, const char *key, const char *text);
/* Bytes that stay where they are until the file is written. */
void onnx_put_data(onnx_put *p, uint32_t number, const void *data, int64_t size);

/* What is put between the two calls is a message of its own. */
typedef struct onnx_mark {
  int64_t chunk, size;
} onnx_mark;
onnx_mark onnx_put_begin(onnx_put *p, uint32_t number);
void onnx_put_end(onnx_put *p, onnx_mark mark);

/* True if nothing failed, but a protobuf file cannot hold all this. */
bool onnx_put_too_large(const onnx_put *p);
/* Fails if it is too large. */
tn_status onnx_put_check(onnx_put *p);
/* Hands everything to the sink. */
tn_status onnx_put_flush(onnx_put *p);

#endif
