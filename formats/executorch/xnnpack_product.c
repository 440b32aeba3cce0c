/* Products of matrices of XNNPACK: weights of numbers, of 8 or 4 bits, and attention. */
#include "xnnpack.h"

enum { FC_IN, FC_FILTER, FC_BIAS, FC_OUT, FC_FLAGS };

static int64_t bias_of(const tn_flat_table *t) {
  const int64_t bias = xnn_field(t, FC_BIAS);
  return bias == 0xffffffff ? XNN_NO_VALUE : bias;
}

/* Weights that were made for this part; all of them together stay in bounds of the file's size. */
static tn_status room_for(xnn_part *x, uint64_t bytes, void **out) {
  pte_reader *r = x->r;
  if (bytes > r->room_bytes)
    return xnn_fail(x, TN_ERR_OVERFLOW, x->at, "the weights of 4 bits are too large");
  r->room_bytes -= bytes;
  *out = tn_arena_alloc(&r->arena, bytes + 1);
  return *out ? TN_OK : pte_no_memory(r);
}

/* ---- weights of 4 bits ---- */

/* [rows, depth], two numbers in a byte, each less 8, in groups of one scale. */
typedef struct packed {
  int64_t rows, depth, group, block; /* block: what tenon::BlockMatMul calls so; 0: no such one */
  pte_span bytes;
} packed;

static tn_status read_packed(xnn_part *x, const xnn_value *v, packed *p) {
  enum { GROUP = 2, LEAST = 16 };
  *p = (packed){.rows = v->type.shape[0], .depth = v->type.shape[1], .group = v->type.shape[1]};
  if (v->quant_kind == XNN_PER_BLOCK) p->group = tn_flat_uint(&v->quant, GROUP, 4, 0);
  if (v->type.rank != 2 || p->rows < 1 || p->depth < 1 || p->group < 1 || p->depth % p->group ||
      tn_flat_int(&v->quant, XNN_CHANNEL_DIM, 4, 0))
    return xnn_fail(x, TN_ERR_INVALID, v->quant.at,
                    "weights of 4 bits are no matrix of rows of whole groups");
  p->block = p->group & -p->group;
  if (p->block < LEAST) p->block = 0;
  const tn_status s = xnn_bytes(x, v, &p->bytes);
  if (s) return s;
  if (p->bytes.size / (uint64_t)p->rows < ((uint64_t)p->depth + 1) / 2)
    return xnn_fail(x, TN_ERR_INVALID, x->at, "a constant has %llu bytes, of %lld rows of %lld",
                    (unsigned long long)p->bytes.size, (long long)p->rows, (long long)p->depth);
  return xnn_status(x);
}

/* One scale for each group: bf16 behind the part, or numbers in it. */
static tn_status group_scales(xnn_part *x, const xnn_value *v, const packed *p, pte_span *out,
                              uint32_t *dtype) {
  enum { BUFFER_OF_CHANNELS = 2, BUFFER_OF_GROUPS = 4 };
  const bool by_block = v->quant_kind == XNN_PER_BLOCK;
  const tn_flat_vector list = tn_flat_vec(&v->quant, XNN_SCALE, 4);
  const uint64_t buffer = (uint64_t)tn_flat_uint(
                     &v->quant, by_block ? BUFFER_OF_GROUPS : BUFFER_OF_CHANNELS, 4, 0),
                 n = (uint64_t)(p->rows * (p->depth / p->group));
  *dtype = by_block && buffer ? TN_BF16 : TN_F32;
  *out = (pte_span){tn_flat_bytes(&list), list.n * 4};
  tn_status s = xnn_status(x);
  if (!s && buffer) s = xnn_buffer(x, buffer, out);
  if (!s && out->size / (*dtype == TN_BF16 ? 2 : 4) < n)
    s = xnn_fail(x, TN_ERR_INVALID, v->quant.at, "%llu groups have %llu bytes of scales",
                 (unsigned long long)n, (unsigned long long)out->size);
  return s;
}

