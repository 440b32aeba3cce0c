/* Tensors of a subgraph: their types, and constants, which stay in the file where they can. */
#include <stdio.h>

#include "reader.h"

/* ---- types ---- */

/* By the numbers of TensorType: FLOAT32, FLOAT16, INT32 ... RESOURCE and VARIANT are handles, which
 * have no elements. */
static const uint32_t dtypes[] = {TN_F32,  TN_F16,  TN_I32,  TN_U8,       TN_I64,   TN_STRING,
                                  TN_BOOL, TN_I16,  TN_C64,  TN_I8,       TN_F64,   TN_C128,
                                  TN_U64,  TN_NONE, TN_NONE, TN_U32,      TN_U16,   TN_I4,
                                  TN_BF16, TN_I2,   TN_U4,   TN_F8E4M3FN, TN_F8E5M2};

static bool is_type(int64_t type) {
  return type >= 0 && type < (int64_t)(sizeof dtypes / sizeof *dtypes);
}

static tn_status read_shape(const tflite_reader *r, const tn_flat_table *t, tn_tensor *out) {
  const tn_flat_vector shape = tn_flat_vec(t, TENSOR_SHAPE, 4),
                       open = tn_flat_vec(t, TENSOR_SIGNATURE, 4);
  if (shape.n > TN_MAX_RANK)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, t->at, "has rank %llu; the limit is %d",
                       (unsigned long long)shape.n, TN_MAX_RANK);
  out->rank = (int32_t)shape.n;
  for (int32_t k = 0; k < out->rank; k++) {
    const bool is_open = open.n == shape.n && tn_flat_int_at(&open, (uint64_t)k) < 0;
    out->shape[k] = is_open ? TN_DIM_UNKNOWN : tn_flat_int_at(&shape, (uint64_t)k);
    if (out->shape[k] < TN_DIM_UNKNOWN)
      return tflite_fail(r, TN_ERR_INVALID, shape.at, "dim %d is %lld", k,
                         (long long)out->shape[k]);
  }
  return tflite_status(r);
}

bool tflite_codes(uint32_t dtype, int64_t *out_lo, int64_t *out_hi) {
  static const struct {
    uint32_t dtype;
    int64_t lo, hi;
  } codes[] = {{TN_I8, -128, 127}, {TN_U8, 0, 255}, {TN_I16, -32768, 32767},
               {TN_I4, -8, 7},     {TN_U4, 0, 15},  {TN_I2, -2, 1}};
  for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
    if (codes[k].dtype != dtype) continue;
    *out_lo = codes[k].lo;
    *out_hi = codes[k].hi;
    return true;
  }
  return false;
}

/* Zero points are codes themselves: kernels subtract them in integers of 32 bits. */
static tn_status check_zeros(const tflite_reader *r, const tflite_tensor *t) {
  int64_t lo = 0, hi = 0;
  if (!t->scale.n || !tflite_codes(t->type.dtype, &lo, &hi)) return TN_OK;
  for (uint64_t k = 0; k < t->zero.n; k++) {
    const int64_t zero = tn_flat_int_at(&t->zero, k);
    if (zero < lo || zero > hi)
      return tflite_fail(r, TN_ERR_INVALID, t->zero.at,
                         "has zero point %lld; its type has %lld to %lld", (long long)zero,
                         (long long)lo, (long long)hi);
  }
  return TN_OK;
}

/* Scales for blocks along the last dim, which stand in another tensor. */
static tn_status read_blockwise(tflite_reader *r, const tn_flat_table *q, tflite_tensor *out) {
  if (tn_flat_uint(q, QUANT_DETAILS_TYPE, 1, 0) != QUANT_BLOCKWISE) return TN_OK;
  const tn_flat_table t = tn_flat_sub(q, QUANT_DETAILS, &tflite_blockwise_type);
  const tn_flat_vector shape = tn_flat_vec(&t, BLOCKWISE_SHAPE, 4);
  out->block = tn_flat_int(&t, BLOCKWISE_SIZE, 4, 0);
  out->block_scales = tn_flat_int(&t, BLOCKWISE_SCALES, 4, 0);
  if (out->block < 1)
    return tflite_fail(r, TN_ERR_INVALID, t.at, "has blocks of %lld elements",
                       (long long)out->block);
  if (tn_flat_int(&t, BLOCKWISE_ZEROS, 4, -1) >= 0 || shape.n)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, t.at,
                       "not supported: blocks that have zero points or several dims");
  return TN_OK;
}

