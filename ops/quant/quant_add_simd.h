/* tenon::QuantAdd and tenon::QuantTable in vectors, for quant_avx512.c, quant_avx2.c and
 * quant_neon.c. */
#ifndef TN_OPS_QUANT_ADD_SIMD_H
#define TN_OPS_QUANT_ADD_SIMD_H

#include "base/simd_bytes.h"
#include "quant_add.h"

static inline tn_vf load_bytes(const void *data, bool is_signed, int64_t k) {
  return is_signed ? tn_vf_load_i8((const int8_t *)data + k)
                   : tn_vf_load_u8((const uint8_t *)data + k);
}

/* Inlined with both signs constant. */
static inline __attribute__((always_inline)) void add_range(const tn_call *call, bool a_signed,
                                                            bool b_signed, int64_t k, int64_t end) {
  const quant_add s = quant_add_of(call);
  const void *a = call->inputs[0]->data, *b = call->inputs[1]->data;
  uint8_t *y = call->outputs[0]->data;
  const tn_vf a_scale = tn_vf_set1(s.a_scale), a_zero = tn_vf_set1(s.a_zero),
              b_scale = tn_vf_set1(s.b_scale), b_zero = tn_vf_set1(s.b_zero),
              y_scale = tn_vf_set1(s.y_scale), lo = tn_vf_set1(s.lo), hi = tn_vf_set1(s.hi);
  for (; k + TN_VF_LANES <= end; k += TN_VF_LANES) {
    const tn_vf u = tn_vf_mul(tn_vf_sub(load_bytes(a, a_signed, k), a_zero), a_scale),
                v = tn_vf_mul(tn_vf_sub(load_bytes(b, b_signed, k), b_zero), b_scale),
                q = tn_vf_div(tn_vf_add(u, v), y_scale);
    tn_vf_store_byte(y + k, tn_vf_min(tn_vf_max(q, lo), hi), s.y_zero);
  }
  for (; k < end; k++)
    y[k] = quant_add_one(quant_add_load(a, a_signed, k), quant_add_load(b, b_signed, k), &s);
}

tn_status TN_SIMD_NAME(quant_add)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                  uint32_t worker) {
  const bool a = call->inputs[0]->dtype == TN_I8, b = call->inputs[1]->dtype == TN_I8;
  (void)stage, (void)worker;
  if (a && b)
    add_range(call, true, true, begin, end);
  else if (a)
    add_range(call, true, false, begin, end);
  else if (b)
    add_range(call, false, true, begin, end);
  else
    add_range(call, false, false, begin, end);
  tn_pads_zero(call->outputs[0], begin, end);
  return TN_OK;
}

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
