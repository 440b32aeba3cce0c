/* TensorProto and constants. */
#include "reader.h"

#include "tenon/kit/checked.h"
#include "tenon/kit/text.h"

uint32_t tf_dtype(int64_t type) {
  static const uint32_t dtypes[] = {
      TN_NONE, TN_F32,  TN_F64,  TN_I32,  TN_U8,  TN_I16,  TN_I8,     TN_STRING,  TN_C64,
      TN_I64,  TN_BOOL, TN_I8,   TN_U8,   TN_I32, TN_BF16, TN_I16,    TN_U16,     TN_U16,
      TN_C128, TN_F16,  TN_NONE, TN_NONE, TN_U32, TN_U64,  TN_F8E5M2, TN_F8E4M3FN};
  enum { REF = 100 };
  if (type > REF) type -= REF;
  const bool there = type > 0 && type < (int64_t)(sizeof dtypes / sizeof *dtypes);
  return there ? dtypes[type] : TN_NONE;
}

tn_status tf_shape(tf_reader *r, const tn_proto_message *shape, tn_tensor *out) {
  out->rank = TN_RANK_UNKNOWN;
  if (!shape || tn_proto_int(shape, "unknown_rank", 0)) return TN_OK;
  out->rank = 0;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(shape, "dim", v));) {
    const int64_t size = tn_proto_int(v->message, "size", 0);
    if (out->rank == TN_MAX_RANK)
      return tn_proto_fail(&r->file, TN_ERR_UNSUPPORTED, v->at, "a shape has more than %d dims",
                           TN_MAX_RANK);
    if (size < -1)
      return tn_proto_fail(&r->file, TN_ERR_INVALID, v->at, "dim %d of a shape is %lld", out->rank,
                           (long long)size);
    out->shape[out->rank++] = size < 0 ? TN_DIM_UNKNOWN : size;
  }
  return TN_OK;
}

/* ---- elements ---- */

typedef struct elements {
  tf_reader *r;
  const tf_node *n;
  const tn_proto_message *m;
  int64_t count; /* that the shape asks for */
  uint32_t dtype, width;
  uint8_t *to;
  int64_t filled;
} elements;

static tn_status too_many(const elements *e) {
  return tf_node_fail(e->r, e->n, TN_ERR_INVALID, "its tensor holds more than its %lld elements",
                      (long long)e->count);
}

static tn_status put(elements *e, const void *bytes) {
  if (e->filled == e->count) return too_many(e);
  memcpy(e->to + e->filled++ * e->width, bytes, e->width);
  return TN_OK;
}

/* A number, in as many bytes as the type has; floats of 16 bits stand as integers. */
static tn_status put_number(elements *e, int64_t i, double f, bool is_float) {
  if (!is_float) {
    if (e->dtype == TN_BOOL) i = i != 0;
    return put(e, &i);
  }
  const float narrow = (float)f;
  return e->width == 4 ? put(e, &narrow) : put(e, &f);
}

static tn_status put_packed(elements *e, tn_proto_span bytes, const tn_proto_field *field) {
  tn_status s = TN_OK;
  const uint32_t wire = field->kind == TN_FIELD_FLOATS    ? TN_PROTO_FIXED32
                        : field->kind == TN_FIELD_DOUBLES ? TN_PROTO_FIXED64
                                                          : TN_PROTO_VARINT;
  while (bytes.p < bytes.end && !s) {
    uint64_t bits;
    if (!tn_proto_number(&bytes, wire, &bits))
      return tf_node_fail(e->r, e->n, TN_ERR_INVALID, "the elements of its tensor break off");
    const uint8_t one = bits != 0;
    s = put(e, e->dtype == TN_BOOL ? (const void *)&one : (const void *)&bits);
  }
  return s;
}

static tn_status put_text(elements *e, tn_str text) {
  if (e->filled == e->count) return too_many(e);
  ((tn_str *)(void *)e->to)[e->filled++] = text;
  return TN_OK;
}

/* Which field has elements of this type, how wide its numbers are there. */
static const char *field_of(uint32_t dtype, uint32_t *out_width) {
  const uint32_t bits = tn_dtype(dtype)->bits;
  *out_width = bits / 8;
  switch (dtype) {
    case TN_F32: return "float_val";
    case TN_F64: return "double_val";
    case TN_STRING: return "string_val";
    case TN_C64: return *out_width = 4, "scomplex_val";
    case TN_C128: return *out_width = 8, "dcomplex_val";
    case TN_I64: return "int64_val";
    case TN_BOOL: return "bool_val";
    case TN_F16:
    case TN_BF16: return "half_val";
    case TN_U32: return "uint32_val";
    case TN_U64: return "uint64_val";
    default: return "int_val";
  }
}