static tn_status read_tensor(tflite_reader *r, const tn_flat_table *t, tflite_tensor *out) {
  const int64_t type = tn_flat_int(t, TENSOR_TYPE, 1, 0);
  *out = (tflite_tensor){.type = tn_tensor_make(TN_NONE, 0, NULL, NULL), .at = t->at, .value = -1};
  if (!is_type(type))
    return tflite_fail(r, TN_ERR_UNSUPPORTED, t->at,
                       "has type %lld, which this reader does not "
                       "know",
                       (long long)type);
  out->type.dtype = dtypes[type];
  out->name = tflite_name(r, tn_flat_text(t, TENSOR_NAME));
  const tn_flat_table q = tn_flat_sub(t, TENSOR_QUANTIZATION, &tflite_quantization_type);
  out->scale = tn_flat_vec(&q, QUANT_SCALE, 4);
  out->zero = tn_flat_vec(&q, QUANT_ZERO, 8);
  out->quant_dim = tn_flat_int(&q, QUANT_DIM, 4, 0);
  if (out->zero.n > 1 && out->zero.n != out->scale.n)
    return tflite_fail(r, TN_ERR_INVALID, t->at, "has %llu scales and %llu zero points",
                       (unsigned long long)out->scale.n, (unsigned long long)out->zero.n);
  tn_status status = check_zeros(r, out);
  if (!status) status = read_blockwise(r, &q, out);
  if (status) return status;
  return out->name ? read_shape(r, t, &out->type) : tflite_no_memory(r);
}

tn_status tflite_tensors_read(tflite_subgraph *s) {
  tflite_reader *r = s->r;
  s->tensor_list = tn_flat_vec(&s->table, SUBGRAPH_TENSORS, 4);
  s->n_tensors = s->tensor_list.n;
  s->tensors = tn_arena_alloc(&r->arena, (s->n_tensors + 1) * sizeof *s->tensors);
  if (!s->tensors) return tflite_no_memory(r);
  tn_status status = tflite_status(r);
  for (uint64_t k = 0; k < s->n_tensors && !status; k++) {
    const tn_flat_table t = tn_flat_item(&s->tensor_list, k, &tflite_tensor_type);
    snprintf(r->where_text, sizeof r->where_text, "tensor %llu", (unsigned long long)k);
    r->where = r->where_text;
    status = read_tensor(r, &t, &s->tensors[k]);
    r->where = NULL;
  }
  return status;
}

/* ---- elements ---- */

typedef struct span {
  const uint8_t *p;
  uint64_t n;
} span;

/* The bytes of a buffer: inside of the FlatBuffer, or behind it. n 0: it is empty. */
static tn_status open_buffer(const tflite_reader *r, uint64_t index, span *out) {
  *out = (span){NULL, 0};
  if (index >= r->buffers.n)
    return tflite_fail(r, TN_ERR_INVALID, 0, "lies in buffer %llu of %llu",
                       (unsigned long long)index, (unsigned long long)r->buffers.n);
  const tn_flat_table t = tn_flat_item(&r->buffers, index, &tflite_buffer_type);
  const uint64_t offset = (uint64_t)tn_flat_uint(&t, BUFFER_OFFSET, 8, 0),
                 size = (uint64_t)tn_flat_uint(&t, BUFFER_SIZE, 8, 0);
  const tn_flat_vector data = tn_flat_vec(&t, BUFFER_DATA, 1);
  if (offset > 1 && size) { /* 1: is filled in later by writers */
    if (offset > r->source->size || size > r->source->size - offset)
      return tflite_fail(r, TN_ERR_INVALID, t.at,
                         "its %llu bytes from byte %llu on are not in the file, which has %llu",
                         (unsigned long long)size, (unsigned long long)offset,
                         (unsigned long long)r->source->size);
    *out = (span){r->source->data + offset, size};
  } else if (data.n) {
    *out = (span){tn_flat_bytes(&data), data.n};
  }
  return tflite_status(r);
}

static uint32_t load_u32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

/* Strings: their number, where each begins and where the last ends, counted from the start, and
 * the bytes. */
static tn_status read_strings(tflite_reader *r, const tflite_tensor *t, span bytes, int64_t n,
                              tn_tensor *out) {
  const uint64_t head = 4 * ((uint64_t)n + 2);
  if (bytes.n < 4 || load_u32(bytes.p) != (uint64_t)n || head > bytes.n)
    return tflite_fail(r, TN_ERR_INVALID, t->at, "does not hold the %lld strings of its shape",
                       (long long)n);
  tn_str *strs = tn_arena_alloc(&r->arena, ((uint64_t)n + 1) * sizeof *strs);
  if (!strs) return tflite_no_memory(r);
  for (int64_t k = 0; k < n; k++) {
    const uint64_t from = load_u32(bytes.p + 4 + 4 * k), to = load_u32(bytes.p + 8 + 4 * k);
    if (from > to || to > bytes.n)
      return tflite_fail(r, TN_ERR_INVALID, t->at, "string %lld stands outside its buffer",
                         (long long)k);
    strs[k] = (tn_str){(const char *)bytes.p + from, (int64_t)(to - from)};
  }
  out->data = strs;
  return TN_OK;
}

/* Files may hold other bytes than 0 and 1. */
static tn_status read_bools(tflite_reader *r, span bytes, tn_tensor *out) {
  uint8_t *copy = tn_arena_alloc(&r->arena, bytes.n + 1);
  if (!copy) return tflite_no_memory(r);
  for (uint64_t k = 0; k < bytes.n; k++) copy[k] = bytes.p[k] != 0;
  out->data = copy;
  return TN_OK;
}

