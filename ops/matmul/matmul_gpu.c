/* Gemm and MatMul on GPUs: tiles of 64 x 64 results, whose operands go through local memory; for
 * few rows, a result or four of them a thread. Sums in f32. */
#ifdef TN_GPU
#include "tile_gpu.h"

#define BATCH(d0, d1, s0, s1, s2, z) \
  ((z) / ((d0) * (d1)) * (s2) + (z) / (d0) % (d1) * (s1) + (z) % (d0) * (s0))

/* Parts of K, `share` long: with more than one, Y is scratch of f32, [matrix][part][m][n], for
 * gemm_sum. FOURS_A, FOURS_B: neighbours along K lie next to each other, in whole fours. */
KERNEL(gemm, (IN(A), IN(B), IN(C), OUT(Y), EPILOGUE),
       (CONST(HAS_C), CONST(FOURS_A), CONST(FOURS_B), CONST(PARTS), INT(m), INT(n), INT(k),
        INT(a_row), INT(a_col), INT(b_row), INT(b_col), INT(c_row), INT(c_col), INTS(d, 2),
        INTS(sa, 3), INTS(sb, 3), FLOAT(alpha), FLOAT(beta), INT(share)),
       64, 1, 1) {
  LOCAL(float, as, 1024);
  LOCAL(float, bs, 1024);
  TILE_THREAD
  int z = GROUP(2) / (PARTS), part = GROUP(2) % (PARTS);
  int row = GROUP(1) * 64, col = GROUP(0) * 64;
  int at = part * share, end = at + share < k ? at + share : k;
  int at_a = BATCH(d0, d1, sa0, sa1, sa2, z) + (row + t < m ? row + t : 0) * a_row;
  int at_b = BATCH(d0, d1, sb0, sb1, sb2, z) + (col + t < n ? col + t : 0) * b_col;
  f32x4 sums[16], a[4], b[4];
  for (int i = 0; i < 16; i++) sums[i] = F32X4(0.0f);
#define A_AT(i) ((i) < end ? LD1(A, at_a + (i)*a_col) : 0.0f)
#define B_AT(i) ((i) < end ? LD1(B, at_b + (i)*b_row) : 0.0f)
#define BRING(i)                                                    \
  UNROLL for (int j = 0; j < 4; j++) {                              \
    int l = (i) + j * 4;                                            \
    if (FOURS_A != 0)                                               \
      a[j] = l < end ? LD4(A, at_a + l) : F32X4(0.0f);              \
    else                                                            \
      a[j] = MAKE4(A_AT(l), A_AT(l + 1), A_AT(l + 2), A_AT(l + 3)); \
    if (FOURS_B != 0)                                               \
      b[j] = l < end ? LD4(B, at_b + l) : F32X4(0.0f);              \
    else                                                            \
      b[j] = MAKE4(B_AT(l), B_AT(l + 1), B_AT(l + 2), B_AT(l + 3)); \
  }
  BRING(at)
  for (; at < end; at += 16) {
    UNROLL for (int j = 0; j < 4;
                j++){TILE_PUT(as, j * 4, a[j]) TILE_PUT(bs, j * 4, b[j])} BARRIER();
    BRING(at + 16)
    TILE_PRODUCT
    BARRIER();
  }
  UNROLL for (int e = 0; e < 64; e++) {
    TILE_AT(e)
    if (r < m && q < n) {
      float s = TILE_SUM(e);
      int place = (GROUP(2) * m + r) * n + q;
      if (PARTS == 1) {
        s *= alpha;
        if (HAS_C != 0) s += beta * LD1(C, r * c_row + q * c_col);
        EPILOGUE1(s, place)
      }
      ST1(Y, place, s);
    }
  }
}

KERNEL(gemm_sum, (IN(S), IN(C), OUT(Y), EPILOGUE),
       (CONST(HAS_C), CONST(PARTS), INT(size), INT(plane), INT(n), INT(c_row), INT(c_col),
        FLOAT(alpha), FLOAT(beta)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < size) {
    int z = i / plane, e = i % plane;
    float s = 0.0f;
    for (int p = 0; p < PARTS; p++) s += LD1(S, (z * PARTS + p) * plane + e);
    s *= alpha;
    if (HAS_C != 0) s += beta * LD1(C, e / n * c_row + e % n * c_col);
    EPILOGUE1(s, i)
    ST1(Y, i, s);
  }
}

