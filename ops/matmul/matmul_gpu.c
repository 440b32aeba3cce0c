/* Gemm and MatMul on GPUs: tiles of 64 x 64 results, whose operands go through local memory; for
 * few rows, a result or four of them a thread. Sums in f32. */
#ifdef TN_GPU
#define BATCH(d0, d1, s0, s1, s2, z) \
  ((z) / ((d0) * (d1)) * (s2) + (z) / (d0) % (d1) * (s1) + (z) % (d0) * (s0))

/* 16 x 16 threads, 4 x 4 results each; K in slices of 16. COLUMNS: neighbours along K of A, or N
 * of B, do not lie next to each other, those of the other dim do. */
KERNEL(gemm, (IN(A), IN(B), IN(C), OUT(Y), EPILOGUE),
       (CONST(HAS_C), CONST(A_COLUMNS), CONST(B_COLUMNS), INT(m), INT(n), INT(k), INT(a_row),
        INT(a_col), INT(b_row), INT(b_col), INT(c_row), INT(c_col), INTS(d, 2), INTS(sa, 3),
        INTS(sb, 3), FLOAT(alpha), FLOAT(beta)),
       16, 16, 1) {
  LOCAL(float, as, 1024);
  LOCAL(float, bs, 1024);
  int x = LOCAL_ID(0), y = LOCAL_ID(1), t = y * 16 + x, z = GROUP(2);
  int row = GROUP(1) * 64, col = GROUP(0) * 64;
  int at_a = BATCH(d0, d1, sa0, sa1, sa2, z), at_b = BATCH(d0, d1, sb0, sb1, sb2, z);
  f32x4 c0 = F32X4(0.0f), c1 = F32X4(0.0f), c2 = F32X4(0.0f), c3 = F32X4(0.0f);
  for (int at = 0; at < k; at += 16) {
    for (int j = 0; j < 4; j++) {
      int e = t + j * 256;
      int r = A_COLUMNS != 0 ? e % 64 : e / 16, q = A_COLUMNS != 0 ? e / 64 : e % 16;
      float v = 0.0f;
      if (row + r < m && at + q < k) v = LD1(A, at_a + (row + r) * a_row + (at + q) * a_col);
      as[q * 64 + r] = v;
      r = B_COLUMNS != 0 ? e / 16 : e % 64;
      q = B_COLUMNS != 0 ? e % 16 : e / 64;
      v = 0.0f;
      if (col + r < n && at + q < k) v = LD1(B, at_b + (at + q) * b_row + (col + r) * b_col);
      bs[q * 64 + r] = v;
    }
    BARRIER();
    for (int j = 0; j < 16; j++) {
      f32x4 a = LOCAL4(as, j * 64 + y * 4), b = LOCAL4(bs, j * 64 + x * 4);
      c0 += a.x * b;
      c1 += a.y * b;
      c2 += a.z * b;
      c3 += a.w * b;
    }
    BARRIER();
  }
  for (int i = 0; i < 4; i++) {
    f32x4 v = i == 0 ? c0 : i == 1 ? c1 : i == 2 ? c2 : c3;
    int r = row + y * 4 + i;
    for (int j = 0; j < 4; j++) {
      int q = col + x * 4 + j;
      if (r < m && q < n) {
        float s = alpha * (j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w);
        int place = (z * m + r) * n + q;
        if (HAS_C != 0) s += beta * LD1(C, r * c_row + q * c_col);
        EPILOGUE1(s, place)
        ST1(Y, place, s);
      }
    }
  }
}

/* KIND 0: any strides; 1: four columns a thread, rows of B lie dense; 2: dots of rows with columns
 * of B that lie dense, as A's rows do. Fours are whole. */
KERNEL(gemm_few_rows, (IN(A), IN(B), IN(C), OUT(Y), EPILOGUE),
       (CONST(HAS_C), CONST(KIND), INT(m), INT(n), INT(k), INT(a_row), INT(a_col), INT(b_row),
        INT(b_col), INT(c_row), INT(c_col), INTS(d, 2), INTS(sa, 3), INTS(sb, 3), FLOAT(alpha),
        FLOAT(beta)),
       64, 1, 1) {
  int q = GLOBAL(0) * (KIND == 1 ? 4 : 1), r = GROUP(1), z = GROUP(2);
  int at_a = BATCH(d0, d1, sa0, sa1, sa2, z) + r * a_row, at_b = BATCH(d0, d1, sb0, sb1, sb2, z);
  if (q < n) {
    f32x4 sums = F32X4(0.0f);
    if (KIND == 1) {
      for (int i = 0; i < k; i++) sums += LD1(A, at_a + i * a_col) * LD4(B, at_b + i * b_row + q);
    } else if (KIND == 2) {
      for (int i = 0; i < k; i += 4) sums += LD4(A, at_a + i) * LD4(B, at_b + q * b_col + i);
      sums.x = sums.x + sums.y + (sums.z + sums.w);
    } else {
      float sum = 0.0f;
      for (int i = 0; i < k; i++)
        sum += LD1(A, at_a + i * a_col) * LD1(B, at_b + i * b_row + q * b_col);
      sums.x = sum;
    }
    for (int j = 0; j < (KIND == 1 ? 4 : 1); j++) {
      float s = alpha * (j == 0 ? sums.x : j == 1 ? sums.y : j == 2 ? sums.z : sums.w);
      int place = (z * m + r) * n + q + j;
      if (HAS_C != 0) s += beta * LD1(C, r * c_row + (q + j) * c_col);
      EPILOGUE1(s, place)
      ST1(Y, place, s);
    }
  }
}
#else
#include "product.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/infer.h"

