/* Gemm and MatMul on GPUs: tiles of 64 x 64 results, whose operands go through local memory; for
 * few rows, a result or four of them a thread. Sums in f32. */
#ifdef TN_GPU
#include "tenon/experimental/gpu_tile.h"

#define BATCH(d0, d1, s0, s1, s2, z) \
  ((z) / ((d0) * (d1)) * (s2) + (z) / (d0) % (d1) * (s1) + (z) % (d0) * (s0))

/* Parts of K, `share` long. PARTED: with more than one, Y is scratch of f32, [matrix][part][m][n],
 * for gemm_sum. FOURS_A, FOURS_B: neighbours along K lie next to each other, in whole fours. */
KERNEL(gemm, (IN(A), IN(B), IN(C), OUT(Y), EPILOGUE),
       (CONST(HAS_C), CONST(FOURS_A), CONST(FOURS_B), CONST(PARTED), INT(m), INT(n), INT(k),
        INT(a_row), INT(a_col), INT(b_row), INT(b_col), INT(c_row), INT(c_col), INTS(d, 2),
        INTS(sa, 3), INTS(sb, 3), FLOAT(alpha), FLOAT(beta), INT(share)),
       64, 1, 1) {
  LOCAL(float, tile, 2048);
  TILE_THREAD
  int parts = (k + share - 1) / share, z = GROUP(2) / parts, part = GROUP(2) % parts;
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
  TILE_SUM(at, end)
  UNROLL for (int h = 0; h < 2; h++) {
    TILE_SPREAD(h)
    for (int e = t; e < 2048; e += 64) {
      int r = row + h * 32 + e / 64, q = col + e % 64;
      if (r < m && q < n) {
        float s = tile[e];
        int place = (GROUP(2) * m + r) * n + q;
        if (PARTED == 0) {
          s *= alpha;
          if (HAS_C != 0) s += beta * LD1(C, r * c_row + q * c_col);
          EPILOGUE1(s, place)
        }
        ST1(Y, place, s);
      }
    }
    BARRIER();
  }
}

KERNEL(gemm_sum, (IN(S), IN(C), OUT(Y), EPILOGUE),
       (CONST(HAS_C), INT(parts), INT(size), INT(plane), INT(n), INT(c_row), INT(c_col),
        FLOAT(alpha), FLOAT(beta)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < size) {
    int z = i / plane, e = i % plane;
    float s = 0.0f;
    for (int p = 0; p < parts; p++) s += LD1(S, (z * parts + p) * plane + e);
    s *= alpha;
    if (HAS_C != 0) s += beta * LD1(C, e / n * c_row + e % n * c_col);
    EPILOGUE1(s, i)
    ST1(Y, i, s);
  }
}

