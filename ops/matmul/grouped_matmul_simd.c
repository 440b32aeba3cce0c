/* GroupedMatMul in f32 with vectors. Of a group of many rows, A and B become strips and panels for
 * the tiles of tenon/kit/gemm_simd.h, some columns at a time; of one of few rows, as an expert has
 * them when one token is decoded, B is read once, where it lies. */
#include "grouped_matmul.h"
#include "tenon/kit/gemm_simd.h"

enum {
  FEW_ROWS = 6,           /* fewer than these */
  ROWS = 16 * TN_TILE_MR, /* whose strips are packed at a time */
  STRIPS = ROWS * TN_TILE_KC,
  DEPTH = 8 /* rows of B that are read at a time */
};

/* Columns of an item: of few rows, their sums stay in L1. */
static int64_t columns_of(const tn_call *call, int64_t n) {
  enum { LEAST = 128, MOST = 2048 };
  const int64_t share = call->n_workers > 1 ? tn_ceil_div(n, 2 * (int64_t)call->n_workers) : n;
  return tn_min_i64(MOST, tn_ceil_div(tn_max_i64(1, share), LEAST) * LEAST);
}

tn_status TN_SIMD_NAME(grouped_matmul_plan)(const tn_call *call, tn_kernel_plan *out) {
  grouped p;
  const tn_status s = grouped_of(call, &p);
  if (s) return s;
  const double weights = (double)p.groups * (double)p.k * (double)p.n,
               flops = 2.0 * (double)p.rows * (double)p.k * (double)p.n;
  out->items[0] = grouped_items(&p, columns_of(call, p.n));
  out->cost_ns = 500 + flops / (TN_VF_LANES == 16 ? 100 : 60) + weights * sizeof(float) / 15;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)tn_max_i64(1, out->items[0]));
  out->worker_scratch_bytes = (STRIPS + TN_TILE_COLUMNS * TN_TILE_KC) * sizeof(float);
  return TN_OK;
}

/* y[0 .. n) (+)= sum over k < D of a[k] * b[k][0 .. n). D is a number, not a parameter. What lies
 * `ahead` elements behind is fetched. */
#define ADD_ROWS(D)                                                                               \
  static void add_rows_##D(const float *a, const float *b, int64_t ldb, int64_t ahead, int64_t n, \
                           bool first, float *y) {                                                \
    tn_vf x[D];                                                                                   \
    TN_UNROLL for (int k = 0; k < D; k++) x[k] = tn_vf_set1(a[k]);                                \
    for (int64_t j = 0; j < n; j += TN_VF_LANES) {                                                \
      const tn_vf_mask live = tn_vf_mask_first(tn_min_i64(TN_VF_LANES, n - j));                   \
      tn_vf sum = first ? tn_vf_set1(0) : tn_vf_load_mask(live, y + j);                           \
      TN_UNROLL for (int k = 0; k < D; k++) {                                                     \
        tn_prefetch_l2(b + k * ldb + j + ahead);                                                  \
        sum = tn_vf_fma(x[k], tn_vf_load_mask(live, b + k * ldb + j), sum);                       \
      }                                                                                           \
      tn_vf_store_mask(y + j, live, sum);                                                         \
    }                                                                                             \
  }
ADD_ROWS(1)
ADD_ROWS(8)
#undef ADD_ROWS

static void few_rows(const grouped *p, const float *a, const float *b, int64_t rows, int64_t n,
                     float *y) {
  for (int64_t k = 0, d; k < p->k; k += d, b += d * p->n) {
    d = p->k - k >= DEPTH ? DEPTH : 1;
    const int64_t ahead = p->k - k >= 2 * d ? d * p->n : 0;
    for (int64_t r = 0; r < rows; r++)
      (d == DEPTH ? add_rows_8 : add_rows_1)(a + r * p->k + k, b, p->n, ahead, n, k == 0,
                                             y + r * p->n);
  }
}

/* Up to ROWS rows. */
static void many_rows(const grouped *p, const float *a, const float *b, int64_t rows, int64_t n,
                      float *y, float *room) {
  const int64_t strips = tn_ceil_div(rows, TN_TILE_MR);
  tn_tiles t = {.a = room, .b = room + STRIPS, .ldc = p->n, .m = rows, .first = true, .even = true};
  for (int64_t k = 0; k < p->k; k += TN_TILE_KC, t.first = false) {
    t.k = tn_min_i64(TN_TILE_KC, p->k - k);
    t.a_strip = TN_TILE_MR * t.k;
    t.b_panel = TN_TILE_NR * t.k;
    for (int64_t s = 0; s < strips; s++) {
      const int64_t i = tn_strip_row(rows, s);
      tn_pack_rows(a + i * p->k + k, p->k, tn_strip_row(rows, s + 1) - i, t.k, TN_TILE_MR,
                   room + s * t.a_strip);
    }
    for (int64_t j = 0; j < n; j += TN_TILE_COLUMNS) {
      t.n = tn_min_i64(TN_TILE_COLUMNS, n - j);
      t.c = y + j;
      for (int64_t c = 0; c < t.n; c += TN_TILE_NR)
        tn_pack_columns(b + k * p->n + j + c, p->n, tn_min_i64(TN_TILE_NR, t.n - c), t.k,
                        TN_TILE_NR, room + STRIPS + c * t.k);
      tn_tiles_run(&t);
    }
  }
}

static void block(const grouped *p, int64_t group, int64_t begin, int64_t rows, int64_t j,
                  int64_t n, float *room) {
  const float *a = (const float *)p->a->data + begin * p->k,
              *b = (const float *)p->b->data + group * p->k * p->n + j;
  float *y = p->y + begin * p->n + j;
  if (p->k == 0)
    for (int64_t r = 0; r < rows; r++) memset(y + r * p->n, 0, (size_t)n * sizeof *y);
  else if (rows < FEW_ROWS)
    few_rows(p, a, b, rows, n, y);
  else
    for (int64_t i = 0; i < rows; i += ROWS)
      many_rows(p, a + i * p->k, b, tn_min_i64(ROWS, rows - i), n, y + i * p->n, room);
}

tn_status TN_SIMD_NAME(grouped_matmul)(const tn_call *call, uint32_t stage, int64_t first,
                                       int64_t last, uint32_t worker) {
  (void)stage;
  return grouped_run(call, columns_of(call, call->inputs[GROUPED_B]->shape[2]), block, first, last,
                     worker);
}
