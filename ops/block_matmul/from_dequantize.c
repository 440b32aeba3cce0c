/* Rewrites: a MatMul or Gemm by constants of 4 or 8 bits that a DequantizeLinear makes floats of
 * becomes tenon::BlockMatMul, if scales are per tensor, per column, or per block along K. Not where
 * the other factor is dequantised, too: that is tenon::QuantMatMul's. */
#include "blocks.h"
#include "matmul.gen.h"
#include "quant.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/region_dims.h"

enum { BLOCK_LEAST = 16, BLOCK_ANY = 128 };

#define FOUR_BITS (TN_MASK(TN_I4) | TN_MASK(TN_U4))
#define EIGHT_BITS (TN_MASK(TN_I8) | TN_MASK(TN_U8))

/* A matrix of constants that is dequantised, as W [N][K]. (Tensors are copies: what the graph says
 * is to be trusted until it changes only.) */
typedef struct source {
  tn_tensor x, scales, zeros;
  int32_t values[3]; /* of these; -1: without zeros */
  int32_t bits;
  int64_t n, k;
  int64_t k_step, n_step;             /* of x, in elements */
  int64_t block;                      /* numbers along K that share a scale */
  int64_t scale_k_step, scale_n_step; /* of scales and zeros, over blocks and columns */
} source;

static const tn_tensor *constant(const tn_pattern *p, int32_t value) {
  const tn_tensor *t = tn_pattern_type(p, value);
  return t && t->data ? t : NULL;
}

/* Where the scale of an element stands. */
static bool find_scales(source *s, const tn_dequantize_linear_attrs *a, int32_t k_axis) {
  const tn_tensor *t = &s->scales;
  const int64_t axis = a->axis < 0 ? a->axis + 2 : a->axis, n = tn_elements(t);
  s->block = s->k;
  if (n == 1 && !a->block_size) return true; /* all steps are 0 */
  if (a->block_size == 0) {                  /* per column */
    s->scale_n_step = 1;
    return t->rank == 1 && axis != k_axis && n == s->n;
  }
  const int64_t n_blocks = tn_ceil_div(s->k, a->block_size);
  if (axis != k_axis || t->rank != 2 || t->shape[k_axis] != n_blocks || t->shape[!k_axis] != s->n)
    return false;
  s->block = a->block_size;
  s->scale_k_step = k_axis == 0 ? s->n : 1;
  s->scale_n_step = k_axis == 0 ? 1 : n_blocks;
  return true;
}

/* The DequantizeLinear that computes the value, of a matrix whose dim k_axis is K. */
static bool source_of(const tn_pattern *p, int32_t value, int32_t k_axis, source *out) {
  const tn_node *n = tn_pattern_node(p, value, "DequantizeLinear");
  if (!n || n->n_inputs < 2) return false;
  const int32_t zero = tn_pattern_input(n, 2);
  const tn_tensor *x = constant(p, n->inputs[0]), *scales = constant(p, n->inputs[1]),
                  *zeros = constant(p, zero);
  if (!x || !scales || (zero >= 0 && !zeros)) return false;
  if (x->rank != 2 || !(TN_MASK(x->dtype) & (FOUR_BITS | EIGHT_BITS))) return false;
  if (!(TN_MASK(scales->dtype) & (TN_MASK(TN_F32) | TN_MASK(TN_F16) | TN_MASK(TN_BF16))))
    return false;
  if (zeros && tn_elements(zeros) != tn_elements(scales)) return false;
  source s = {.x = *x, .scales = *scales, .values = {n->inputs[0], n->inputs[1], zero}};
  if (zeros) s.zeros = *zeros;
  s.bits = TN_MASK(x->dtype) & FOUR_BITS ? 4 : 8;
  s.k = s.x.shape[k_axis];
  s.n = s.x.shape[!k_axis];
  s.k_step = k_axis == 0 ? s.n : 1;
  s.n_step = k_axis == 0 ? 1 : s.k;
  const tn_dequantize_linear_attrs *a =
      p->api->node_attrs(p->graph, p->api->value_producer(p->graph, value));
  if (s.k < 1 || s.n < 1 || !find_scales(&s, a, k_axis)) return false;
  *out = s;
  return true;
}

/* The same, or of its transpose. (Transpositions are regions when rewrites see them.) */
static bool find_source(const tn_pattern *p, int32_t value, int32_t k_axis, source *out) {
  int32_t from, perm[TN_MAX_RANK];
  const tn_tensor *t = tn_pattern_type(p, value);
  if (t && t->rank == 2 && tn_region_transposes(p, value, &from, perm) && perm[0] == 1)
    return source_of(p, from, !k_axis, out);
  return source_of(p, value, k_axis, out);
}

/* Numbers that share a scale in tenon::BlockMatMul: a power of 2 that divides blocks; 0: none. */
static int64_t block_of(const source *s) {
  enum { MOST = 1 << 24 };
  if (s->block >= s->k) return BLOCK_ANY;
  int64_t block = 1;
  while (block < MOST && s->block % (2 * block) == 0) block *= 2;
  return block >= BLOCK_LEAST ? block : 0;
}

