/* GatherBlockQuantized: an embedding table of a few bits. An item of the kernel is an element; they
 * are written in runs that share a scale. */
#include "blocks.gen.h"
#include "elements.h"

typedef struct gathered {
  int32_t rank, gather, quantize;
  int64_t dims[TN_MAX_RANK]; /* of the data, in numbers rather than bytes */
  int64_t n_blocks, block;   /* along quantize */
  uint32_t bits;
} gathered;

/* t has the dims of the scales, the last one in bytes if it holds packed numbers. */
static bool like_scales(const tn_tensor *t, const gathered *g, bool packed) {
  bool same = t->rank == g->rank;
  for (int32_t k = 0; same && k < g->rank; k++) {
    int64_t want = k == g->quantize ? g->n_blocks : g->dims[k];
    if (packed && k == g->rank - 1) want = (want * g->bits + 7) / 8;
    same = t->shape[k] == want;
  }
  return same;
}

static tn_status make(const tn_call *call, gathered *out) {
  const tn_gather_block_quantized_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *zeros = tn_input(call, 3);
  const bool bytes = data->dtype == TN_U8;
  gathered g = {.rank = data->rank, .block = a->block_size, .bits = bytes ? (uint32_t)a->bits : 4};
  if (bytes && a->bits != 2 && a->bits != 4 && a->bits != 8)
    return fail(call, TN_ERR_UNSUPPORTED, "not supported: attribute 'bits' other than 2, 4 and 8");
  if (a->block_size < 16 || (a->block_size & (a->block_size - 1)))
    return fail(call, TN_ERR_INVALID, "attribute 'block_size' is not a power of 2 from 16 on");
  tn_status s = tn_axis_normalize(call, a->gather_axis, g.rank, &g.gather);
  if (!s) s = tn_axis_normalize(call, a->quantize_axis, g.rank, &g.quantize);
  if (s) return s;
  if (bytes && (g.gather != 0 || g.quantize != g.rank - 1))
    return fail(call, TN_ERR_UNSUPPORTED,
                "not supported: u8 data other than with gather_axis 0 and the last axis quantised");
  for (int32_t k = 0; k < g.rank; k++) g.dims[k] = data->shape[k];
  if (bytes) g.dims[g.rank - 1] *= 8 / (int64_t)g.bits;
  g.n_blocks = (g.dims[g.quantize] + g.block - 1) / g.block;
  if (!like_scales(call->inputs[2], &g, false) || (zeros && !like_scales(zeros, &g, bytes)))
    return fail(call, TN_ERR_SHAPE, "scales or zero_points do not fit the data");
  *out = g;
  return TN_OK;
}

tn_status gather_block_quantized_infer(const tn_call *call) {
  const tn_tensor *indices = call->inputs[1];
  gathered g = {0};
  int64_t dims[2 * TN_MAX_RANK];
  int32_t rank = 0;
  tn_status s = make(call, &g);
  if (s) return s;
  if (g.rank + indices->rank - 1 > TN_MAX_RANK)
    return fail(call, TN_ERR_SHAPE, "the output would have too many dims");
  for (int32_t k = 0; k < g.gather; k++) dims[rank++] = g.dims[k];
  for (int32_t k = 0; k < indices->rank; k++) dims[rank++] = indices->shape[k];
  for (int32_t k = g.gather + 1; k < g.rank; k++) dims[rank++] = g.dims[k];
  tn_infer_shape(call, 0, call->inputs[2]->dtype, rank, dims);
  return TN_OK;
}

/* Number k of a tensor of packed numbers, k counted in numbers. */
static double number(const tn_tensor *t, uint32_t bits, int64_t k) {
  const uint8_t *b = t->data;
  const uint32_t q = (uint32_t)b[k * bits / 8] >> (k * bits % 8) & ((1u << bits) - 1);
  return t->dtype == TN_I4 && q > 7 ? (double)q - 16 : (double)q;
}

/* The zero point of the block with scale number `scale`. */
static double zero_of(const tn_call *call, const gathered *g, int64_t scale) {
  const tn_tensor *zeros = tn_input(call, 3);
  if (!zeros) return call->inputs[0]->dtype == TN_U8 ? (double)(1u << (g->bits - 1)) : 0;
  if (zeros->dtype != TN_U8) return number(zeros, 4, scale);
  const int64_t row = scale / g->n_blocks, bytes = zeros->shape[g->rank - 1];
  return number(zeros, g->bits, row * bytes * 8 / g->bits + scale % g->n_blocks);
}

/* Number `at` of the data, which has scale number `scale`. */
static double value(const tn_call *call, const gathered *g, int64_t at, int64_t scale) {
  return (number(call->inputs[0], g->bits, at) - zero_of(call, g, scale)) *
         load(call->inputs[2], scale);
}

