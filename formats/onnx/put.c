/* Making protobuf messages; see put.h. */
#include "put.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/io_memory.h"
#include "wire.h"

void onnx_put_init(onnx_put *p, const tn_sink *sink) {
  *p = (onnx_put){.sink = sink};
  p->allocator = tn_sink_allocator(sink);
}

void onnx_put_free(onnx_put *p) {
  tn_vec_free(&p->allocator, &p->small);
  tn_vec_free(&p->allocator, &p->chunks);
}

tn_status(onnx_put_fail)(onnx_put *p, tn_status code, const char *format, ...) {
  if (p->status) return p->status;
  char text[500];
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  return p->status = (p->sink->host->fail)(p->sink->ctx, code, "writing ONNX: %s", text);
}

static void no_memory(onnx_put *p) { (void)onnx_put_fail(p, TN_ERR_MEMORY, "out of memory"); }

/* ---- Chunks ---- */

static void add_chunk(onnx_put *p, onnx_chunk chunk) {
  if (!p->status && tn_vec_push(&p->allocator, &p->chunks, chunk)) no_memory(p);
}

static void add_small(onnx_put *p, const void *data, int64_t n) {
  if (p->status || n == 0) return;
  if (tn_vec_room(&p->allocator, &p->small, n)) {
    no_memory(p);
    return;
  }
  onnx_chunk *last = p->chunks.n ? &p->chunks.data[p->chunks.n - 1] : NULL;
  bool follows = last && !last->data && last->begin + last->size == p->small.n;
  if (!follows) add_chunk(p, (onnx_chunk){NULL, p->small.n, 0});
  if (p->status) return;
  memcpy(p->small.data + p->small.n, data, (size_t)n);
  p->small.n += n;
  p->chunks.data[p->chunks.n - 1].size += n;
  p->size += n;
}

enum { VARINT_MAX = 10 };

static int64_t encode_varint(uint8_t *to, uint64_t value) {
  int64_t n = 0;
  for (; value >= 0x80; value >>= 7) to[n++] = (uint8_t)(value | 0x80);
  to[n++] = (uint8_t)value;
  return n;
}

static void add_varint(onnx_put *p, uint64_t value) {
  uint8_t bytes[VARINT_MAX];
  add_small(p, bytes, encode_varint(bytes, value));
}

static void add_tag(onnx_put *p, uint32_t number, uint32_t wire) {
  add_varint(p, (uint64_t)number << 3 | wire);
}

/* ---- Fields ---- */

void onnx_put_int(onnx_put *p, uint32_t number, int64_t value) {
  add_tag(p, number, ONNX_VARINT);
  add_varint(p, (uint64_t)value);
}

void onnx_put_float(onnx_put *p, uint32_t number, double value) {
  const float narrow = (float)value;
  add_tag(p, number, ONNX_FIXED32);
  add_small(p, &narrow, sizeof narrow);
}

void onnx_put_bytes(onnx_put *p, uint32_t number, const void *data, int64_t size) {
  add_tag(p, number, ONNX_BYTES);
  add_varint(p, (uint64_t)size);
  add_small(p, data, size);
}

void onnx_put_str(onnx_put *p, uint32_t number, const char *text) {
  onnx_put_bytes(p, number, text, (int64_t)strlen(text));
}

void onnx_put_entry(onnx_put *p, uint32_t number, const char *key, const char *text) {
  const onnx_mark entry = onnx_put_begin(p, number);
  onnx_put_str(p, 1, key);
  onnx_put_str(p, 2, text);
  onnx_put_end(p, entry);
}

void onnx_put_data(onnx_put *p, uint32_t number, const void *data, int64_t size) {
  add_tag(p, number, ONNX_BYTES);
  add_varint(p, (uint64_t)size);
  if (p->status || size == 0) return;
  add_chunk(p, (onnx_chunk){data, 0, size});
  p->size += size;
}

/* ---- Messages ---- */

/* The length gets a chunk of its own, filled in when it is known. */
onnx_mark onnx_put_begin(onnx_put *p, uint32_t number) {
  add_tag(p, number, ONNX_BYTES);
  if (!p->status && tn_vec_room(&p->allocator, &p->small, VARINT_MAX)) no_memory(p);
  add_chunk(p, (onnx_chunk){NULL, p->small.n, 0});
  if (!p->status) p->small.n += VARINT_MAX;
  return (onnx_mark){p->chunks.n - 1, p->size};
}

void onnx_put_end(onnx_put *p, onnx_mark mark) {
  if (p->status) return;
  onnx_chunk *length = &p->chunks.data[mark.chunk];
  length->size = encode_varint(p->small.data + length->begin, (uint64_t)(p->size - mark.size));
  p->size += length->size;
}

bool onnx_put_too_large(const onnx_put *p) { return !p->status && p->size > INT32_MAX; }

tn_status onnx_put_check(onnx_put *p) {
  if (!onnx_put_too_large(p)) return p->status;
  return onnx_put_fail(p, TN_ERR_OVERFLOW,
                       "the file would take %lld bytes, but protobuf files end at 2 GB",
                       (long long)p->size);
}

tn_status onnx_put_flush(onnx_put *p) {
  for (int64_t k = 0; k < p->chunks.n && !p->status; k++) {
    const onnx_chunk *c = &p->chunks.data[k];
    const void *data = c->data ? c->data : p->small.data + c->begin;
    p->status = p->sink->write(p->sink->ctx, data, (uint64_t)c->size);
  }
  return p->status;
}