/* ---- the constants ---- */

static bool is_signed(const tn_tensor *t) { return t->dtype == TN_I4 || t->dtype == TN_I8; }

/* Of x or zeros, moved to 0 .. 15 or 0 .. 255. */
static uint32_t number_at(const source *s, const tn_tensor *t, int64_t at) {
  const uint32_t q = (uint32_t)blocks_number(t->data, s->bits, at);
  return is_signed(t) ? q ^ (1u << (s->bits - 1)) : q;
}

static int64_t packed_bytes(const source *s, int64_t count) { return (count * s->bits + 7) / 8; }

/* What makes unsigned numbers of those in a byte of x. */
static uint8_t flip_of(const source *s) {
  return !is_signed(&s->x) ? 0 : s->bits == 4 ? 0x88 : 0x80;
}

/* x lies as W does, rows of whole bytes. */
static void copy_rows(const source *s, int64_t row_bytes, uint8_t *to) {
  const uint8_t *x = s->x.data, flip = flip_of(s);
  for (int64_t j = 0; j < s->n; j++, to += row_bytes)
    for (int64_t k = 0; k < packed_bytes(s, s->k); k++) to[k] = *x++ ^ flip;
}

/* Columns j and j + 1 of x [K][N] of 4 bits, N even, numbers k0 to k1, both even: two by two. */
static void turn_pair(const source *s, int64_t j, int64_t k0, int64_t k1, int64_t row_bytes,
                      uint8_t *to) {
  const uint8_t *x = (const uint8_t *)s->x.data + (k0 * s->n + j) / 2;
  const uint32_t flip = flip_of(s);
  to += j * row_bytes;
  for (int64_t k = k0; k < k1; k += 2, x += s->n) {
    const uint32_t a = x[0] ^ flip, b = x[s->n / 2] ^ flip;
    to[k / 2] = (uint8_t)((a & 15) | b << 4);
    to[row_bytes + k / 2] = (uint8_t)(a >> 4 | (b & 0xf0));
  }
}

/* Number k of those that begin at a byte, all 0 so far. */
static void put_number(const source *s, uint32_t number, int64_t k, uint8_t *to) {
  if (s->bits == 8)
    to[k] = (uint8_t)number;
  else
    to[k / 2] |= (uint8_t)(number << (k % 2 * 4));
}

/* A block of rows and columns at a time: what is read and written stays in the cache. */
static void pack_numbers(const source *s, int64_t row_bytes, uint8_t *to) {
  enum { SIZE = 128 };
  if (s->k_step == 1 && s->k * s->bits % 8 == 0) {
    copy_rows(s, row_bytes, to);
    return;
  }
  const bool pairs = s->bits == 4 && s->n_step == 1 && s->n % 2 == 0;
  for (int64_t k0 = 0; k0 < s->k; k0 += SIZE) {
    const int64_t k1 = tn_min_i64(k0 + SIZE, s->k), even = pairs ? k1 / 2 * 2 : k0;
    for (int64_t j = 0; j < s->n && pairs; j += 2) turn_pair(s, j, k0, even, row_bytes, to);
    for (int64_t j = 0; j < s->n; j++)
      for (int64_t k = even; k < k1; k++)
        put_number(s, number_at(s, &s->x, k * s->k_step + j * s->n_step), k, to + j * row_bytes);
  }
}

static int64_t scale_at(const source *s, int64_t j, int64_t k) {
  return j * s->scale_n_step + k / s->block * s->scale_k_step;
}

static void copy_scales(const source *s, int64_t n_blocks, int64_t block, char *to) {
  const size_t size = s->scales.dtype == TN_F32 ? 4 : 2;
  for (int64_t j = 0; j < s->n; j++)
    for (int64_t g = 0; g < n_blocks; g++, to += size)
      memcpy(to, (const char *)s->scales.data + scale_at(s, j, g * block) * (int64_t)size, size);
}

static void pack_zeros(const source *s, int64_t n_blocks, int64_t block, uint8_t *to) {
  for (int64_t j = 0; j < s->n && s->values[2] >= 0; j++, to += packed_bytes(s, n_blocks))
    for (int64_t g = 0; g < n_blocks; g++)
      put_number(s, number_at(s, &s->zeros, scale_at(s, j, g * block)), g, to);
}

/* A constant [n][width] that is filled in, zero so far. */
static tn_status begin_const(const tn_call *call, uint32_t dtype, int64_t n, int64_t width,
                             tn_tensor *out) {
  const int64_t dims[2] = {n, width};
  *out = tn_tensor_make(dtype, 2, dims, NULL);
  int64_t count;
  const tn_status s = tn_dims_product(dims, 2, &count);
  if (s) return s;
  const int64_t bytes = tn_dtype_bytes(dtype, count);
  if (bytes < 0) return TN_ERR_OVERFLOW;
  out->data = call->host->alloc(call->ctx, (uint64_t)bytes);
  if (!out->data) return TN_ERR_MEMORY;
  memset(out->data, 0, (size_t)bytes);
  return TN_OK;
}