/* 256 threads: so many columns, each in SHARES parts of K that are summed in the end. A thread takes
 * every SHARES-th row of B, of one column, or four (KIND 1: rows of B lie dense); KIND 2 and 3:
 * columns of B lie dense, as A's rows do, neighbours take neighbours along K, in fours or ones. */
KERNEL(gemm_few_rows, (IN(A), IN(B), IN(C), OUT(Y), EPILOGUE),
       (CONST(HAS_C), CONST(KIND), CONST(SHARES), INT(m), INT(n), INT(k), INT(a_row), INT(a_col),
        INT(b_row), INT(b_col), INT(c_row), INT(c_col), INTS(d, 2), INTS(sa, 3), INTS(sb, 3),
        FLOAT(alpha), FLOAT(beta)),
       256, 1, 1) {
  LOCAL(float, part, 1024);
  int t = LOCAL_ID(0), columns = 256 / SHARES, r = GROUP(1), z = GROUP(2);
  int share = KIND > 1 ? t % SHARES : t / columns, x = KIND > 1 ? t / SHARES : t % columns;
  int q = (GROUP(0) * columns + x) * (KIND == 1 ? 4 : 1);
  int at_a = BATCH(d0, d1, sa0, sa1, sa2, z) + r * a_row, at_b = BATCH(d0, d1, sb0, sb1, sb2, z);
  f32x4 sums = F32X4(0.0f);
  if (q < n) {
    if (KIND == 1) {
      for (int i = share; i < k; i += SHARES)
        sums += LD1(A, at_a + i * a_col) * LD4(B, at_b + i * b_row + q);
    } else if (KIND == 2) {
      for (int i = share * 4; i < k; i += SHARES * 4)
        sums += LD4(A, at_a + i) * LD4(B, at_b + q * b_col + i);
      sums.x = sums.x + sums.y + (sums.z + sums.w);
    } else {
      float sum = 0.0f;
      for (int i = share; i < k; i += SHARES)
        sum += LD1(A, at_a + i * a_col) * LD1(B, at_b + i * b_row + q * b_col);
      sums.x = sum;
    }
  }
  if (SHARES > 1) {
    int next = KIND > 1 ? 1 : columns;
    part[t] = sums.x;
    if (KIND == 1) {
      part[256 + t] = sums.y;
      part[512 + t] = sums.z;
      part[768 + t] = sums.w;
    }
    for (int h = SHARES / 2; h > 0; h /= 2) {
      BARRIER();
      if (share < h) {
        int other = t + h * next;
        part[t] += part[other];
        if (KIND == 1) {
          part[256 + t] += part[256 + other];
          part[512 + t] += part[512 + other];
          part[768 + t] += part[768 + other];
        }
      }
    }
    sums = MAKE4(part[t], part[256 + t], part[512 + t], part[768 + t]);
  }
  if (share == 0 && q < n) {
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

/* How gemm_few_rows reads B, and what a group of it does. */
typedef struct few_rows {
  int64_t kind, columns;
  int32_t shares;
} few_rows;

enum { ANY = 0, FOUR_COLUMNS = 1, ALONG_K = 2, ALONG_K_BY_ONES = 3, THREADS = 256 };

/* Neighbours along N read 64 bytes or more of a row; neighbours along K have a few steps each. */
static few_rows few_rows_of(const tn_call *call, const product *p, int64_t a_col, int64_t b_row,
                            int64_t b_col) {
  const bool is_along_k = b_row == 1 && a_col == 1 && p->k > 1;
  few_rows f = {.kind = is_along_k                    ? (p->k % 4 ? ALONG_K_BY_ONES : ALONG_K)
                        : b_col == 1 && p->n % 4 == 0 ? FOUR_COLUMNS
                                                      : ANY};
  const int64_t step = f.kind == FOUR_COLUMNS ? 4 : 1, most = f.kind == ANY ? 16 : 64;
  const int64_t groups = (int64_t)tn_gpu_groups(p->n, THREADS * step) * p->m * p->batch;
  f.shares = tn_gpu_shares(call, groups, tn_min_i64(most, p->k / 4));
  if (is_along_k && tn_gpu_is_wide(call)) f.shares = p->k >= 128 ? 32 : 8;
  f.columns = THREADS / f.shares * step;
  return f;
}

/* Tiles of one product, and the parts of K that they are made in. */
typedef struct tiles {
  int64_t columns, rows, share;
  int32_t parts;
} tiles;

static tiles tiles_of(const tn_call *call, const product *p) {
  enum { TILE = 64, SLICE = 16, LEAST = 64, MOST = 32 };
  tiles t = {tn_ceil_div(p->n, TILE), tn_ceil_div(p->m, TILE), 0, 1};
  const int64_t n = t.columns * t.rows * p->batch;
  const int64_t most = tn_min_i64(tn_min_i64(MOST, p->k / LEAST), UINT16_MAX / p->batch);
  t.parts = tn_gpu_shares(call, n, most);
  t.share = tn_ceil_div(tn_ceil_div(p->k, t.parts), SLICE) * SLICE;
  return t;
}

static tn_status plan(const tn_call *call, product_kind kind, tn_kernel_plan *out) {
  product p;
  uint64_t bytes;
  const tn_status status = product_of(call, kind, &p);
  if (status || p.m < FEW_ROWS || !p.batch) return status;
  const tiles t = tiles_of(call, &p);
  if (t.parts == 1) return TN_OK;
  if (tn_mul_u64((uint64_t)tn_elements(call->outputs[0]), (uint64_t)t.parts * sizeof(float),
                 &bytes) ||
      bytes / sizeof(float) > INT32_MAX)
    return TN_ERR_OVERFLOW;
  out->scratch_bytes = bytes;
  return TN_OK;
}

tn_status matmul_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, MATMUL, out);
}
tn_status gemm_gpu_plan(const tn_call *call, tn_kernel_plan *out) { return plan(call, GEMM, out); }