static tn_status set_const(tflite_subgraph *s, const tflite_tensor *t, const tn_tensor *data,
                           bool copy) {
  tflite_reader *r = s->r;
  const tn_status status = r->api->value_set_const(s->g, t->value, data, copy);
  if (status == TN_ERR_MEMORY) return tflite_no_memory(r);
  return status ? tflite_fail(r, status, t->at, "cannot be a constant") : TN_OK;
}

static tn_status read_elements(tflite_subgraph *s, const tflite_tensor *t, span bytes) {
  tflite_reader *r = s->r;
  tn_tensor data = t->type;
  const int64_t n = tn_tensor_elements(&data), size = tn_tensor_bytes(&data);
  if (n < 0 || size < 0)
    return tflite_fail(r, TN_ERR_INVALID, t->at, "has elements, but not all of its dims are known");
  if (data.dtype == TN_STRING) {
    const tn_status status = read_strings(r, t, bytes, n, &data);
    return status ? status : set_const(s, t, &data, true);
  }
  if (bytes.n != (uint64_t)size)
    return tflite_fail(r, TN_ERR_INVALID, t->at,
                       "has %llu bytes where its shape and type need %lld",
                       (unsigned long long)bytes.n, (long long)size);
  if (data.dtype == TN_BOOL) {
    const tn_status status = read_bools(r, bytes, &data);
    return status ? status : set_const(s, t, &data, true);
  }
  const uint32_t bits = tn_dtype(data.dtype)->bits, width = bits <= 8 ? 1 : bits / 8;
  data.data = tn_flat_data(bytes.p);
  return set_const(s, t, &data, (uintptr_t)bytes.p % (width > 8 ? 8 : width) != 0);
}

static tn_status read_constant(tflite_subgraph *s, const tn_flat_table *table,
                               const tflite_tensor *t, bool is_read) {
  span bytes;
  const tflite_reader *r = s->r;
  tn_status status = open_buffer(r, (uint64_t)tn_flat_uint(table, TENSOR_BUFFER, 4, 0), &bytes);
  const tn_flat_table sparsity = tn_flat_sub(table, TENSOR_SPARSITY, &tflite_options_type);
  if (!status) status = tflite_status(r);
  if (status) return status;
  if (!bytes.n) {
    const bool is_empty = is_read && t->type.dtype && tn_tensor_elements(&t->type) == 0;
    return is_empty ? set_const(s, t, &t->type, true) : TN_OK;
  }
  if (t->type.dtype == TN_NONE)
    return tflite_fail(r, TN_ERR_INVALID, t->at, "is a handle, but has elements");
  if (sparsity.at) {
    tn_tensor data = t->type;
    status = tflite_sparse_read(s->r, &sparsity, t, bytes.p, bytes.n, &data);
    return status ? status : set_const(s, t, &data, false);
  }
  return read_elements(s, t, bytes);
}

/* ---- values ---- */

/* The tensor's name, made unlike those before it. */
static tn_status make_value(tflite_subgraph *s, uint64_t index, tflite_tensor *t) {
  tflite_reader *r = s->r;
  const char *name = t->name;
  if (!*name) name = tn_arena_format(&r->arena, "tensor_%llu", (unsigned long long)index);
  if (name && s->copy) name = tn_arena_format(&r->arena, "%s@%u", name, s->copy);
  if (name && tn_map_get(&s->names, name, 0))
    name = tn_arena_format(&r->arena, "%s;%llu", name, (unsigned long long)index);
  if (!name || tn_map_set(&s->names, name, 1)) return tflite_no_memory(r);
  t->value = r->api->value(s->g, name);
  if (t->value < 0) return tflite_fail(r, t->value, t->at, "cannot be a value of the graph");
  return TN_OK;
}

tn_status tflite_value(tflite_subgraph *s, int64_t index, bool is_read, int32_t *out_value) {
  tflite_reader *r = s->r;
  *out_value = TN_NO_ID;
  if (index == -1) return TN_OK;
  if (index < 0 || (uint64_t)index >= s->n_tensors)
    return tflite_fail(r, TN_ERR_INVALID, s->table.at, "there is no tensor %lld; there are %llu",
                       (long long)index, (unsigned long long)s->n_tensors);
  tflite_tensor *t = &s->tensors[index];
  *out_value = t->value;
  if (t->value >= 0) return TN_OK;
  const char *where = r->where;
  char text[160];
  snprintf(text, sizeof text, "tensor %lld '%.80s'", (long long)index, t->name);
  tn_status status = make_value(s, (uint64_t)index, t);
  r->where = text;
  const tn_flat_table table = tn_flat_item(&s->tensor_list, (uint64_t)index, &tflite_tensor_type);
  if (!status) status = read_constant(s, &table, t, is_read);
  const bool is_variable = tn_flat_uint(&table, TENSOR_IS_VARIABLE, 1, 0) && !t->is_input;
  if (!status && is_variable && !r->api->value_flags(s->g, t->value))
    status = tflite_tensor_state(s, t);
  r->where = where;
  *out_value = t->value;
  return status;
}