/* A scale for each block of the group. */
static tn_status block_scales(xnn_part *x, const xnn_value *v, const packed *p, int32_t *out) {
  pte_span bytes;
  uint32_t dtype;
  const int64_t times = p->group / p->block, n = p->rows * (p->depth / p->group);
  tn_status s = group_scales(x, v, p, &bytes, &dtype);
  tn_tensor type = tn_tensor_make(dtype, 2, (int64_t[]){p->rows, p->depth / p->block}, NULL);
  const size_t width = dtype == TN_BF16 ? 2 : 4;
  if (s || times == 1) return s ? s : xnn_lend(x, bytes, type, out);
  void *made;
  s = room_for(x, (uint64_t)(n * times) * width, &made);
  for (int64_t k = 0; !s && k < n * times; k++)
    memcpy((uint8_t *)made + (size_t)k * width, bytes.data + (size_t)(k / times) * width, width);
  type.data = s ? NULL : made;
  return s ? s : xnn_constant(x, &type, out);
}

/* x times the weights; bias: TN_NO_ID: none. */
static tn_status by_blocks(xnn_part *x, const xnn_value *v, const packed *p, int32_t in,
                           int32_t bias, int32_t *out) {
  const int64_t shape[] = {p->rows, p->depth / p->block, p->block / 2};
  int32_t ins[] = {in, TN_NO_ID, TN_NO_ID, TN_NO_ID, bias};
  const tn_attr attrs[] = {XNN_INT("K", p->depth), XNN_INT("N", p->rows),
                           XNN_INT("block_size", p->block)};
  tn_status s = xnn_lend(x, p->bytes, tn_tensor_make(TN_U8, 3, shape, NULL), &ins[1]);
  if (!s) s = block_scales(x, v, p, &ins[2]);
  return s ? s : xnn_emit(x, "tenon::BlockMatMul", ins, bias == TN_NO_ID ? 3 : 5, attrs, 3, out);
}

/* Rows of no whole blocks: one number in a byte. */
static tn_status unpack(xnn_part *x, const packed *p, int32_t *out) {
  void *made;
  const int64_t bytes = (p->depth + 1) / 2;
  tn_tensor type = tn_tensor_make(TN_I8, 2, (int64_t[]){p->rows, p->depth}, NULL);
  tn_status s = room_for(x, (uint64_t)(p->rows * p->depth), &made);
  int8_t *to = s ? NULL : made;
  for (int64_t k = 0; !s && k < p->rows * p->depth; k++) {
    const int64_t row = k / p->depth, column = k % p->depth;
    to[k] = (int8_t)((p->bytes.data[row * bytes + column / 2] >> (column % 2 * 4) & 15) - 8);
  }
  type.data = made;
  return s ? s : xnn_constant(x, &type, out);
}

/* ---- fully connected ---- */

/* The product with weights as numbers. */
static tn_status multiply(xnn_part *x, int32_t in, int32_t filter, bool transposed, int32_t bias,
                          int32_t *out) {
  static const int64_t swap[] = {1, 0};
  int32_t ins[] = {in, filter}, add[] = {TN_NO_ID, bias};
  tn_status s = transposed ? TN_OK : xnn_transpose(x, filter, swap, 2, &ins[1]);
  if (!s) s = xnn_emit(x, "MatMul", ins, 2, NULL, 0, out);
  add[0] = *out;
  return s || bias == TN_NO_ID ? s : xnn_emit(x, "Add", add, 2, NULL, 0, out);
}

/* Codes of 8 bits, one scale for each row: `in` are the numbers that are rounded to them. */
static tn_status dynamic(xnn_part *x, const xnn_value *v, int32_t in, int32_t codes, int32_t bias,
                         int32_t *out) {
  const tn_attr trans = XNN_INT("transB", 1);
  int32_t ins[] = {in, codes, TN_NO_ID, bias};
  const tn_status s = xnn_channel_scales(x, v, &ins[2]);
  return s ? s : xnn_emit(x, "tenon::DynamicMatMul", ins, bias == TN_NO_ID ? 3 : 4, &trans, 1, out);
}

static tn_status with_packed(xnn_part *x, const tn_flat_table *t, const xnn_value *v, int32_t bias,
                             int32_t *out) {
  packed p;
  int32_t in, codes;
  xnn_value *from;
  tn_status s = read_packed(x, v, &p);
  if (!s) s = xnn_input(x, xnn_field(t, FC_IN), &in);
  if (s || p.block) return s ? s : by_blocks(x, v, &p, in, bias, out);
  s = xnn_value_of(x, xnn_field(t, FC_IN), &from);
  if (!s) s = unpack(x, &p, &codes);
  if (s) return s;
  if (from->quant_kind == XNN_DYNAMIC) return dynamic(x, v, from->id, codes, bias, out);
  int32_t ins[] = {codes, TN_NO_ID}, filter;
  const tn_attr axis = XNN_INT("axis", 0);
  s = xnn_channel_scales(x, v, &ins[1]);
  if (!s) s = xnn_emit(x, "DequantizeLinear", ins, 2, &axis, 1, &filter);
  return s ? s : multiply(x, in, filter, false, bias, out);
}