static bool has_c(const product *p) { return p->c && tn_elements(p->c) > 0; }

static tn_status record_sum(const tn_call *call, tn_recorder *r, const product *p, int32_t parts) {
  const int64_t size = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_gemm_sum);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  tn_gpu_in(&g, p->c ? 2 : -1);
  tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  tn_gpu_const(&g, has_c(p));
  tn_gpu_const(&g, parts);
  const int64_t words[] = {size, p->m * p->n, p->n, p->c_row, p->c_col};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  tn_gpu_float(&g, p->alpha);
  tn_gpu_float(&g, p->beta);
  return tn_gpu_run(&g, r, tn_gpu_groups(size, 64), 1, 1);
}

static tn_status record(const tn_call *call, tn_recorder *r, product_kind kind) {
  product p;
  tn_gpu g;
  tn_status status = product_of(call, kind, &p);
  if (status) return status;
  const int64_t a_row = p.trans_a ? 1 : p.k, a_col = p.trans_a ? p.m : 1;
  const int64_t b_row = p.trans_b ? 1 : p.n, b_col = p.trans_b ? p.k : 1;
  const bool is_flat = p.m < FEW_ROWS;
  const tiles t = is_flat || !p.batch ? (tiles){.parts = 1} : tiles_of(call, &p);
  tn_gpu_begin(&g, call, is_flat ? GPU_gemm_few_rows : GPU_gemm);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 1);
  tn_gpu_in(&g, p.c ? 2 : -1);
  if (t.parts > 1)
    tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  else
    tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  tn_gpu_const(&g, has_c(&p));
  if (is_flat) {
    const few_rows f = few_rows_of(call, &p, a_col, b_row, b_col);
    tn_gpu_const(&g, f.kind);
    tn_gpu_const(&g, f.shares);
    add_params(&g, &p, a_row, a_col, b_row, b_col);
    return tn_gpu_run(&g, r, tn_gpu_groups(p.n, f.columns), (uint32_t)p.m, (uint32_t)p.batch);
  }
  tn_gpu_const(&g, a_col == 1 && p.k % 4 == 0);
  tn_gpu_const(&g, b_row == 1 && p.k % 4 == 0);
  tn_gpu_const(&g, t.parts);
  add_params(&g, &p, a_row, a_col, b_row, b_col);
  tn_gpu_int(&g, t.share);
  status = tn_gpu_run(&g, r, (uint32_t)t.columns, (uint32_t)t.rows, (uint32_t)(p.batch * t.parts));
  return status || t.parts == 1 ? status : record_sum(call, r, &p, t.parts);
}

tn_status matmul_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, MATMUL);
}
tn_status gemm_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, GEMM);
}
#endif