/* 256 threads: so many columns, each in SHARES parts of K that are summed in the end. A thread
 * takes every SHARES-th row of B, of one column, or four (KIND 1: rows of B lie dense); KIND 2 and
 * 3: columns of B lie dense, as A's rows do, neighbours take neighbours along K, in fours or ones.
 */
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
    if (KIND == 1 && SHARES > 1) { /* eight loads on their way at once */
      for (int i = share; i < k; i += 8 * SHARES) {
        f32x4 some[8];
        float a[8];
        UNROLL for (int j = 0; j < 8; j++) {
          int l = i + j * SHARES;
          some[j] = l < k ? LD4(B, at_b + l * b_row + q) : F32X4(0.0f);
          a[j] = l < k ? LD1(A, at_a + l * a_col) : 0.0f;
        }
        UNROLL for (int j = 0; j < 8; j++) sums += a[j] * some[j];
      }
    } else if (KIND == 1) {
      for (int i = 0; i < k; i++) sums += LD1(A, at_a + i * a_col) * LD4(B, at_b + i * b_row + q);
    } else if (KIND == 2) {
      int i = share * 4;
      for (; i + 12 * SHARES < k; i += 16 * SHARES) {
        f32x4 some[4];
        UNROLL for (int j = 0; j < 4; j++) some[j] = LD4(B, at_b + q * b_col + i + 4 * j * SHARES);
        UNROLL for (int j = 0; j < 4; j++) sums += LD4(A, at_a + i + 4 * j * SHARES) * some[j];
      }
      for (; i < k; i += SHARES * 4) sums += LD4(A, at_a + i) * LD4(B, at_b + q * b_col + i);
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
#include "product_gpu.h"

/* How gemm_few_rows reads B, and what a group of it does. */
typedef struct few_rows {
  int64_t kind, columns;
  int32_t shares;
} few_rows;

enum { ANY = 0, FOUR_COLUMNS = 1, ALONG_K = 2, ALONG_K_BY_ONES = 3, THREADS = 256 };

/* Neighbours along N read 32 bytes or more of a row; neighbours along K have a few steps each. */
static few_rows few_rows_of(const tn_call *call, const product *p, const product_steps *s) {
  const bool is_along_k = s->b_row == 1 && s->a_col == 1 && p->k > 1;
  few_rows f = {.kind = is_along_k                       ? (p->k % 4 ? ALONG_K_BY_ONES : ALONG_K)
                        : s->b_col == 1 && p->n % 4 == 0 ? FOUR_COLUMNS
                                                         : ANY};
  const int64_t step = f.kind == FOUR_COLUMNS ? 4 : 1;
  const int64_t most = f.kind == ANY            ? 16
                       : f.kind == FOUR_COLUMNS ? 4 * tn_dtype(call->inputs[1]->dtype)->bits
                                                : 64;
  const int64_t groups = (int64_t)tn_gpu_groups(p->n, THREADS * step) * p->m * p->batch;
  f.shares = tn_gpu_shares(call, groups, tn_min_i64(most, p->k / 4));
  if (is_along_k && tn_gpu_is_wide(call)) f.shares = p->k >= 128 ? 32 : 8;
  f.columns = THREADS / f.shares * step;
  return f;
}

/* ---- tiles ---- */

static tn_gpu_tiles tiles_of(const tn_call *call, const product *p) {
  enum { TILE = 64, SLICE = 16 };
  return tn_gpu_tiles_of(call, (int64_t[]){p->m, p->n, p->k}, p->batch, TILE, TILE, SLICE);
}

static const char *refuse(const tn_call *call, product_kind kind) {
  const char *reason = product_gpu_refuse(call, kind);
  product p;
  if (reason || product_of(call, kind, &p)) return reason;
  const product_steps s = product_steps_of(&p);
  if (p.m >= PRODUCT_FEW_ROWS) return tn_gpu_refuse_tiles(call, p.k);
  return tn_gpu_refuse_rounds(call, few_rows_of(call, &p, &s).kind == ALONG_K ? p.k / 4 : p.k);
}

const char *matmul_gpu_refuse(const tn_call *call) { return refuse(call, MATMUL); }
const char *gemm_gpu_refuse(const tn_call *call) { return refuse(call, GEMM); }

static tn_status plan(const tn_call *call, product_kind kind, tn_kernel_plan *out) {
  product p;
  const tn_status status = product_of(call, kind, &p);
  if (status || p.m < PRODUCT_FEW_ROWS) return status;
  const tn_gpu_tiles t = tiles_of(call, &p);
  return tn_gpu_tiles_scratch(call, &t, out);
}

tn_status matmul_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, MATMUL, out);
}
tn_status gemm_gpu_plan(const tn_call *call, tn_kernel_plan *out) { return plan(call, GEMM, out); }

static tn_status record_few_rows(const tn_call *call, tn_recorder *r, const product *p) {
  const product_steps s = product_steps_of(p);
  const few_rows f = few_rows_of(call, p, &s);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_gemm_few_rows);
  product_gpu_buffers(&g, p, 1);
  tn_gpu_const(&g, f.kind);
  tn_gpu_const(&g, f.shares);
  product_gpu_params(&g, p, &s);
  return tn_gpu_run(&g, r, tn_gpu_groups(p->n, f.columns), (uint32_t)p->m, (uint32_t)p->batch);
}

static tn_status record(const tn_call *call, tn_recorder *r, product_kind kind) {
  product p;
  tn_gpu g;
  tn_status status = product_of(call, kind, &p);
  if (status || p.m < PRODUCT_FEW_ROWS) return status ? status : record_few_rows(call, r, &p);
  const tn_gpu_tiles t = tiles_of(call, &p);
  const product_steps s = product_steps_of(&p);
  tn_gpu_begin(&g, call, GPU_gemm);
  product_gpu_buffers(&g, &p, t.parts);
  tn_gpu_const(&g, s.a_col == 1 && p.k % 4 == 0);
  tn_gpu_const(&g, s.b_row == 1 && p.k % 4 == 0);
  tn_gpu_const(&g, t.parts > 1);
  product_gpu_params(&g, &p, &s);
  tn_gpu_int(&g, t.share);
  status = tn_gpu_run(&g, r, (uint32_t)t.columns, (uint32_t)t.rows, (uint32_t)(p.batch * t.parts));
  return status || t.parts == 1 ? status : product_gpu_sum(call, r, &p, t.parts);
}

tn_status matmul_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, MATMUL);
}
tn_status gemm_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, GEMM);
}
#endif
