/* tenon::QuantAdd, tenon::QuantMul and tenon::QuantTable in vectors, for quant_avx512.c,
 * quant_avx2.c and quant_neon.c. */
#ifndef TN_OPS_QUANT_ADD_SIMD_H
#define TN_OPS_QUANT_ADD_SIMD_H

#include "quant_add.h"
#include "quant_simd.h"

static inline tn_vf load_bytes(const void *data, bool is_signed, int64_t k) {
  return is_signed ? tn_vf_load_i8((const int8_t *)data + k)
                   : tn_vf_load_u8((const uint8_t *)data + k);
}

/* A run of bytes; step 0: the first of them over and over. */
typedef struct operand {
  const uint8_t *data;
  int64_t step;
} operand;

/* y[k] = what a[k] and b[k] stand for, added or multiplied. Inlined with signs and is_product
 * constant. */
static inline __attribute__((always_inline)) void values(const quant_add *s, bool is_product,
                                                         operand a, bool a_signed, operand b,
                                                         bool b_signed, float *y, int64_t n) {
  const tn_vf a_scale = tn_vf_set1(s->a_scale), a_zero = tn_vf_set1(s->a_zero),
              b_scale = tn_vf_set1(s->b_scale), b_zero = tn_vf_set1(s->b_zero),
              a_still = tn_vf_set1(quant_add_load(a.data, a_signed, 0)),
              b_still = tn_vf_set1(quant_add_load(b.data, b_signed, 0));
  int64_t k = 0;
  for (; k + TN_VF_LANES <= n; k += TN_VF_LANES) {
    const tn_vf at_a = a.step ? load_bytes(a.data, a_signed, k) : a_still,
                at_b = b.step ? load_bytes(b.data, b_signed, k) : b_still;
    const tn_vf u = tn_vf_mul(tn_vf_sub(at_a, a_zero), a_scale),
                v = tn_vf_mul(tn_vf_sub(at_b, b_zero), b_scale);
    tn_vf_store(y + k, is_product ? tn_vf_mul(u, v) : tn_vf_add(u, v));
  }
  for (; k < n; k++)
    y[k] = quant_add_value(quant_add_load(a.data, a_signed, k * a.step),
                           quant_add_load(b.data, b_signed, k * b.step), s);
}

/* Whole numbers, within `e` at last: quantize_run() where nothing is left to round. */
static void whole_run(const float *x, uint8_t *y, int64_t n, ends e) {
  const tn_vf lo = tn_vf_set1(e.lo), hi = tn_vf_set1(e.hi);
  int64_t k = 0;
  for (; k + TN_VF_LANES <= n; k += TN_VF_LANES)
    tn_vf_store_byte(y + k, tn_vf_min(tn_vf_max(tn_vf_load(x + k), lo), hi), e.zero);
  for (; k < n; k++) y[k] = quantize_one(x[k], 1, e);
}

static inline __attribute__((always_inline)) tn_status add_range(const tn_call *call,
                                                                 bool is_product, bool a_signed,
                                                                 bool b_signed, int64_t begin,
                                                                 int64_t end) {
  const quant_add s = quant_add_of(call, is_product);
  uint8_t *y = call->outputs[0]->data;
  float block[TN_MAP_BLOCK];
  tn_broadcast both;
  const tn_status status = tn_broadcast_init(&both, call->outputs[0], 2, call->inputs);
  if (status) return status;
  tn_runs r = tn_runs_begin(&both, begin, end);
  while (tn_runs_next(&r)) {
    operand a = {(const uint8_t *)call->inputs[0]->data + r.offset[0], r.stride[0]},
            b = {(const uint8_t *)call->inputs[1]->data + r.offset[1], r.stride[1]};
    for (int64_t k = 0; k < r.length; k += TN_MAP_BLOCK) {
      const int64_t n = tn_min_i64(r.length - k, TN_MAP_BLOCK);
      values(&s, is_product, a, a_signed, b, b_signed, block, n);
      const ends e = {s.lo, s.hi, s.y_zero};
      if (s.halves_up) { /* in steps of the output */
        quant_add_round_up(block, n);
        whole_run(block, y + r.index + k, n, e);
      } else {
        quantize_run(block, y + r.index + k, n, s.y_scale, e);
      }
      a.data += n * a.step;
      b.data += n * b.step;
    }
  }
  tn_pads_zero(call->outputs[0], begin, end);
  return TN_OK;
}

#define QUANT_ADD(name, is_product)                                                             \
  tn_status TN_SIMD_NAME(name)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                               uint32_t worker) {                                               \
    const bool a = call->inputs[0]->dtype == TN_I8, b = call->inputs[1]->dtype == TN_I8;        \
    (void)stage, (void)worker;                                                                  \
    if (a && b) return add_range(call, is_product, true, true, begin, end);                     \
    if (a) return add_range(call, is_product, true, false, begin, end);                         \
    if (b) return add_range(call, is_product, false, true, begin, end);                         \
    return add_range(call, is_product, false, false, begin, end);                               \
  }
QUANT_ADD(quant_add, false)
QUANT_ADD(quant_mul, true)

tn_status TN_SIMD_NAME(quant_table)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                    uint32_t worker) {
  (void)stage, (void)worker;
  const uint8_t *x = call->inputs[0]->data, *entries = call->inputs[1]->data;
  uint8_t *y = call->outputs[0]->data;
  tn_vb_table table;
  tn_vb_table_load(table, entries);
  int64_t k = begin;
  for (; k + TN_VB_LANES <= end; k += TN_VB_LANES)
    tn_vb_store(y + k, tn_vb_lookup(table, tn_vb_load(x + k)));
  for (; k < end; k++) y[k] = entries[x[k]];
  tn_pads_zero(call->outputs[0], begin, end);
  return TN_OK;
}

#endif
