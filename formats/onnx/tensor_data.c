/* Elements of a TensorProto that stand in typed fields: float_data, int32_data, string_data and so
 * on. */
#include "reader.h"

/* Where the elements of a dtype stand, and how many bytes of the tensor one number of the field
 * gives. */
typedef struct typed_field {
  const char *name;
  uint32_t number, wire, width;
} typed_field;

static typed_field field_of(uint32_t dtype) {
  const uint32_t bits = tn_dtype(dtype)->bits, width = bits < 8 ? 1 : bits / 8;
  switch (dtype) {
    case TN_F32:
    case TN_C64: return (typed_field){"float_data", 4, ONNX_FIXED32, 4};
    case TN_F64:
    case TN_C128: return (typed_field){"double_data", 10, ONNX_FIXED64, 8};
    case TN_I64: return (typed_field){"int64_data", 7, ONNX_VARINT, 8};
    case TN_U32:
    case TN_U64: return (typed_field){"uint64_data", 11, ONNX_VARINT, width};
    default:
      return (typed_field){"int32_data", 5, ONNX_VARINT,
                           width}; /* 2- and 4-bit types: a byte of them each */
  }
}

static tn_status wrong_count(const onnx_reader *r, const onnx_tensor *t, const char *field,
                             int64_t expected, int64_t n) {
  char text[TN_TENSOR_TEXT];
  return onnx_fail(
      r, TN_ERR_INVALID, t->at, "the tensor is %s and needs %lld values in %s, but holds %lld",
      tn_tensor_text(&t->type, text, sizeof text), (long long)expected, field, (long long)n);
}

static tn_status read_strings(const onnx_reader *r, const onnx_tensor *t, tn_arena *arena,
                              void **out) {
  int64_t expected = tn_elements(&t->type), n = 0;
  onnx_span rest = t->message;
  onnx_field f;
  int32_t more;
  while ((more = onnx_next(r, &rest, &f)) > 0) n += f.number == 6; /* string_data */
  if (more < 0) return more;
  if (n != expected) return wrong_count(r, t, "string_data", expected, n);
  tn_str *strs = tn_arena_alloc(arena, (uint64_t)n * sizeof *strs);
  if (!strs) return onnx_no_memory(r);
  *out = strs;
  rest = t->message;
  while ((more = onnx_next(r, &rest, &f)) > 0) {
    onnx_span bytes;
    if (f.number != 6) continue;
    tn_status s = onnx_bytes(r, &f, &bytes);
    if (s) return s;
    *strs++ = (tn_str){bytes.p == bytes.end ? "" : (const char *)bytes.p, onnx_size(bytes)};
  }
  return more;
}

/* The packed floats or doubles of a field that occurs once: they are raw data as they stand. */
static bool as_raw(const onnx_reader *r, const onnx_tensor *t, typed_field field, int64_t bytes,
                   void **out) {
  onnx_span rest = t->message, found = {NULL, NULL};
  onnx_field f;
  while (field.wire != ONNX_VARINT && onnx_next(r, &rest, &f) > 0) {
    if (f.number != field.number) continue;
    if (found.p || f.wire != ONNX_BYTES) return false;
    found = f.bytes;
  }
  if (bytes == 0 || onnx_size(found) != bytes) return false;
  union {
    const uint8_t *in;
    void *out;
  } cast = {found.p};
  *out = cast.out;
  return true;
}

/* int32_data of narrower types: each number must fit, signed or not; six bits have no sign. */
static tn_status narrow(const onnx_reader *r, const onnx_tensor *t, uint32_t width,
                        const int64_t *from, int64_t n, uint8_t *to) {
  const bool six = onnx_is_six_bits(t->type.dtype);
  const int64_t least = six ? 0 : -(INT64_C(1) << (8 * width - 1)),
                limit = INT64_C(1) << (six ? 6 : 8 * width);
  for (int64_t k = 0; k < n; k++) {
    if (from[k] < least || from[k] >= limit)
      return onnx_fail(r, TN_ERR_INVALID, t->at,
                       "int32_data holds %lld, which does not fit into %s", (long long)from[k],
                       tn_dtype(t->type.dtype)->name);
    memcpy(to + k * width, &from[k], width);
  }
  return TN_OK;
}

tn_status onnx_typed_data(const onnx_reader *r, const onnx_tensor *t, tn_arena *arena, void **out) {
  tn_status s = onnx_want_feature(r, TN_FEATURE_TYPED_DATA, t->at, ONNX_TYPED_DATA);
  if (s) return s;
  if (t->type.dtype == TN_STRING) return read_strings(r, t, arena, out);
  const typed_field field = field_of(t->type.dtype);
  const int64_t bytes = tn_bytes(&t->type), expected = bytes / field.width;
  if (as_raw(r, t, field, bytes, out)) return TN_OK;
  int64_t n;
  s = onnx_count(r, t->message, field.number, field.wire, &n);
  if (s) return s;
  if (n != expected) return wrong_count(r, t, field.name, expected, n);
  bool narrows = field.number == 5 && field.width < 4;
  void *to = tn_arena_alloc(arena, (uint64_t)bytes), *numbers = to;
  if (to && narrows) numbers = tn_arena_alloc(arena, (uint64_t)n * sizeof(int64_t));
  if (!to || !numbers) return onnx_no_memory(r);
  *out = to;
  s = onnx_gather(r, t->message, field.number, field.wire, narrows ? 8 : field.width, numbers);
  return s || !narrows ? s : narrow(r, t, field.width, numbers, n, to);
}
