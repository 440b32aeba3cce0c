/* MatMulNBits with constant weights: Tenon's own operator for such weights. What that does not know
 * is packed anew: numbers of 2 bits in 4, and columns in the order of their blocks where g_idx
 * mixes them; A is gathered likewise. */
#include "blocks.h"
#include "builder.h"

static bool is_constant(const tn_tensor *t) { return !t || t->data; }

/* What tenon::BlockMatMul has fast kernels for, once it is packed anew. */
static bool fits(const tn_call *call, const blocks *w) {
  enum { BLOCK_MOST = 1 << 24, BLOCK_LEAST_8 = 32 };
  const uint64_t with_8 = TN_ISA_AVX512_VNNI | TN_ISA_AVX_VNNI | TN_ISA_NEON_DOT;
  const bool takes_8 = call->isa & with_8 && w->block >= BLOCK_LEAST_8;
  return (w->bits != 8 || takes_8) && w->block <= BLOCK_MOST &&
         (!w->zeros || w->zeros->dtype == TN_U8) && is_constant(call->inputs[1]) &&
         is_constant(w->scales) && is_constant(w->zeros) && is_constant(w->groups);
}

/* order[k]: the column that stands at k when those of a block stand together, which all fill
 * theirs. False: they do not. */
static bool order_columns(const tn_call *call, const blocks *w, int64_t *order) {
  int64_t *next = call->host->alloc(call->ctx, (uint64_t)w->row_blocks * sizeof *next);
  if (!next) return false;
  bool fills = true;
  for (int64_t g = 0; g < w->row_blocks; g++) next[g] = g * w->block;
  for (int64_t k = 0; k < w->k && fills; k++) {
    const int64_t g = blocks_group(w, k);
    fills = g >= 0 && g < w->row_blocks && next[g] < tn_min_i64((g + 1) * w->block, w->k);
    if (fills) order[next[g]++] = k;
  }
  call->host->free(call->ctx, next);
  return fills;
}

/* A constant of u8 [w->n][width] that value(w, row, k) fills, n_numbers of `bits` a row. */
static int32_t pack(builder *b, const blocks *w, const int64_t *order, bool zeros, uint32_t bits,
                    int64_t n_numbers, int64_t width) {
  const tn_call *call = b->call;
  uint8_t *data = call->host->alloc(call->ctx, (uint64_t)(w->n * width));
  if (!data) {
    if (!b->status) b->status = TN_ERR_MEMORY;
    return -1;
  }
  memset(data, 0, (size_t)(w->n * width));
  for (int64_t row = 0; row < w->n; row++)
    for (int64_t k = 0; k < n_numbers; k++) {
      const uint32_t q =
          zeros ? (uint32_t)blocks_zero(w, row, k) : blocks_raw(w, row, order ? order[k] : k);
      data[row * width + k * bits / 8] |= (uint8_t)(q << (k * bits % 8));
    }
  const tn_tensor t = {
      .head = TN_HEAD(tn_tensor), .data = data, .dtype = TN_U8, .rank = 2, .shape = {w->n, width}};
  const int32_t value = build_const(b, &t);
  call->host->free(call->ctx, data);
  return value;
}

static tn_status become(const tn_call *call, tn_graph *graph, int32_t node, const blocks *w,
                        const int64_t *order) {
  builder b = build_begin(call, graph, node);
  const tn_mat_mul_n_bits_attrs *a = call->attrs;
  const uint32_t bits = w->bits == 2 ? 4 : w->bits;
  const tn_attr attrs[5] = {
      tn_attr_int("K", w->k), tn_attr_int("N", w->n), tn_attr_int("block_size", w->block),
      tn_attr_int("accuracy_level", a->accuracy_level), tn_attr_int("bits", bits)};
  int32_t inputs[5] = {build_input(&b, 0), build_input(&b, 1), build_input(&b, 2),
                       build_input(&b, 3), build_input(&b, 5)};
  if (bits != w->bits || order)
    inputs[1] = pack(&b, w, order, false, bits, w->k, w->row_blocks * (w->block * bits / 8));
  if (bits != w->bits)
    inputs[3] = pack(&b, w, NULL, true, bits, w->row_blocks, (w->row_blocks * bits + 7) / 8);
  if (order) {
    const tn_attr axis = tn_attr_int("axis", -1);
    const int32_t gather[2] = {inputs[0], build_ints(&b, order, w->k)};
    build_node(&b, "Gather", gather, 2, &axis, 1, &inputs[0], 1);
  }
  int32_t y;
  build_domain(&b, "tenon", "BlockMatMul", inputs, 5, attrs, 5, &y, 1);
  return build_end(&b, &y, 1);
}

tn_status mat_mul_n_bits_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  blocks w = {0};
  tn_status s = blocks_of_bits(call, &w);
  if (s) return s;
  if (!fits(call, &w)) return TN_ERR_UNSUPPORTED;
  if (!w.groups) return become(call, graph, node, &w, NULL);
  int64_t *order = call->host->alloc(call->ctx, (uint64_t)w.k * sizeof *order);
  if (!order) return TN_ERR_MEMORY;
  bool in_order = true;
  s = order_columns(call, &w, order) ? TN_OK : TN_ERR_UNSUPPORTED;
  for (int64_t k = 0; k < w.k && !s; k++) in_order = in_order && order[k] == k;
  if (!s) s = become(call, graph, node, &w, in_order ? NULL : order);
  call->host->free(call->ctx, order);
  return s;
}
