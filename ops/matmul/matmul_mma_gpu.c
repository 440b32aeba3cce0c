/* MatMul and Gemm of f16 and bf16 by the matrix units of NVIDIA's GPUs. */
#ifdef TN_GPU
#define B_ROWS (MODE_B == 2)
#define IS_BF16 (S_A == 4)
#include "tenon/experimental/gpu_mma.h"

#if CLUSTER > 1
#undef ATTRIBUTES
#define ATTRIBUTES __cluster_dims__(1, 1, CLUSTER)
#endif

enum {
  STAGES = THREADS > 128 ? 2 : 4, /* slices in local memory; all but one are on their way there */
  A_SLICE = 32 * WM * PITCH,
  B_PITCH = THREADS / 2 + 8,
  B_SLICE = B_ROWS ? 32 * B_PITCH : THREADS / 2 * PITCH,
  SUM_PITCH = 68
};

/* MODE_A, MODE_B: how operands lie: 0 anyhow; 1 dense along K, in whole eights; 2 (B) dense along
 * N, in whole eights. Parts of K, `share` long, whose sums the groups of a cluster add up if it has
 * as many. Else, PARTED: with more than one, Y is scratch of f32, for gemm_sum. */
CUDA_KERNEL(gemm_mma, (IN(A), IN(B), IN(C), OUT(Y), EPILOGUE),
            (CONST(HAS_C), CONST(MODE_A), CONST(MODE_B), CONST(WM), CONST(THREADS), CONST(PARTED),
             CONST(CLUSTER), INT(m), INT(n), INT(k), INT(a_row), INT(a_col), INT(b_row), INT(b_col),
             INT(c_row), INT(c_col), INTS(d, 2), INTS(sa, 3), INTS(sb, 3), FLOAT(alpha),
             FLOAT(beta), INT(share)),
            THREADS, 1, 1) {
  __shared__ __align__(16) ushort room[STAGES * (A_SLICE + B_SLICE)];
  MMA_WARP
  int t = threadIdx.x, parts = (k + share - 1) / share, z = blockIdx.z / parts,
      part = blockIdx.z % parts;
  int row = blockIdx.y * 32 * WM, col = blockIdx.x * (THREADS / 2);
  int begin = part * share, end = min(begin + share, k), own = t % 2 * 16;
  const ushort *pa = (const ushort *)A + z / (d0 * d1) * sa2 + z / d0 % d1 * sa1 + z % d0 * sa0;
  const ushort *pb = (const ushort *)B + z / (d0 * d1) * sb2 + z / d0 % d1 * sb1 + z % d0 * sb0;
  int own_k = t / (THREADS / 32), own_n = t % (THREADS / 32) * 16; /* of MODE_B 2 */
  pa += (long)min(row + t / 2, m - 1) * a_row;
  if (MODE_B != 2) pb += (long)min(col + t / 2, n - 1) * b_col;
  float sums[WM][4][4];
  UNROLL for (int i = 0; i < WM * 16; i++) MMA_SUM(i) = 0.0f;
#define FETCH(i)                                                                                \
  {                                                                                             \
    ushort *as = room + (i) % STAGES * A_SLICE + t / 2 * PITCH + own;                           \
    ushort *bs = room + STAGES * A_SLICE + (i) % STAGES * B_SLICE +                             \
                 (B_ROWS ? own_k * B_PITCH + own_n : t / 2 * PITCH + own);                      \
    int from = begin + (i)*32;                                                                  \
    sixteen v;                                                                                  \
    UNROLL for (int j = 0; j < 16; j += 8) {                                                    \
      bool in_a = from + own + j < end, in_b = from + own_k < end && col + own_n + j < n;       \
      if (MODE_A == 1) copy8(as + j, in_a ? pa + from + own + j : pa, in_a);                    \
      if (MODE_B == 1) copy8(bs + j, in_a ? pb + from + own + j : pb, in_a);                    \
      if (MODE_B == 2)                                                                          \
        copy8(bs + j, in_b ? pb + (long)(from + own_k) * b_row + col + own_n + j : pb, in_b);   \
    }                                                                                           \
    if (MODE_A == 0) {                                                                          \
      UNROLL for (int j = 0; j < 16; j++)                                                       \
          set_one(v, j, from + own + j < end ? pa[(long)(from + own + j) * a_col] : (ushort)0); \
      put16(as, v);                                                                             \
    }                                                                                           \
    if (MODE_B == 0) {                                                                          \
      UNROLL for (int j = 0; j < 16; j++)                                                       \
          set_one(v, j, from + own + j < end ? pb[(long)(from + own + j) * b_row] : (ushort)0); \
      put16(bs, v);                                                                             \
    }                                                                                           \
  }
  int n_slices = (end - begin + 31) / 32;
  UNROLL for (int i = 0; i < STAGES - 1; i++) {
    if (i < n_slices) FETCH(i)
    copies_begin();
  }
  for (int i = 0; i < n_slices; i++) {
    copies_end<STAGES - 2>();
    __syncthreads();
    if (i + STAGES - 1 < n_slices) FETCH(i + STAGES - 1)
    copies_begin();
    multiply_slice<WM, IS_BF16, B_ROWS>(sums, room + i % STAGES * A_SLICE,
                                        room + STAGES * A_SLICE + i % STAGES * B_SLICE, B_PITCH,
                                        warp_m, warp_n);
  }
  copies_end<0>();
#define FINISH(s, place)                                \
  s *= alpha;                                           \
  if (HAS_C) s += beta * LD1(C, r * c_row + q * c_col); \
  EPILOGUE1(s, place)
#if CLUSTER > 1
  float *tile = (float *)room;
  __syncthreads();
  UNROLL for (int e = 0; e < 16 * WM; e++) {
    MMA_AT(e)
    tile[(r - row) * SUM_PITCH + q - col] = MMA_SUM(e);
  }
  cluster_barrier();
  for (int f = part * THREADS + t; f < 1024; f += CLUSTER * THREADS) {
    int r = row + f / 16;
    f32x4 all = F32X4(0.0f);
    UNROLL for (int p = 0; p < CLUSTER; p++) all +=
        load_of_group(tile + f / 16 * SUM_PITCH + f % 16 * 4, p);
    UNROLL for (int j = 0; j < 4; j++) {
      int q = col + f % 16 * 4 + j, place = (z * m + r) * n + q;
      if (r < m && q < n) {
        float s = j == 0 ? all.x : j == 1 ? all.y : j == 2 ? all.z : all.w;
        FINISH(s, place)
        ST1(Y, place, s);
      }
    }
  }
  cluster_barrier();
#else
  UNROLL for (int e = 0; e < 16 * WM; e++) {
    MMA_AT(e)
    if (r < m && q < n) {
      float s = MMA_SUM(e);
      int place = ((int)blockIdx.z * m + r) * n + q;
      if (!PARTED) {
        FINISH(s, place)
      }
      ST1(Y, place, s);
    }
  }
#endif
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

/* Do the groups of a cluster add up the parts? */
static bool is_clustered(const tn_call *call, const tn_gpu_tiles *t) {
  enum { SMALL = 64 };
  const tn_device_info *info = call->device;
  return info && info->flags & TN_DEVICE_CLUSTERS && t->high == SMALL && t->parts > 1;
}

static tn_gpu_tiles tiles_of(const tn_call *call, const product *p) {
  enum { LARGEST_CLUSTER = 8, SLICE = 32 };
  tn_gpu_tiles t = tn_gpu_tiles_mma(call, (int64_t[]){p->m, p->n, p->k}, p->batch);
  if (!is_clustered(call, &t) || t.parts <= LARGEST_CLUSTER) return t;
  t.share = tn_ceil_div(tn_ceil_div(p->k, LARGEST_CLUSTER), SLICE) * SLICE;
  t.parts = (int32_t)tn_ceil_div(p->k, t.share);
  return t;
}

/* Of them go through scratch. */
static int32_t parts_of(const tn_call *call, const tn_gpu_tiles *t) {
  return is_clustered(call, t) ? 1 : t->parts;
}

static tn_status plan(const tn_call *call, product_kind kind, tn_kernel_plan *out) {
  product p;
  const tn_status status = product_of(call, kind, &p);
  if (status) return status;
  const tn_gpu_tiles t = tiles_of(call, &p);
  return parts_of(call, &t) > 1 ? tn_gpu_tiles_scratch(call, &t, out) : TN_OK;
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
  const int32_t parts = parts_of(call, &t);
  const product_steps s = product_steps_of(&p);
  const bool is_whole = p.k % EIGHT == 0;
  tn_gpu_begin(&g, call, GPU_gemm_mma);
  product_gpu_buffers(&g, &p, parts);
  tn_gpu_const(&g, s.a_col == 1 && is_whole ? ALONG_K : ANYHOW);
  tn_gpu_const(&g, s.b_row == 1 && is_whole           ? ALONG_K
                   : s.b_col == 1 && p.n % EIGHT == 0 ? ALONG_N
                                                      : ANYHOW);
  tn_gpu_mma_consts(&g, &t);
  tn_gpu_const(&g, parts < t.parts ? t.parts : 1);
  product_gpu_params(&g, &p, &s);
  tn_gpu_int(&g, t.share);
  status = tn_gpu_run(&g, r, (uint32_t)t.columns, (uint32_t)t.rows, (uint32_t)(p.batch * t.parts));
  return status || parts == 1 ? status : product_gpu_sum(call, r, &p, parts);
}

tn_status matmul_mma_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, MATMUL);
}
tn_status gemm_mma_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, GEMM);
}
#endif
