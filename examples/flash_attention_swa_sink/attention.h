/* What the parts of the plug-in share: the attribute structs, one attention problem in plain
 * numbers, and the functions that the tables of plugin.c name. */
#ifndef FLASH_ATTENTION_H
#define FLASH_ATTENTION_H

#include <stdint.h>
#include <string.h>
#include <tenon/plugin.h>

/* Attributes, in the order of the schema; see "Attributes" in tenon/plugin.h. */
typedef struct flash_attrs {
  int64_t has_scale;
  double scale;
  int64_t causal, window, q_offset, k_offset;
} flash_attrs;

typedef struct paged_attrs {
  int64_t has_scale;
  double scale;
  int64_t causal, window;
} paged_attrs;

/* One call, whichever operator it is. Key j of sequence b lies in row key_row(p, b, j) of K and V:
 * a row is all heads of one key. */
typedef struct attention {
  uint32_t dtype, sink_dtype, table_dtype;
  int64_t n_batch, n_q, n_kv; /* sequences, queries of each, keys of each (paged: at most) */
  int64_t n_heads, n_kv_heads, group; /* group: query heads that share a head of K and V */
  int64_t d_qk, d_v;
  int64_t causal, window, q_offset, k_offset;
  double scale;
  const void *q, *k, *v, *sink; /* sink NULL: none, and never read */
  void *out;
  const void *table, *lengths; /* paged only, else NULL */
  const void
      *offsets; /* flash only: q_offset and k_offset of each sequence; NULL: the attributes */
  uint32_t offsets_dtype;
  int64_t max_pages, page_size, n_pages;
} attention;

/* Keys lo..hi-1 that a query sees; lo >= hi: none. */
typedef struct key_range {
  int64_t lo, hi;
} key_range;

attention attention_of_flash(const tn_call *call);
attention attention_of_paged(const tn_call *call);

static inline float f32_of_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline uint32_t bits_of_f32(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static inline float f32_of_bf16(uint16_t h) { return f32_of_bits((uint32_t)h << 16); }

/* Subnormals are integers times 2^-24. No arithmetic meets a subnormal f32: for that some processors
 * take a hundred times as long. */
static inline float f32_of_f16(uint16_t h) {
  uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
  uint32_t small = bits_of_f32((float)(h & 0x3ff) * 0x1p-24f);
  uint32_t bits = magnitude < 0x00800000 ? small : magnitude + 0x38000000;
  bits = magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : bits; /* infinity and NaN */
  return f32_of_bits(bits | sign);
}

static inline uint16_t bf16_of_f32(float f) {
  uint32_t bits = bits_of_f32(f);
  if (f != f) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Rounds to nearest, ties to even. */
static inline uint16_t f16_of_f32(float f) {
  uint32_t bits = bits_of_f32(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (magnitude < 0x38800000) /* subnormal: the adder of the machine rounds at 2^-24 */
    return (uint16_t)(sign | (bits_of_f32(f32_of_bits(magnitude) + 0.5f) & 0x7ff));
  return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

/* Element i of a float tensor. */
static inline float load_f32(uint32_t dtype, const void *data, int64_t i) {
  if (dtype == TN_F32) return ((const float *)data)[i];
  uint16_t h = ((const uint16_t *)data)[i];
  return dtype == TN_F16 ? f32_of_f16(h) : f32_of_bf16(h);
}

static inline void store_f32(uint32_t dtype, void *data, int64_t i, float value) {
  if (dtype == TN_F32)
    ((float *)data)[i] = value;
  else
    ((uint16_t *)data)[i] = dtype == TN_F16 ? f16_of_f32(value) : bf16_of_f32(value);
}

/* Element i of an index tensor. */
static inline int64_t load_index(uint32_t dtype, const void *data, int64_t i) {
  return dtype == TN_I32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
}

static inline int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

/* How many keys sequence b has. */
static inline int64_t key_count(const attention *p, int64_t b) {
  return p->table ? load_index(p->table_dtype, p->lengths, b) : p->n_kv;
}

static inline int64_t key_row(const attention *p, int64_t b, int64_t j) {
  if (!p->table) return b * p->n_kv + j;
  int64_t page = load_index(p->table_dtype, p->table, b * p->max_pages + j / p->page_size);
  return page * p->page_size + j % p->page_size;
}

/* The absolute positions of query 0 and key 0 of sequence b. */
static inline int64_t query_offset(const attention *p, int64_t b) {
  return p->offsets ? load_index(p->offsets_dtype, p->offsets, 2 * b) : p->q_offset;
}
static inline int64_t key_offset(const attention *p, int64_t b) {
  return p->offsets ? load_index(p->offsets_dtype, p->offsets, 2 * b + 1) : p->k_offset;
}

/* What query s of sequence b with n_keys keys sees. Positions are absolute: query s stands at
 * query_offset + s (paged: the queries are the last of the context), key j at key_offset + j. */
static inline key_range visible(const attention *p, int64_t b, int64_t n_keys, int64_t s) {
  const int64_t first = key_offset(p, b);
  int64_t at = (p->table ? n_keys - p->n_q : query_offset(p, b)) + s, lo = 0, hi = INT64_MAX;
  if (p->window) lo = max_i64(0, at - p->window + 1), hi = at + p->window;
  if (p->causal) hi = at + 1;
  if (hi != INT64_MAX) hi -= first;
  lo -= first;
  return (key_range){min_i64(max_i64(lo, 0), n_keys), min_i64(max_i64(hi, 0), n_keys)};
}

/* ---- named in the tables ---- */
tn_status flash_infer(const tn_call *call);
tn_status flash_flops(const tn_call *call, double *out_flops);
tn_status flash_reference(const tn_call *call);
tn_status flash_plan(const tn_call *call, tn_kernel_plan *out);
tn_status paged_infer(const tn_call *call);
tn_status paged_flops(const tn_call *call, double *out_flops);
tn_status paged_reference(const tn_call *call);
tn_status paged_plan(const tn_call *call, tn_kernel_plan *out);
/* Stage 0 of the paged kernels: every length and page index is in range, or an error. */
tn_status offsets_check(const tn_call *call, int64_t begin, int64_t end);
tn_status paged_check(const tn_call *call, int64_t begin, int64_t end);
const char *attention_refuse(const tn_call *call);
extern const struct tn_emitter flash_emitter;

#define KERNELS_OF(isa)                                                                        \
  tn_status flash_attention_##isa(const tn_call *, uint32_t stage, int64_t begin, int64_t end, \
                                  uint32_t worker);                                            \
  tn_status paged_attention_##isa(const tn_call *, uint32_t stage, int64_t begin, int64_t end, \
                                  uint32_t worker)
KERNELS_OF(c);
KERNELS_OF(avx2);
KERNELS_OF(avx512);

/* Sizes of the kernel's blocks, which plan() needs for the scratch memory. */
enum { BLOCK_ROWS = 64, BLOCK_KEYS = 64, MAX_HEAD_DIM = 65536 };
static inline int64_t row_blocks(const attention *p) {
  return (p->n_q * p->group + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

#endif
