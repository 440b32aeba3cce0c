/* MatMulInteger on GPUs: B is packed, then products of four at once, in tiles, or one result a
 * thread where there are few rows. */
#ifdef TN_GPU
#include "quad_gpu.h"

/* Matrix z of Y is a product of matrices of A and B at these steps, in up to three leading dims. */
#define MATRIX(z, s0, s1, s2) ((z) / (d1 * d2) * (s0) + (z) / d2 % d1 * (s1) + (z) % d2 * (s2))
#define PLACES                                                                     \
  int quads = (k + 3) / 4, a_row = k, at_a = MATRIX(GROUP(2), a0, a1, a2) * m * k; \
  int at_p = MATRIX(GROUP(2), b0, b1, b2) * (quads + 1) * n;
#define STORE(sum, r, q, a_sum)                                      \
  {                                                                  \
    int a_zero_ = (HAS_AZ != 0 ? LDI(AZ, (r)*az_step) : 0) - a_less; \
    int b_zero_ = (HAS_BZ != 0 ? LDI(BZ, (q)*bz_step) : 0) - b_less; \
    QUAD_ZEROS(sum, q, a_zero_, b_zero_, a_sum)                      \
    STI(Y, (GROUP(2) * m + (r)) * n + (q), sum);                     \
  }

KERNEL(matmul_integer, (IN(A), IN(P), IN(AZ), IN(BZ), OUT(Y)),
       (CONST(HAS_AZ), CONST(HAS_BZ), CONST(A_SUMS), INT(m), INT(n), INT(k), INT(az_step),
        INT(bz_step), INT(a_less), INT(b_less), INTS(d, 3), INTS(a, 3), INTS(b, 3)),
       8, 8, 1) {
  LOCAL(int, as, 528);
  LOCAL(int, bs, 512);
  int x = LOCAL_ID(0), y = LOCAL_ID(1), t = y * 8 + x, row = GROUP(1) * 32, col = GROUP(0) * 32;
  PLACES
  QUAD_SUM
  for (int e = 0; e < 16; e++) {
    int r = row + y + e / 4 * 8, q = col + x + e % 4 * 8, sum = QUAD_SIXTEENTH(e);
    if (r < m && q < n) STORE(sum, r, q, QUAD_FOURTH(e / 4, z0, z1, z2, z3))
  }
}

KERNEL(matmul_integer_few_rows, (IN(A), IN(P), IN(AZ), IN(BZ), OUT(Y)),
       (CONST(HAS_AZ), CONST(HAS_BZ), CONST(A_SUMS), INT(m), INT(n), INT(k), INT(az_step),
        INT(bz_step), INT(a_less), INT(b_less), INTS(d, 3), INTS(a, 3), INTS(b, 3)),
       64, 1, 1) {
  int q = GLOBAL(0), r = GROUP(1), sum = 0, a_sum = 0;
  PLACES
  if (q < n) {
    QUAD_FLAT(sum, a_sum, r, q)
    STORE(sum, r, q, a_sum)
  }
}

/* Every matrix of B. */
KERNEL(quad_pack, (IN(B), OUT(P)), (INT(n), INT(k), INT(b_row), INT(b_col), INT(b_less)), 64, 1,
       1) {
  int q = GLOBAL(0), at_b = GROUP(1) * n * k, at_p = GROUP(1) * ((k + 3) / 4 + 1) * n;
  if (q < n) {
    QUAD_PACK(q)
  }
}
#else
#include "matmul_integer.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/infer.h"

enum { LEADING = 3, FEW_ROWS = 4 };

const char *matmul_integer_gpu_refuse(const tn_call *call) {
  product_quant q;
  if (matmul_integer_make(call, &q)) return "its shapes do not fit";
  if (q.p.k > TN_GPU_ROUNDS) return "sums up to 65535 products";
  if (q.p.rank > LEADING) return "has more than three leading dims";
  if (q.p.batch > UINT16_MAX) return "takes up to 65535 matrices";
  return tn_gpu_refuse_size(call);
}

/* Matrices of B; scratch has a word for each four of a column, and its sum. */
static int64_t matrices_of(const product *p) {
  int64_t n = 1;
  for (int32_t k = 0; k < p->b->rank - 2; k++) n *= p->b->shape[k];
  return n;
}

tn_status matmul_integer_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  product_quant q;
  const tn_status status = matmul_integer_make(call, &q);
  if (status) return status;
  out->scratch_bytes =
      (uint64_t)(matrices_of(&q.p) * (tn_ceil_div(q.p.k, 4) + 1) * q.p.n) * sizeof(int32_t);
  return TN_OK;
}

/* Innermost last. */
static void add_leading(tn_gpu *g, const product *p, const int64_t *values, int64_t rest) {
  for (int32_t k = p->rank - LEADING; k < p->rank; k++) tn_gpu_int(g, k < 0 ? rest : values[k]);
}

static int32_t less_of(const tn_tensor *t) { return t->dtype == TN_U8 ? 128 : 0; }

static void add_packed(tn_gpu *g) { tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, TN_I32, 0, 0); }

static tn_status pack(const tn_call *call, tn_recorder *recorder, const product *p) {
  tn_gpu g;
  const int64_t n = matrices_of(p);
  if (n == 0 || tn_elements(call->outputs[0]) == 0) return TN_OK;
  tn_gpu_begin(&g, call, GPU_quad_pack);
  tn_gpu_in(&g, 1);
  add_packed(&g);
  tn_gpu_int(&g, p->n);
  tn_gpu_int(&g, p->k);
  tn_gpu_int(&g, p->n);
  tn_gpu_int(&g, 1);
  tn_gpu_int(&g, less_of(p->b));
  return tn_gpu_run(&g, recorder, tn_gpu_groups(p->n, 64), (uint32_t)n, 1);
}

/* May zero points of B differ from 0 once it is i8? */
static bool has_b_zeros(const product_quant *q) { return q->b_zero || q->p.b->dtype == TN_U8; }

tn_status matmul_integer_gpu_record(const tn_call *call, tn_recorder *recorder) {
  product_quant q;
  tn_gpu g;
  tn_status status = matmul_integer_make(call, &q);
  if (!status) status = pack(call, recorder, &q.p);
  if (status) return status;
  const bool is_flat = q.p.m < FEW_ROWS;
  tn_gpu_begin(&g, call, is_flat ? GPU_matmul_integer_few_rows : GPU_matmul_integer);
  tn_gpu_in(&g, 0);
  add_packed(&g);
  tn_gpu_in(&g, 2);
  tn_gpu_in(&g, 3);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, q.a_zero != NULL);
  tn_gpu_const(&g, q.b_zero != NULL);
  tn_gpu_const(&g, has_b_zeros(&q));
  tn_gpu_int(&g, q.p.m);
  tn_gpu_int(&g, q.p.n);
  tn_gpu_int(&g, q.p.k);
  tn_gpu_int(&g, q.a_zero && tn_elements(q.a_zero) > 1);
  tn_gpu_int(&g, q.b_zero && tn_elements(q.b_zero) > 1);
  tn_gpu_int(&g, less_of(q.p.a));
  tn_gpu_int(&g, less_of(q.p.b));
  add_leading(&g, &q.p, q.p.dims, 1);
  add_leading(&g, &q.p, q.p.a_stride, 0);
  add_leading(&g, &q.p, q.p.b_stride, 0);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(q.p.n, is_flat ? 64 : 32),
                    is_flat ? (uint32_t)q.p.m : tn_gpu_groups(q.p.m, 32), (uint32_t)q.p.batch);
}
#endif