static int32_t end_const(const tn_call *call, tn_graph *graph, tn_tensor *t) {
  const int32_t value = tn_emit_const(call, graph, t);
  call->host->free(call->ctx, t->data);
  return value;
}

/* B, scales and zero points. */
static tn_status make_consts(const tn_call *call, tn_graph *graph, const source *s, int64_t block,
                             int32_t *out) {
  const int64_t n_blocks = tn_ceil_div(s->k, block);
  tn_tensor t;
  const int64_t row_bytes = n_blocks * packed_bytes(s, block);
  tn_status status = begin_const(call, TN_U8, s->n, row_bytes, &t);
  if (status) return status;
  pack_numbers(s, row_bytes, t.data);
  out[0] = end_const(call, graph, &t);
  if (out[0] < 0) return out[0];
  status = begin_const(call, s->scales.dtype, s->n, n_blocks, &t);
  if (status) return status;
  copy_scales(s, n_blocks, block, t.data);
  out[1] = end_const(call, graph, &t);
  if (out[1] < 0) return out[1];
  out[2] = -1;
  if (s->values[2] < 0 && is_signed(&s->x)) return TN_OK; /* 0 is the middle here */
  status = begin_const(call, TN_U8, s->n, packed_bytes(s, n_blocks), &t);
  if (status) return status;
  pack_zeros(s, n_blocks, block, t.data);
  out[2] = end_const(call, graph, &t);
  return out[2] < 0 ? out[2] : TN_OK;
}

static tn_status become(const tn_call *call, tn_graph *graph, int32_t node, const source *s,
                        int32_t a, int32_t bias) {
  const int64_t block = block_of(s);
  int32_t consts[3];
  if (!block) return TN_OK;
  tn_status status = TN_OK;
  for (int k = 0; k < 3 && !status; k++)
    if (s->values[k] >= 0) status = call->host->fetch(call->ctx, graph, s->values[k]);
  if (!status) status = make_consts(call, graph, s, block, consts);
  if (status) return status;
  const tn_attr attrs[] = {tn_attr_int("K", s->k), tn_attr_int("N", s->n),
                           tn_attr_int("bits", s->bits), tn_attr_int("block_size", block)};
  const int32_t inputs[] = {a, consts[0], consts[1], consts[2], bias};
  return tn_lower_to_own(call, graph, node, "BlockMatMul", inputs, 5, attrs, 4);
}

/* There are vector kernels; without, weights that became f32 once are faster. */
static bool has_kernels(const tn_call *call, const source *s) {
  enum { BLOCK_LEAST_8 = 32 };
  const uint64_t with_8 = TN_ISA_AVX512_VNNI | TN_ISA_AVX_VNNI | TN_ISA_NEON_DOT;
  if (s->bits == 4) return (call->isa & (TN_ISA_AVX2 | TN_ISA_NEON)) != 0;
  return (call->isa & with_8) && block_of(s) >= BLOCK_LEAST_8;
}

/* So is a product by it, of 8 bits if it is not quantised as a whole. */
static bool fits(const tn_call *call, const tn_pattern *p, const source *s, int32_t a) {
  return has_kernels(call, s) && (s->bits == 4 || !tn_pattern_node(p, a, "DequantizeLinear"));
}

/* Floats, and so is what they are multiplied with. (That may be of no known dims yet. If weights
 * were packed only when they are known, each new shape would pack them again.) */
static bool are_floats(const tn_pattern *p, int32_t weights) {
  const tn_tensor *t = tn_pattern_type(p, weights);
  return t && (t->dtype == TN_F32 || t->dtype == TN_F16 || t->dtype == TN_BF16);
}

tn_status block_matmul_from_matmul(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  source s;
  if (!n || n->n_inputs < 2 || !are_floats(&p, n->inputs[1])) return TN_OK;
  if (!find_source(&p, n->inputs[1], 0, &s) || !fits(call, &p, &s, n->inputs[0])) return TN_OK;
  return become(call, graph, node, &s, n->inputs[0], -1);
}

/* C is one row, or left out. */
static bool is_bias(const tn_pattern *p, int32_t value, int64_t n) {
  const tn_tensor *t = tn_pattern_type(p, value);
  if (value < 0) return true;
  return t && t->rank >= 1 && t->rank <= 2 && t->shape[t->rank - 1] == n && tn_elements(t) == n;
}

tn_status block_matmul_from_gemm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const tn_gemm_attrs *a = call->attrs;
  source s;
  if (!n || n->n_inputs < 2 || !are_floats(&p, n->inputs[1])) return TN_OK;
  const int32_t c = tn_pattern_input(n, 2);
  if (a->transA || a->alpha != 1 || (c >= 0 && a->beta != 1)) return TN_OK;
  if (!find_source(&p, n->inputs[1], a->transB ? 1 : 0, &s) || !is_bias(&p, c, s.n)) return TN_OK;
  if (!fits(call, &p, &s, n->inputs[0])) return TN_OK;
  return become(call, graph, node, &s, n->inputs[0], c);
}
