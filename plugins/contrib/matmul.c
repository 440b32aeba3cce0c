/* FusedMatMul. */
#include "builder.h"
#include "matmul.gen.h"
#include "product.h"

/* The order of the dims of an operand as the product sees them. */
static void order_of(const tn_tensor *t, bool transpose, bool batch, int64_t *perm) {
  const int32_t rank = t->rank;
  for (int32_t k = 0; k < rank; k++) perm[k] = k;
  if (batch && rank > 2) {
    for (int32_t k = 0; k + 2 < rank; k++) perm[k] = k + 1;
    perm[rank - 2] = 0;
  }
  if (transpose && rank > 1) {
    const int64_t last = perm[rank - 1];
    perm[rank - 1] = perm[rank - 2];
    perm[rank - 2] = last;
  }
}

static tn_status make(const tn_call *call, int64_t perm[2][TN_MAX_RANK], product *out) {
  const tn_fused_mat_mul_attrs *a = call->attrs;
  order_of(call->inputs[0], a->transA != 0, a->transBatchA != 0, perm[0]);
  order_of(call->inputs[1], a->transB != 0, a->transBatchB != 0, perm[1]);
  return product_make(call, operand_of(call->inputs[0], perm[0]),
                      operand_of(call->inputs[1], perm[1]), out);
}

tn_status fused_mat_mul_infer(const tn_call *call) {
  int64_t perm[2][TN_MAX_RANK];
  product p;
  tn_status s = make(call, perm, &p);
  if (!s) product_infer(call, &p, call->inputs[0]->dtype);
  return s;
}

tn_status fused_mat_mul_flops(const tn_call *call, double *out_flops) {
  int64_t perm[2][TN_MAX_RANK];
  product p;
  tn_status s = make(call, perm, &p);
  if (!s) *out_flops = product_flops(&p);
  return s;
}

tn_status fused_mat_mul_reference(const tn_call *call) {
  int64_t perm[2][TN_MAX_RANK];
  product p;
  tn_status s = make(call, perm, &p);
  if (s) return s;
  for (int64_t k = 0; k < p.n_batch * p.m * p.n; k++) {
    const int64_t j = k % p.n, i = k / p.n % p.m, matrix = k / p.n / p.m;
    const int64_t a = product_offset(&p, &p.a, matrix) + i * p.a.step[p.a.rank - 2];
    const int64_t b = product_offset(&p, &p.b, matrix) + j * p.b.step[p.b.rank - 1];
    double sum = 0;
    for (int64_t c = 0; c < p.k; c++)
      sum += load(call->inputs[0], a + c * p.a.step[p.a.rank - 1]) *
             load(call->inputs[1], b + c * p.b.step[p.b.rank - 2]);
    store(call->outputs[0], k, sum * ((const tn_fused_mat_mul_attrs *)call->attrs)->alpha);
  }
  return TN_OK;
}

static int32_t ordered(builder *b, uint32_t input, const int64_t *perm) {
  const int32_t rank = b->call->inputs[input]->rank, x = build_input(b, input);
  bool as_is = true;
  for (int32_t k = 0; k < rank; k++) as_is = as_is && perm[k] == k;
  return as_is ? x : build_transpose(b, x, perm, rank);
}

tn_status fused_mat_mul_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_fused_mat_mul_attrs *a = call->attrs;
  builder b = build_begin(call, graph, node);
  int64_t perm[2][TN_MAX_RANK];
  int32_t y;
  product p;
  tn_status s = make(call, perm, &p);
  if (s) return s;
  if (call->inputs[0]->rank == 2 &&
      call->inputs[1]->rank == 2) { /* Gemm needs no transposed copies */
    const tn_attr attrs[3] = {tn_attr_int("transA", a->transA), tn_attr_int("transB", a->transB),
                              tn_attr_float("alpha", a->alpha)};
    build_node(&b, "Gemm", (int32_t[]){build_input(&b, 0), build_input(&b, 1)}, 2, attrs, 3, &y, 1);
  } else {
    y = build_binary(&b, "MatMul", ordered(&b, 0, perm[0]), ordered(&b, 1, perm[1]));
    if (a->alpha != 1)
      y = build_binary(&b, "Mul", y, build_scalar(&b, call->inputs[0]->dtype, a->alpha));
  }
  return build_end(&b, &y, 1);
}
