/* TensorProto and constants. Raw elements are used where they stand in the file: copies are made
 * only of what is not aligned or has to be converted. */
#include "reader.h"

/* ---- Taking a TensorProto apart ---- */

static tn_status read_dims(const onnx_reader *r, onnx_tensor *t) {
  int64_t n, elements;
  tn_status s = onnx_count(r, t->message, 1, ONNX_VARINT, &n); /* dims */
  if (s) return s;
  if (n > TN_MAX_RANK)
    return onnx_fail(r, TN_ERR_UNSUPPORTED, t->at,
                     "the tensor has %lld dims; at most %d are supported", (long long)n,
                     TN_MAX_RANK);
  if ((s = onnx_gather(r, t->message, 1, ONNX_VARINT, 8, t->type.shape))) return s;
  t->type.rank = (int32_t)n;
  s = tn_dims_product(t->type.shape, t->type.rank, &elements);
  if (s == TN_ERR_INVALID) return onnx_fail(r, s, t->at, "the tensor has a negative dim");
  if (s || tn_bytes(&t->type) < 0)
    return onnx_fail(r, TN_ERR_OVERFLOW, t->at, "the tensor's size exceeds 64 bits");
  return TN_OK;
}

static tn_status read_field(const onnx_reader *r, const onnx_field *f, onnx_tensor *t,
                            int64_t *data_type) {
  int64_t number = 0;
  tn_status s = TN_OK;
  switch (f->number) {
    case 2: s = onnx_int(r, f, data_type); break;
    case 3:
      return onnx_fail(r, TN_ERR_UNSUPPORTED, f->at,
                       "tensors in segments are not supported"); /* segment */
    case 8: s = onnx_text(r, f, &t->name); break;
    case 9: /* raw_data */
      s = onnx_bytes(r, f, &t->raw);
      t->has_raw = true;
      break;
    case 14: /* data_location */
      s = onnx_int(r, f, &number);
      t->external = number == 1;
      break;
    default: break;
  }
  return s;
}

tn_status onnx_tensor_open(const onnx_reader *r, onnx_span message, onnx_tensor *out) {
  *out = (onnx_tensor){.message = message, .at = message.p};
  out->type = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  int64_t data_type = 0;
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(r, &message, &f)) != 0)
    s = more < 0 ? more : read_field(r, &f, out, &data_type);
  if (!s) s = onnx_need_dtype(r, data_type, out->at, &out->type.dtype);
  return s ? s : read_dims(r, out);
}

/* ---- Elements ---- */

static tn_status check_raw_size(const onnx_reader *r, const onnx_tensor *t, onnx_span raw,
                                int64_t bytes) {
  char text[TN_TENSOR_TEXT];
  if (onnx_size(raw) == bytes) return TN_OK;
  return onnx_fail(
      r, TN_ERR_INVALID, t->at, "the tensor is %s and needs %lld bytes, but holds %lld",
      tn_tensor_text(&t->type, text, sizeof text), (long long)bytes, (long long)onnx_size(raw));
}

/* Booleans are 0 or 1 in Tenon: others become 1, in a copy. */
static tn_status normalise_bools(const onnx_reader *r, tn_arena *arena, tn_tensor *t, int64_t n) {
  const uint8_t *from = t->data;
  int64_t k = 0;
  while (k < n && from[k] <= 1) k++;
  if (k == n) return TN_OK;
  uint8_t *to = tn_arena_alloc(arena, (uint64_t)n);
  if (!to) return onnx_no_memory(r);
  for (k = 0; k < n; k++) to[k] = from[k] != 0;
  t->data = to;
  return TN_OK;
}

static void *unconst(const void *data) {
  union {
    const void *in;
    void *out;
  } cast = {data}; /* nobody writes through tensors of a file */
  return cast.out;
}

static tn_status unpack(const onnx_reader *r, onnx_span raw, tn_arena *arena, tn_tensor *out) {
  const int64_t n = tn_elements(out);
  out->data = tn_arena_alloc(arena, (uint64_t)n);
  if (!out->data) return onnx_no_memory(r);
  onnx_six_bits_unpack(raw.p, n, out->data);
  return TN_OK;
}

static tn_status read_raw(onnx_reader *r, const onnx_tensor *t, tn_arena *arena, tn_tensor *out) {
  int64_t bytes = onnx_raw_bytes(out);
  onnx_span raw = t->raw;
  if (out->dtype == TN_STRING)
    return onnx_fail(r, TN_ERR_INVALID, t->at, "strings cannot stand in raw data");
  tn_status s = t->external ? onnx_external_data(r, t, bytes, &raw) : TN_OK;
  if (!s) s = check_raw_size(r, t, raw, bytes);
  if (!s && onnx_is_six_bits(out->dtype)) return unpack(r, raw, arena, out);
  out->data = unconst(raw.p);
  return s;
}

static tn_status read_elements(onnx_reader *r, const onnx_tensor *t, tn_arena *arena,
                               tn_tensor *out) {
  tn_status s = TN_OK;
  *out = t->type;
  if (t->external || (t->has_raw && onnx_size(t->raw)))
    s = read_raw(r, t, arena, out);
  else
    s = onnx_typed_data(r, t, arena, &out->data);
  if (!s && out->dtype == TN_BOOL) s = normalise_bools(r, arena, out, tn_bytes(out));
  return s;
}

tn_status onnx_tensor_read(onnx_reader *r, onnx_span message, tn_arena *arena, tn_tensor *out,
                           onnx_span *out_name) {
  onnx_tensor t;
  tn_status s = onnx_tensor_open(r, message, &t);
  if (out_name) *out_name = t.name;
  if (s) return s;
  const onnx_where where = {.up = r->where, .what = "tensor", .name = t.name};
  r->where = &where;
  s = read_elements(r, &t, arena, out);
  r->where = where.up;
  return s;
}

/* ---- Using what was read ---- */

/* Pointers and lengths of strings, complex numbers and all else are aligned like their largest
 * part. */
static bool is_aligned(const tn_tensor *t) {
  uint32_t bits = tn_dtype(t->dtype)->bits, bytes = bits <= 8 ? 1 : bits / 8;
  return (uintptr_t)t->data % (bytes > 8 ? 8 : bytes) == 0;
}

tn_status onnx_tensor_align(const onnx_reader *r, tn_arena *arena, tn_tensor *t) {
  if (is_aligned(t)) return TN_OK;
  t->data = tn_arena_copy(arena, t->data, (uint64_t)tn_bytes(t));
  return t->data ? TN_OK : onnx_no_memory(r);
}

static bool lies_in(const tn_tensor *t, onnx_span span) {
  const uint8_t *p = t->data;
  return tn_bytes(t) > 0 && p >= span.p && p < span.end;
}

tn_status onnx_set_const(const onnx_reader *r, tn_graph *g, int32_t value, const tn_tensor *t,
                         onnx_span name) {
  const onnx_span file = {r->source->data, r->source->data + r->source->size};
  bool mapped = lies_in(t, file) || lies_in(t, r->sibling);
  tn_status s = r->api->value_set_const(g, value, t, !mapped || !is_aligned(t));
  if (!s) return TN_OK;
  if (s == TN_ERR_MEMORY) return onnx_no_memory(r);
  return onnx_fail(r, s == TN_ERR_STATE ? TN_ERR_INVALID : s, NULL,
                   "constant '%.*s' is also the output of a node",
                   (int)tn_min_i64(onnx_size(name), 80), (const char *)name.p);
}
