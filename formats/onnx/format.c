/* The format's descriptor, and how a file is recognised. */
#include "base/identify.h"
#include "reader.h"

/* Wire types of ModelProto's fields; 0xff: no such field. */
static uint32_t model_wire(uint32_t number) {
  switch (number) {
    case 1:
    case 5: return ONNX_VARINT; /* ir_version, model_version */
    case 2:
    case 3:
    case 4:
    case 6:
    case 7:
    case 8:
    case 14:
    case 20:
    case 25:
    case 26: return ONNX_BYTES;
    default: return 0xff;
  }
}

static tn_status say_nothing(void *ctx, tn_status code, const char *format, ...) {
  (void)ctx, (void)format;
  return code;
}

/* A file is a ModelProto if its outermost fields are those of one. A file that breaks off is still
 * likely to be one. */
static int32_t probe(const uint8_t *data, uint64_t size) {
  static const tn_host silent = {.head = TN_HEAD(tn_host), .fail = say_nothing};
  const tn_source source = {
      .head = TN_HEAD(tn_source), .host = &silent, .data = data, .size = size};
  onnx_reader r = {.source = &source, .host = &silent};
  onnx_span rest = {data, data + size};
  onnx_field f;
  int32_t more, n = 0;
  bool version = false, graph = false, opset = false;
  while (n < 100 && (more = onnx_next(&r, &rest, &f)) > 0) {
    if (model_wire(f.number) != f.wire) return 0;
    if (f.number == 1) version = f.value >= 1 && f.value <= 1000;
    graph |= f.number == 7;
    opset |= f.number == 8;
    n++;
  }
  if (!version) return 0;
  const char *other = graph || opset ? NULL : tn_identify_protobuf(data, size);
  if (other && strcmp(other, "onnx")) return 0; /* SavedModel begins as a ModelProto does */
  return graph && opset ? 95 : graph || opset ? 70 : n > 1 ? 30 : 10;
}

extern const tn_format onnx_format;
const tn_format onnx_format = {
    .head = TN_HEAD(tn_format),
    .name = "onnx",
    .extensions = ".onnx",
    .probe = probe,
    .read = onnx_read,
    .write = onnx_write,
    .read_value = onnx_read_value,
};