enum { DIMS = 3, FEW_ROWS = 8 };

/* The leading dims, innermost first, as at most three: neighbours that A and B step through alike
 * are one. */
typedef struct batches {
  int32_t rank;
  int64_t size[TN_MAX_RANK], a[TN_MAX_RANK], b[TN_MAX_RANK];
} batches;

static batches batches_of(const product *p) {
  batches s = {.rank = 0};
  for (int32_t k = p->rank - 1; k >= 0; k--) {
    const int64_t size = p->dims[k], a = p->a_stride[k], b = p->b_stride[k];
    const int32_t last = s.rank - 1;
    if (size == 1) continue;
    if (last >= 0 && s.a[last] * s.size[last] == a && s.b[last] * s.size[last] == b) {
      s.size[last] *= size;
      continue;
    }
    s.size[s.rank] = size, s.a[s.rank] = a, s.b[s.rank++] = b;
  }
  return s;
}

static const char *refuse(const tn_call *call, product_kind kind) {
  product p;
  if (product_of(call, kind, &p)) return "its shapes do not fit";
  if (batches_of(&p).rank > DIMS) return "has more than three leading dims that broadcast";
  if (p.batch > UINT16_MAX) return "takes up to 65535 matrices";
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_epilogue(call);
}

const char *matmul_gpu_refuse(const tn_call *call) { return refuse(call, MATMUL); }
const char *gemm_gpu_refuse(const tn_call *call) { return refuse(call, GEMM); }

static void add_params(tn_gpu *g, const product *p, int64_t a_row, int64_t a_col, int64_t b_row,
                       int64_t b_col) {
  const batches s = batches_of(p);
  const int64_t plain[] = {p->m, p->n, p->k, a_row, a_col, b_row, b_col, p->c_row, p->c_col};
  for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) tn_gpu_int(g, plain[k]);
  for (int32_t k = 0; k < DIMS - 1; k++) tn_gpu_int(g, k < s.rank ? s.size[k] : 1);
  for (int32_t k = 0; k < DIMS; k++) tn_gpu_int(g, k < s.rank ? s.a[k] * p->m * p->k : 0);
  for (int32_t k = 0; k < DIMS; k++) tn_gpu_int(g, k < s.rank ? s.b[k] * p->k * p->n : 0);
  tn_gpu_float(g, p->alpha);
  tn_gpu_float(g, p->beta);
}

static tn_status record(const tn_call *call, tn_recorder *r, product_kind kind) {
  product p;
  tn_gpu g;
  const tn_status status = product_of(call, kind, &p);
  if (status) return status;
  const int64_t a_row = p.trans_a ? 1 : p.k, a_col = p.trans_a ? p.m : 1;
  const int64_t b_row = p.trans_b ? 1 : p.n, b_col = p.trans_b ? p.k : 1;
  const bool is_flat = p.m < FEW_ROWS;
  tn_gpu_begin(&g, call, is_flat ? GPU_gemm_few_rows : GPU_gemm);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 1);
  tn_gpu_in(&g, p.c ? 2 : -1);
  tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  tn_gpu_const(&g, p.c && tn_elements(p.c) > 0);
  if (is_flat) {
    const int64_t fours = b_col == 1 && p.n % 4 == 0                 ? 1
                          : b_row == 1 && a_col == 1 && p.k % 4 == 0 ? 2
                                                                     : 0;
    tn_gpu_const(&g, fours);
    add_params(&g, &p, a_row, a_col, b_row, b_col);
    return tn_gpu_run(&g, r, tn_gpu_groups(p.n, fours == 1 ? 256 : 64), (uint32_t)p.m,
                      (uint32_t)p.batch);
  }
  tn_gpu_const(&g, p.trans_a);
  tn_gpu_const(&g, p.trans_b);
  add_params(&g, &p, a_row, a_col, b_row, b_col);
  return tn_gpu_run(&g, r, tn_gpu_groups(p.n, 64), tn_gpu_groups(p.m, 64), (uint32_t)p.batch);
}

tn_status matmul_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, MATMUL);
}
tn_status gemm_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, GEMM);
}
#endif