/* Rows that share no scale, and weights of 8 bits by rows. */
static bool is_dynamic(const xnn_value *from, const xnn_value *filter) {
  return from->quant_kind == XNN_DYNAMIC && tn_flat_int(&from->quant, 0, 4, 0) == 1 &&
         filter->quant_kind == XNN_PER_CHANNEL && filter->type.dtype == TN_I8 &&
         filter->type.rank == 2 && !tn_flat_int(&filter->quant, XNN_CHANNEL_DIM, 4, 0);
}

tn_status xnn_fully_connected(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  enum { TRANSPOSED = 1 };
  const bool transposed = xnn_field(t, FC_FLAGS) & TRANSPOSED;
  const int64_t bias_id = bias_of(t);
  xnn_value *from, *v;
  int32_t in, filter, bias = TN_NO_ID, out = TN_NO_ID;
  tn_status s = xnn_value_of(x, xnn_field(t, FC_IN), &from);
  if (!s) s = xnn_value_of(x, xnn_field(t, FC_FILTER), &v);
  if (s) return s;
  /* sums of bf16 are f32 in XNNPACK */
  const bool as_numbers = from->quant_kind || v->is_packed || from->type.dtype == TN_BF16;
  if (as_numbers) x->dtype = TN_F32;
  if (!v->is_packed && !is_dynamic(from, v)) s = xnn_input(x, xnn_field(t, FC_IN), &in);
  if (!s && bias_id != XNN_NO_VALUE) s = xnn_input(x, bias_id, &bias);
  if (!s && v->is_packed && !transposed) {
    s = with_packed(x, t, v, bias, &out);
  } else if (!s && is_dynamic(from, v) && !transposed) {
    s = xnn_raw(x, xnn_field(t, FC_IN), &in);
    if (!s) s = xnn_raw(x, xnn_field(t, FC_FILTER), &filter);
    if (!s) s = dynamic(x, v, in, filter, bias, &out);
  } else if (!s) {
    s = xnn_input(x, xnn_field(t, FC_FILTER), &filter);
    if (!s) s = multiply(x, in, filter, transposed, bias, &out);
  }
  return s ? s : xnn_finish(x, range, xnn_field(t, FC_OUT), out);
}

/* ---- attention ---- */

/* softmax(query * scale times the transpose of key, plus mask) times value; scale: of each
 * channel. */
tn_status xnn_attention(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  enum { QUERY, KEY, VALUE, SCALE, MASK, OUT, N };
  int64_t swap[TN_MAX_RANK];
  int32_t in[N], two[2], out;
  xnn_value *key;
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < OUT && !s; k++) s = xnn_input(x, xnn_field(t, k), &in[k]);
  if (!s) s = xnn_value_of(x, xnn_field(t, KEY), &key);
  if (s) return s;
  const int32_t rank = key->type.rank;
  if (rank < 2) return xnn_fail(x, TN_ERR_INVALID, x->at, "its key is no matrix");
  for (int32_t k = 0; k < rank; k++) swap[k] = k < rank - 2 ? k : 2 * rank - 3 - k;
  const tn_attr last = XNN_INT("axis", -1);
  two[0] = in[QUERY];
  two[1] = in[SCALE];
  s = xnn_emit(x, "Mul", two, 2, NULL, 0, &two[0]);
  if (!s) s = xnn_transpose(x, in[KEY], swap, (uint32_t)rank, &two[1]);
  if (!s) s = xnn_emit(x, "MatMul", two, 2, NULL, 0, &two[0]);
  two[1] = in[MASK];
  if (!s) s = xnn_emit(x, "Add", two, 2, NULL, 0, &two[0]);
  if (!s) s = xnn_emit(x, "Softmax", two, 1, &last, 1, &two[0]);
  two[1] = in[VALUE];
  if (!s) s = xnn_emit(x, "MatMul", two, 2, NULL, 0, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, OUT), out);
}
