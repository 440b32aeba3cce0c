/* MatMulNBits with constant weights of 4 bits: Tenon's own operator for such weights. */
#include "blocks.h"
#include "builder.h"

static bool is_constant(const tn_tensor *t) { return !t || t->data; }

/* What tenon::BlockMatMul is made for. */
static bool fits(const tn_call *call, const blocks *w) {
  enum { BLOCK_MOST = 1 << 24 };
  return w->bits == 4 && !w->groups && w->block <= BLOCK_MOST &&
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
  const tn_attr attrs[4] = {build_attr_int("K", w.k), build_attr_int("N", w.n),
                            build_attr_int("block_size", w.block),
                            build_attr_int("accuracy_level", a->accuracy_level)};
  const int32_t inputs[5] = {build_input(&b, 0), build_input(&b, 1), build_input(&b, 2),
                             build_input(&b, 3), build_input(&b, 5)};
  int32_t y;
  build_domain(&b, "tenon", "BlockMatMul", inputs, 5, attrs, 4, &y, 1);
  return build_end(&b, &y, 1);
}