/* Walks over the coordinates of an output element. */
tn_status gather_block_quantized_reference(const tn_call *call) {
  const tn_tensor *y = call->outputs[0], *indices = call->inputs[1];
  gathered g = {0};
  tn_status s = make(call, &g);
  for (int64_t k = 0; !s && k < tn_elements(y); k++) {
    int64_t at[2 * TN_MAX_RANK], rest = k, index = 0, from = 0, scale = 0;
    for (int32_t d = y->rank - 1; d >= 0; d--) at[d] = rest % y->shape[d], rest /= y->shape[d];
    for (int32_t d = 0; d < indices->rank; d++)
      index = index * indices->shape[d] + at[g.gather + d];
    int64_t chosen = (int64_t)load(indices, index);
    if (chosen < 0) chosen += g.dims[g.gather];
    for (int32_t d = 0; d < g.rank; d++) {
      const int64_t c = d == g.gather ? chosen : at[d < g.gather ? d : d + indices->rank - 1];
      from = from * g.dims[d] + c;
      scale = d == g.quantize ? scale * g.n_blocks + c / g.block : scale * g.dims[d] + c;
    }
    const bool inside = chosen >= 0 && chosen < g.dims[g.gather];
    store(y, k, inside ? value(call, &g, from, scale) : 0);
  }
  return s;
}

tn_status gather_block_quantized_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = tn_elements(call->outputs[0]);
  out->grain[0] = 8000;
  out->cost_ns = (double)out->items[0] + 300;
  return TN_OK;
}

static int64_t product_of(const int64_t *dims, int32_t begin, int32_t end) {
  int64_t n = 1;
  for (int32_t k = begin; k < end; k++) n *= dims[k];
  return n;
}

/* Numbers of u8, two in a byte, from an even one on. */
static void decode_pairs(const uint8_t *b, int64_t n, float zero, float scale, float *y) {
  for (int64_t i = 0; i < n / 2; i++) {
    y[2 * i] = ((float)(b[i] & 15) - zero) * scale;
    y[2 * i + 1] = ((float)(b[i] >> 4) - zero) * scale;
  }
}

/* n numbers from `at` on, of one scale. The difference is exact, and rounded once. */
static void decode(const tn_call *call, const gathered *g, int64_t at, int64_t n, float zero,
                   float scale, float *y) {
  const tn_tensor *data = call->inputs[0];
  const uint8_t *b = data->data;
  int64_t k = 0;
  if (g->bits == 8) {
    for (; k < n; k++) y[k] = ((float)b[at + k] - zero) * scale;
  } else if (g->bits == 4 && data->dtype != TN_I4 && at % 2 == 0) {
    decode_pairs(b + at / 2, n, zero, scale, y);
    k = n / 2 * 2;
  }
  for (; k < n; k++) y[k] = ((float)number(data, g->bits, at + k) - zero) * scale;
}

/* n elements from k on, which come from numbers `at` on and have one scale. */
static void write_run(const tn_call *call, const gathered *g, int64_t k, int64_t at, int64_t n,
                      int64_t scale) {
  const tn_tensor *y = call->outputs[0];
  const float zero = (float)zero_of(call, g, scale), by = (float)load(call->inputs[2], scale);
  float room[TN_MAP_BLOCK];
  for (int64_t i = 0; i < n; i += TN_MAP_BLOCK) {
    const int64_t m = tn_min_i64(n - i, TN_MAP_BLOCK);
    float *to = y->dtype == TN_F32 ? (float *)y->data + k + i : room;
    decode(call, g, at + i, m, zero, by, to);
    tn_store_block_f32(y->dtype, y->data, k + i, m, to);
  }
}

/* n elements from k on, which come from numbers `from` on. */
static void write_piece(const tn_call *call, const gathered *g, int64_t k, int64_t from,
                        int64_t n) {
  const int64_t along = g->dims[g->quantize], inner = product_of(g->dims, g->quantize + 1, g->rank);
  int64_t outer = from / inner / along, c = from / inner % along, block = c / g->block;
  if (inner > 1) { /* each element has a scale of its own */
    for (int64_t i = 0; i < n; i++) {
      const int64_t at = from + i, b = at / inner % along / g->block;
      write_run(call, g, k + i, at, 1, (at / inner / along * g->n_blocks + b) * inner + at % inner);
    }
    return;
  }
  for (int64_t i = 0, m; i < n; i += m, c += m, block++) {
    if (c == along) outer++, c = block = 0;
    m = tn_min_i64(n - i, tn_min_i64((block + 1) * g->block, along) - c);
    write_run(call, g, k + i, from + i, m, outer * g->n_blocks + block);
  }
}

tn_status gather_block_quantized_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                   uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *indices = call->inputs[1], *y = call->outputs[0];
  const size_t bytes = y->dtype == TN_F32 ? 4 : 2;
  gathered g = {0};
  tn_status s = make(call, &g);
  if (s) return s;
  const int64_t behind = product_of(g.dims, g.gather + 1, g.rank), n_chosen = tn_elements(indices),
                size = g.dims[g.gather];
  for (int64_t k = begin, n; k < end; k += n) {
    int64_t chosen = (int64_t)load(indices, k / behind % n_chosen);
    if (chosen < 0) chosen += size;
    n = tn_min_i64(end - k, behind - k % behind);
    if (chosen < 0 || chosen >= size)
      memset((char *)y->data + (size_t)k * bytes, 0, (size_t)n * bytes);
    else
      write_piece(call, &g, k, (k / behind / n_chosen * size + chosen) * behind + k % behind, n);
  }
  return TN_OK;
}
