/* MatMulInteger on GPUs, a result a thread. */
#ifdef TN_GPU
/* Matrix z of Y is a product of matrices of A and B at these steps, in up to three leading dims. */
#define MATRIX(z, s0, s1, s2) ((z) / (d1 * d2) * (s0) + (z) / d2 % d1 * (s1) + (z) % d2 * (s2))

KERNEL(matmul_integer, (IN(A), IN(B), IN(AZ), IN(BZ), OUT(Y)),
       (CONST(HAS_AZ), CONST(HAS_BZ), INT(count), INT(m), INT(n), INT(k), INT(az_step),
        INT(bz_step), INTS(d, 3), INTS(a, 3), INTS(b, 3)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < count) {
    int column = i % n, row = i / n % m, z = i / n / m, sum = 0, a_zero = 0, b_zero = 0;
    int at_a = (MATRIX(z, a0, a1, a2) * m + row) * k, at_b = MATRIX(z, b0, b1, b2) * k * n + column;
    if (HAS_AZ != 0) a_zero = LDI(AZ, row * az_step);
    if (HAS_BZ != 0) b_zero = LDI(BZ, column * bz_step);
    for (int j = 0; j < k; j++)
      sum += (LDI(A, at_a + j) - a_zero) * (LDI(B, at_b + j * n) - b_zero);
    STI(Y, i, sum);
  }
}
#else
#include "matmul_integer.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/infer.h"

enum { LEADING = 3 };

const char *matmul_integer_gpu_refuse(const tn_call *call) {
  product_quant q;
  if (matmul_integer_make(call, &q)) return "its shapes do not fit";
  if (q.p.k > TN_GPU_ROUNDS) return "sums up to 65535 products";
  if (q.p.rank > LEADING) return "has more than three leading dims";
  return tn_gpu_refuse_size(call);
}

/* Innermost last. */
static void add_leading(tn_gpu *g, const product *p, const int64_t *values, int64_t rest) {
  for (int32_t k = p->rank - LEADING; k < p->rank; k++) tn_gpu_int(g, k < 0 ? rest : values[k]);
}

tn_status matmul_integer_gpu_record(const tn_call *call, tn_recorder *recorder) {
  product_quant q;
  tn_gpu g;
  const tn_status status = matmul_integer_make(call, &q);
  const int64_t count = tn_elements(call->outputs[0]);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_matmul_integer);
  for (int32_t k = 0; k < 4; k++) tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, q.a_zero != NULL);
  tn_gpu_const(&g, q.b_zero != NULL);
  tn_gpu_int(&g, count);
  tn_gpu_int(&g, q.p.m);
  tn_gpu_int(&g, q.p.n);
  tn_gpu_int(&g, q.p.k);
  tn_gpu_int(&g, q.a_zero && tn_elements(q.a_zero) > 1);
  tn_gpu_int(&g, q.b_zero && tn_elements(q.b_zero) > 1);
  add_leading(&g, &q.p, q.p.dims, 1);
  add_leading(&g, &q.p, q.p.a_stride, 0);
  add_leading(&g, &q.p, q.p.b_stride, 0);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(count, 64), 1, 1);
}
#endif
