/* MatMul and Gemm of f16 and bf16 by the matrix units of NVIDIA's GPUs. */
#ifdef TN_GPU
#define B_ROWS (MODE_B == 2)
#define IS_BF16 (S_A == 4)
#include "tenon/experimental/gpu_mma.h"

/* MODE_A, MODE_B: how operands lie: 0 anyhow; 1 dense along K, in whole eights; 2 (B) dense along
 * N, in whole eights. Parts of K, `share` long. PARTED: with more than one, Y is scratch of f32,
 * for gemm_sum. */
CUDA_KERNEL(gemm_mma, (IN(A), IN(B), IN(C), OUT(Y), EPILOGUE),
            (CONST(HAS_C), CONST(MODE_A), CONST(MODE_B), CONST(WM), CONST(THREADS), CONST(PARTED),
             INT(m), INT(n), INT(k), INT(a_row), INT(a_col), INT(b_row), INT(b_col), INT(c_row),
             INT(c_col), INTS(d, 2), INTS(sa, 3), INTS(sb, 3), FLOAT(alpha), FLOAT(beta),
             INT(share)),
            THREADS, 1, 1) {
  MMA_LOCALS
  MMA_WARP
  int t = threadIdx.x, parts = (k + share - 1) / share, z = blockIdx.z / parts,
      part = blockIdx.z % parts;
  int row = blockIdx.y * 32 * WM, col = blockIdx.x * (THREADS / 2);
  int at = part * share, end = min(at + share, k), own = t % 2 * 16;
  const ushort *pa = (const ushort *)A + z / (d0 * d1) * sa2 + z / d0 % d1 * sa1 + z % d0 * sa0;
  const ushort *pb = (const ushort *)B + z / (d0 * d1) * sb2 + z / d0 % d1 * sb1 + z % d0 * sb0;
  int own_k = t / (THREADS / 32), own_n = col + t % (THREADS / 32) * 16; /* of MODE_B 2 */
  pa += (long)min(row + t / 2, m - 1) * a_row;
  if (MODE_B != 2) pb += (long)min(col + t / 2, n - 1) * b_col;
#define BRING(i)                                                                            \
  if (MODE_A == 1) {                                                                        \
    UNROLL for (int j = 0; j < 2; j++) if ((i) + own + j * 8 < end)                         \
        take8(a.w + 4 * j, pa + (i) + own + j * 8);                                         \
    else set_zero(a.w + 4 * j, 4);                                                          \
  } else {                                                                                  \
    UNROLL for (int j = 0; j < 16; j++)                                                     \
        set_one(a, j, (i) + own + j < end ? pa[(long)((i) + own + j) * a_col] : (ushort)0); \
  }                                                                                         \
  if (MODE_B == 1) {                                                                        \
    UNROLL for (int j = 0; j < 2; j++) if ((i) + own + j * 8 < end)                         \
        take8(b.w + 4 * j, pb + (i) + own + j * 8);                                         \
    else set_zero(b.w + 4 * j, 4);                                                          \
  } else if (MODE_B == 2) {                                                                 \
    UNROLL for (int j = 0; j < 2; j++) if ((i) + own_k < end && own_n + j * 8 < n)          \
        take8(b.w + 4 * j, pb + (long)((i) + own_k) * b_row + own_n + j * 8);               \
    else set_zero(b.w + 4 * j, 4);                                                          \
  } else {                                                                                  \
    UNROLL for (int j = 0; j < 16; j++)                                                     \
        set_one(b, j, (i) + own + j < end ? pb[(long)((i) + own + j) * b_row] : (ushort)0); \
  }
  MMA_LOOP
  UNROLL for (int e = 0; e < 16 * WM; e++) {
    MMA_AT(e)
    if (r < m && q < n) {
      float s = MMA_SUM(e);
      int place = ((int)blockIdx.z * m + r) * n + q;
      if (!PARTED) {
        s *= alpha;
        if (HAS_C) s += beta * LD1(C, r * c_row + q * c_col);
        EPILOGUE1(s, place)
      }
      ST1(Y, place, s);
    }
  }
}
#else
#include "product_gpu.h"

enum { ANYHOW = 0, ALONG_K = 1, ALONG_N = 2, EIGHT = 8 };

static const char *refuse(const tn_call *call, product_kind kind) {
  product p;
  if (call->inputs[0]->dtype != call->inputs[1]->dtype) return "takes A and B of one type";
  if (product_of(call, kind, &p)) return "its shapes do not fit";
  if (p.m < PRODUCT_FEW_ROWS || !p.k) return "takes 8 rows or more";
  return product_gpu_refuse(call, kind);
}

const char *matmul_mma_gpu_refuse(const tn_call *call) { return refuse(call, MATMUL); }
const char *gemm_mma_gpu_refuse(const tn_call *call) { return refuse(call, GEMM); }

static tn_gpu_tiles tiles_of(const tn_call *call, const product *p) {
  return tn_gpu_tiles_mma(call, (int64_t[]){p->m, p->n, p->k}, p->batch);
}

static tn_status plan(const tn_call *call, product_kind kind, tn_kernel_plan *out) {
  product p;
  const tn_status status = product_of(call, kind, &p);
  if (status) return status;
  const tn_gpu_tiles t = tiles_of(call, &p);
  return tn_gpu_tiles_scratch(call, &t, out);
}

tn_status matmul_mma_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, MATMUL, out);
}
tn_status gemm_mma_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, GEMM, out);
}

static tn_status record(const tn_call *call, tn_recorder *r, product_kind kind) {
  product p;
  tn_gpu g;
  tn_status status = product_of(call, kind, &p);
  if (status) return status;
  const tn_gpu_tiles t = tiles_of(call, &p);
  const product_steps s = product_steps_of(&p);
  const bool is_whole = p.k % EIGHT == 0;
  tn_gpu_begin(&g, call, GPU_gemm_mma);
  product_gpu_buffers(&g, &p, t.parts);
  tn_gpu_const(&g, s.a_col == 1 && is_whole ? ALONG_K : ANYHOW);
  tn_gpu_const(&g, s.b_row == 1 && is_whole           ? ALONG_K
                   : s.b_col == 1 && p.n % EIGHT == 0 ? ALONG_N
                                                      : ANYHOW);
  tn_gpu_mma_consts(&g, &t);
  product_gpu_params(&g, &p, &s);
  tn_gpu_int(&g, t.share);
  status = tn_gpu_run(&g, r, (uint32_t)t.columns, (uint32_t)t.rows, (uint32_t)(p.batch * t.parts));
  return status || t.parts == 1 ? status : product_gpu_sum(call, r, &p, t.parts);
}

tn_status matmul_mma_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, MATMUL);
}
tn_status gemm_mma_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, GEMM);
}
#endif
