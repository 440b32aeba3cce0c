/* Elements of tensors in a second file (external data): each tensor begins at a page of its own, so
 * that it can be mapped. What is written is only noted here, as the rest of the model is. */
#include "writer.h"

#include <inttypes.h>
#include <stdio.h>

enum { PAGE = 4096 };

/* Where the next tensor begins; -1: beyond what a file can hold. */
static int64_t next_page(int64_t size) {
  int64_t end;
  return tn_add_i64(size, PAGE - 1, &end) ? -1 : end / PAGE * PAGE;
}

static void put_number(onnx_writer *w, const char *key, int64_t number) {
  char text[32];
  snprintf(text, sizeof text, "%" PRId64, number);
  onnx_put_entry(&w->out, 13, key, text); /* external_data */
}

bool onnx_put_outside(onnx_writer *w, const void *data, int64_t bytes) {
  if (bytes <= 0 || (uint64_t)bytes < w->data_from) return false;
  int64_t begin = next_page(w->data_size);
  if (begin < 0 || tn_add_i64(begin, bytes, &w->data_size)) {
    (void)onnx_put_fail(&w->out, TN_ERR_OVERFLOW, "external data exceeds 64 bits");
    return true;
  }
  const onnx_chunk chunk = {data, begin, bytes};
  if (tn_vec_push(&w->out.allocator, &w->data, chunk))
    (void)onnx_put_fail(&w->out, TN_ERR_MEMORY, "out of memory");
  onnx_put_entry(&w->out, 13, "location", w->out.sink->data_file);
  put_number(w, "offset", begin);
  put_number(w, "length", bytes);
  onnx_put_int(&w->out, 14, 1); /* data_location: EXTERNAL */
  return true;
}

tn_status onnx_flush_data(onnx_writer *w) {
  static const uint8_t zeros[PAGE] = {0};
  const tn_sink *sink = w->out.sink;
  tn_status s = w->out.status;
  int64_t at = 0;
  for (int64_t k = 0; k < w->data.n && !s; k++) {
    const onnx_chunk *c = &w->data.data[k];
    if (c->begin > at) s = sink->write_data(sink->ctx, zeros, (uint64_t)(c->begin - at));
    if (!s) s = sink->write_data(sink->ctx, c->data, (uint64_t)c->size);
    at = c->begin + c->size;
  }
  return w->out.status = s;
}
