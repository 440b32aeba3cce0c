/* MatMulNBits with constant weights of 4 or 8 bits: Tenon's own operator for such weights. */
#include "blocks.h"
#include "builder.h"

static bool is_constant(const tn_tensor *t) { return !t || t->data; }

/* What tenon::BlockMatMul has fast kernels for. */
static bool fits(const tn_call *call, const blocks *w) {
  enum { BLOCK_MOST = 1 << 24, BLOCK_LEAST_8 = 32 };
  const uint64_t with_8 = TN_ISA_AVX512_VNNI | TN_ISA_AVX_VNNI | TN_ISA_NEON_DOT;
  const bool takes_8 = call->isa & with_8 && w->block >= BLOCK_LEAST_8;
  return (w->bits == 4 || (w->bits == 8 && takes_8)) && !w->groups && w->block <= BLOCK_MOST &&
         (!w->zeros || w->zeros->dtype == TN_U8) && is_constant(call->inputs[1]) &&
         is_constant(w->scales) && is_constant(w->zeros);
}

tn_status mat_mul_n_bits_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  blocks w = {0};
  tn_status s = blocks_of_bits(call, &w);
  if (s) return s;
  if (!fits(call, &w)) return TN_ERR_UNSUPPORTED;
  builder b = build_begin(call, graph, node);
  const tn_mat_mul_n_bits_attrs *a = call->attrs;
  const tn_attr attrs[5] = {
      build_attr_int("K", w.k), build_attr_int("N", w.n), build_attr_int("block_size", w.block),
      build_attr_int("accuracy_level", a->accuracy_level), build_attr_int("bits", a->bits)};
  const int32_t inputs[5] = {build_input(&b, 0), build_input(&b, 1), build_input(&b, 2),
                             build_input(&b, 3), build_input(&b, 5)};
  int32_t y;
  build_domain(&b, "tenon", "BlockMatMul", inputs, 5, attrs, 5, &y, 1);
  return build_end(&b, &y, 1);
}