/* The last element that is given fills the rest; none is zeros. */
static void repeat_last(elements *e, int64_t per_element) {
  const int64_t unit = e->width * per_element;
  if (e->filled < per_element) return;
  const int64_t from = (e->filled / per_element - 1) * per_element;
  for (int64_t k = from + per_element; k + per_element <= e->count; k += per_element)
    memmove(e->to + k * e->width, e->to + from * e->width, (size_t)unit);
}

static tn_status read_typed(elements *e, tn_tensor *out) {
  const char *field = field_of(e->dtype, &e->width);
  const int64_t bytes = tn_tensor_bytes(out),
                per_element = out->dtype == TN_C64 || out->dtype == TN_C128 ? 2 : 1;
  if (bytes < 0 || (e->r->room_left -= bytes) < 0)
    return tf_node_fail(e->r, e->n, TN_ERR_OVERFLOW,
                        "its tensor is far larger than the file that it stands in");
  e->count = tn_elements(out) * per_element;
  e->to = tn_arena_alloc(&e->r->arena, (uint64_t)bytes + 8);
  if (!e->to) return tf_no_memory(e->r);
  out->data = e->to;
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(e->m, field, v));) {
    if (e->dtype == TN_STRING)
      s = put_text(e, v->s);
    else if (v->bytes.p)
      s = put_packed(e, v->bytes, v->field);
    else
      s = put_number(e, v->i, v->f, v->field->kind != TN_FIELD_INTS);
  }
  if (!s) repeat_last(e, per_element);
  for (int64_t k = 0; e->dtype == TN_STRING && k < e->count && !s; k++) {
    tn_str *text = (tn_str *)out->data + k;
    if (!text->data) *text = (tn_str){"", 0};
  }
  return s;
}

static tn_status normal_bools(elements *e, tn_tensor *t, bool *out_mapped) {
  const int64_t n = tn_elements(t);
  const uint8_t *from = t->data;
  int64_t k = 0;
  while (k < n && from[k] <= 1) k++;
  if (k == n) return TN_OK;
  uint8_t *to = tn_arena_alloc(&e->r->arena, (uint64_t)n);
  if (!to) return tf_no_memory(e->r);
  for (k = 0; k < n; k++) to[k] = from[k] != 0;
  t->data = to;
  *out_mapped = false;
  return TN_OK;
}

static tn_status read_content(elements *e, tn_str content, tn_tensor *out, bool *out_mapped) {
  char text[TN_TENSOR_TEXT];
  const int64_t bytes = tn_tensor_bytes(out);
  if (bytes != content.size || out->dtype == TN_STRING)
    return tf_node_fail(
        e->r, e->n, TN_ERR_INVALID, "its tensor is %s and needs %lld bytes, but has %lld",
        tn_tensor_text(out, text, sizeof text), (long long)bytes, (long long)content.size);
  union {
    const char *in;
    void *out;
  } cast = {content.data};
  out->data = cast.out;
  *out_mapped = !e->r->file.is_text;
  return out->dtype == TN_BOOL ? normal_bools(e, out, out_mapped) : TN_OK;
}

tn_status tf_tensor(tf_reader *r, const tf_node *n, const tn_proto_message *m, tn_tensor *out,
                    bool *out_mapped) {
  *out = (tn_tensor){.head = TN_HEAD(tn_tensor)};
  *out_mapped = false;
  const tn_proto_message *shape = tn_proto_sub(m, "tensor_shape");
  tn_tensor t = {.head = TN_HEAD(tn_tensor)};
  tn_status s = tf_shape(r, shape, &t);
  if (s) return s;
  if (!shape) t.rank = 0;
  const int64_t type = tn_proto_int(m, "dtype", 0);
  const uint32_t dtype = tf_dtype(type);
  if (dtype == TN_NONE)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "not supported: a constant of type %lld",
                        (long long)type);
  int64_t count;
  for (int32_t k = 0; k < t.rank; k++)
    if (t.shape[k] < 0) t.rank = TN_RANK_UNKNOWN;
  if (t.rank < 0 || tn_dims_product(t.shape, t.rank, &count))
    return tf_node_fail(r, n, TN_ERR_INVALID, "its tensor has no shape, or too many elements");
  *out = tn_tensor_make(dtype, t.rank, t.shape, NULL);
  elements e = {.r = r, .n = n, .m = m, .dtype = dtype};
  const tn_str content = tn_proto_str(m, "tensor_content");
  return content.size ? read_content(&e, content, out, out_mapped) : read_typed(&e, out);
}

/* ---- constants ---- */

tn_status tf_set_const(tf_reader *r, const tf_node *n, tn_graph *g, int32_t value,
                       const tn_tensor *t, bool mapped) {
  const uint32_t bits = tn_dtype(t->dtype)->bits, bytes = bits <= 8 ? 1 : bits / 8;
  const bool aligned = (uintptr_t)t->data % (bytes > 8 ? 8 : bytes) == 0;
  const tn_status s = r->api->value_set_const(g, value, t, !mapped || !aligned);
  return s ? tf_graph_fail(r, n, s, "its value cannot be a constant") : TN_OK;
}
