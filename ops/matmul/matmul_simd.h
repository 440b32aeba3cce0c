/* MatMul and Gemm in f32 for AVX-512 and AVX2: the whole of matmul_avx512.c and matmul_avx2.c.
 *
 * Three ways, by shape. Tiles: B in panels, packed once at prepare if it is constant, else in a
 * stage of its own; items are blocks of rows and columns, and pack their rows of A into worker
 * scratch. Stream, fewer than 4 rows: B is read once, where it lies, a block of columns per item.
 * Dots, few rows and a transposed B, or one column: rows lie in memory as the sums need them. */
#ifndef TN_OPS_MATMUL_SIMD_H
#define TN_OPS_MATMUL_SIMD_H

#include "base/epilogue.h"
#include "base/gemm_simd.h"
#include "product.h"

enum {
  FEW_ROWS = 4,
  ROWS = TN_TILE_MR * (TN_VF_LANES == 16 ? 8 : 16), /* of a block: packed, they fit in L2 */
  STREAM_COLUMNS = 16 * TN_VF_LANES,
  DOT_ROWS = 32
};

typedef enum way { TILES, STREAM, DOTS } way;

typedef struct layout { /* how one call is cut into work */
  product p;
  way way;
  int64_t b_matrices, panels; /* distinct matrices of B, panels of each */
  int64_t row_blocks, col_blocks, col_step;
} layout;

static way way_of(const product *p) {
  if (p->n == 1 && !p->trans_a) return DOTS;
  if (p->m >= FEW_ROWS) return TILES;
  if (!p->trans_b) return STREAM;
  return p->trans_a && p->m > 1 ? TILES : DOTS;
}

/* Columns are split only as far as the threads need it: every block packs A again. */
static void cut_tiles(const tn_call *call, layout *l) {
  const int64_t groups = tn_ceil_div(l->p.n, TN_TILE_COLUMNS),
                wanted = call->n_workers > 1 ? 4 * (int64_t)call->n_workers : 1;
  l->row_blocks = tn_ceil_div(l->p.m, ROWS);
  const int64_t per_column = tn_max_i64(1, l->p.batch * l->row_blocks);
  const int64_t blocks = tn_min_i64(groups, tn_ceil_div(wanted, per_column));
  l->col_step = tn_ceil_div(groups, tn_max_i64(1, blocks)) * TN_TILE_COLUMNS;
  l->col_blocks = l->col_step ? tn_ceil_div(l->p.n, l->col_step) : 0;
}

static tn_status layout_make(const tn_call *call, bool is_gemm, layout *out) {
  layout l = {0};
  product *p = &l.p;
  tn_status s = product_of(call, is_gemm, p);
  if (s) return s;
  if (p->b->rank <= 2 && p->batch != 1) { /* one B for all: the rows of all matrices are one A */
    p->m *= p->batch;
    p->batch = 1;
    p->rank = 0;
  }
  l.way = way_of(p);
  l.b_matrices = p->k > 0 && p->n > 0 ? tn_tensor_elements(p->b) / (p->k * p->n) : 0;
  l.panels = tn_ceil_div(p->n, TN_TILE_NR);
  if (l.way == TILES) {
    cut_tiles(call, &l);
  } else {
    const int64_t work = l.way == STREAM || p->n != 1 ? p->n : p->m;
    l.col_step = l.way == STREAM ? STREAM_COLUMNS : DOT_ROWS;
    l.row_blocks = 1;
    l.col_blocks = tn_ceil_div(work, l.col_step);
  }
  *out = l;
  return TN_OK;
}

static uint64_t panel_bytes(const layout *l) {
  return (uint64_t)(l->b_matrices * l->panels * TN_TILE_NR * l->p.k) * sizeof(float);
}

static double cost_ns(const layout *l) {
  const product *p = &l->p;
  const double flops = 2.0 * (double)p->batch * (double)p->m * (double)p->n * (double)p->k;
  const double bytes = 4.0 * (double)p->batch * (double)(p->k * p->n + p->m * (p->n + p->k));
  return flops / (TN_VF_LANES == 16 ? 100 : 60) + bytes / 15 + 300;
}

static tn_status plan(const tn_call *call, bool is_gemm, tn_kernel_plan *out) {
  layout l;
  tn_status s = layout_make(call, is_gemm, &l);
  if (s) return s;
  const product *p = &l.p;
  uint32_t last = 0;
  if (l.way == TILES) {
    out->worker_scratch_bytes = (uint64_t)ROWS * TN_TILE_KC * sizeof(float);
    if (call->inputs[1]->data) {
      out->state_bytes = panel_bytes(&l);
    } else if (panel_bytes(&l) > 0) {
      out->scratch_bytes = panel_bytes(&l);
      out->items[0] = l.b_matrices * l.panels;
      out->grain[0] = tn_grain(20000, (double)p->k * TN_TILE_NR);
      last = 1;
    }
  }
  out->n_stages = last + 1;
  out->items[last] = p->batch * l.row_blocks * l.col_blocks;
  const double item_ns = cost_ns(&l) / (double)tn_max_i64(1, out->items[last]);
  out->grain[last] = 1 + (int64_t)(5000 / item_ns);
  out->cost_ns = cost_ns(&l);
  return TN_OK;
}

/* Panel `index`, counted over all matrices of B, to its place. */
static void pack_panel(const layout *l, int64_t index, float *panels) {
  const product *p = &l->p;
  const int64_t j = index % l->panels * TN_TILE_NR, n = tn_min_i64(TN_TILE_NR, p->n - j);
  const float *b = (const float *)p->b->data + index / l->panels * p->k * p->n;
  float *to = panels + index * TN_TILE_NR * p->k;
  if (p->trans_b)
    tn_pack_rows(b + j * p->k, p->k, n, p->k, TN_TILE_NR, to);
  else
    tn_pack_columns(b + j, p->n, n, p->k, TN_TILE_NR, to);
}

static tn_status prepare(const tn_call *call, bool is_gemm) {
  layout l;
  tn_status s = layout_make(call, is_gemm, &l);
  for (int64_t k = 0; !s && k < l.b_matrices * l.panels; k++) pack_panel(&l, k, call->state);
  return s;
}

/* y = alpha*y + beta*c for elements of one row, then the fused steps. */
static void finish_row(const tn_call *call, const product *p, int64_t row, int64_t j, int64_t n) {
  float *y = (float *)call->outputs[0]->data + row * p->n + j;
  const float alpha = (float)p->alpha, beta = (float)p->beta;
  if (alpha != 1)
    for (int64_t c = 0; c < n; c++) y[c] *= alpha;
  if (p->c) {
    const float *c = (const float *)p->c->data + row * p->c_row + j * p->c_col;
    for (int64_t k = 0; k < n; k++) y[k] += beta * c[k * p->c_col];
  }
  if (call->n_epilogue) tn_epilogue_f32(call, y, n, row * p->n + j, j, 1);
}

static void finish(const tn_call *call, const product *p, int64_t row, int64_t n_rows, int64_t j,
                   int64_t n) {
  if (p->alpha == 1 && !p->c && !call->n_epilogue) return;
  for (int64_t r = row; r < row + n_rows; r++) finish_row(call, p, r, j, n);
}

/* ---- tiles ---- */

/* Rows [i, i + m) of A, elements [k0, k0 + kc), in strips. */
static void pack_strips(const product *p, const float *a, int64_t i, int64_t m, int64_t k0,
                        int64_t kc, float *to) {
  for (int64_t r = 0; r < m; r += TN_TILE_MR, to += TN_TILE_MR * kc) {
    const int64_t n = tn_min_i64(TN_TILE_MR, m - r);
    if (p->trans_a)
      tn_pack_columns(a + k0 * p->m + i + r, p->m, n, kc, TN_TILE_MR, to);
    else
      tn_pack_rows(a + (i + r) * p->k + k0, p->k, n, kc, TN_TILE_MR, to);
  }
}

static void tiles_item(const tn_call *call, const layout *l, int64_t item, const float *panels,
                       float *strips) {
  const product *p = &l->p;
  const int64_t j0 = item % l->col_blocks * l->col_step, j1 = tn_min_i64(p->n, j0 + l->col_step);
  const int64_t i = item / l->col_blocks % l->row_blocks * ROWS, m = tn_min_i64(ROWS, p->m - i);
  const int64_t matrix = item / l->col_blocks / l->row_blocks;
  const float *a = (const float *)p->a->data + product_matrix(p, p->a_stride, matrix) * p->m * p->k;
  const float *b = panels + product_matrix(p, p->b_stride, matrix) * l->panels * TN_TILE_NR * p->k;
  const int64_t n_blocks = tn_max_i64(1, tn_ceil_div(p->k, TN_TILE_KC)),
                step = tn_max_i64(1, tn_ceil_div(p->k, n_blocks)), row = matrix * p->m + i;
  float *y = (float *)call->outputs[0]->data + row * p->n;
  tn_tiles t = {.a = strips, .ldc = p->n, .m = m, .b_panel = TN_TILE_NR * p->k, .first = true};
  for (int64_t k0 = 0; k0 == 0 || k0 < p->k; k0 += step, t.first = false) {
    t.k = tn_min_i64(step, p->k - k0);
    t.a_strip = TN_TILE_MR * t.k;
    pack_strips(p, a, i, m, k0, t.k, strips);
    for (int64_t j = j0; j < j1; j += TN_TILE_COLUMNS) {
      t.n = tn_min_i64(TN_TILE_COLUMNS, j1 - j);
      t.b = b + j * p->k + k0 * TN_TILE_NR;
      t.c = y + j;
      tn_tiles_run(&t);
      if (k0 + step >= p->k) finish(call, p, row, m, j, t.n);
    }
  }
}

/* ---- stream ---- */

/* How many of n elements fall into one vector. */
static int64_t lanes_of(int64_t n) { return n < 0 ? 0 : n < TN_VF_LANES ? n : TN_VF_LANES; }

/* VECTORS vectors of columns of ROWS_ rows of Y; n counts the columns that exist. a: element (i, k)
 * at i*a_row + k*a_step. */
#define STREAM_BLOCK(ROWS_, VECTORS)                                                            \
  static void stream_##ROWS_(const product *p, const float *a, int64_t a_row, int64_t a_step,   \
                             const float *b, float *y, int64_t n) {                             \
    tn_vf acc[ROWS_][VECTORS];                                                                  \
    tn_vf_mask mask[VECTORS];                                                                   \
    TN_UNROLL for (int v = 0; v < VECTORS; v++) {                                               \
      mask[v] = tn_vf_mask_first(lanes_of(n - v * TN_VF_LANES));                                \
      TN_UNROLL for (int r = 0; r < ROWS_; r++) acc[r][v] = tn_vf_set1(0);                      \
    }                                                                                           \
    if (n >= VECTORS * TN_VF_LANES) {                                                           \
      for (int64_t k = 0; k < p->k; k++, b += p->n) {                                           \
        tn_vf x[ROWS_];                                                                         \
        TN_UNROLL for (int r = 0; r < ROWS_; r++) x[r] = tn_vf_set1(a[r * a_row + k * a_step]); \
        TN_UNROLL for (int v = 0; v < VECTORS; v++) {                                           \
          const tn_vf c = tn_vf_load(b + v * TN_VF_LANES);                                      \
          TN_UNROLL for (int r = 0; r < ROWS_; r++) acc[r][v] = tn_vf_fma(x[r], c, acc[r][v]);  \
        }                                                                                       \
      }                                                                                         \
    } else {                                                                                    \
      for (int64_t k = 0; k < p->k; k++, b += p->n) {                                           \
        TN_UNROLL for (int v = 0; v < VECTORS; v++) {                                           \
          const tn_vf c = tn_vf_load_mask(mask[v], b + v * TN_VF_LANES);                        \
          TN_UNROLL for (int r = 0; r < ROWS_; r++) acc[r][v] =                                 \
              tn_vf_fma(tn_vf_set1(a[r * a_row + k * a_step]), c, acc[r][v]);                   \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
    TN_UNROLL for (int v = 0; v < VECTORS; v++) TN_UNROLL for (int r = 0; r < ROWS_; r++)       \
        tn_vf_store_mask(y + r * p->n + v * TN_VF_LANES, mask[v], acc[r][v]);                   \
  }

enum { STREAM_1 = TN_VF_LANES == 16 ? 16 : 8, STREAM_2 = TN_VF_LANES == 16 ? 8 : 4 };
STREAM_BLOCK(1, STREAM_1)
STREAM_BLOCK(2, STREAM_2)
STREAM_BLOCK(3, STREAM_2)

static void stream_item(const tn_call *call, const layout *l, int64_t item) {
  const product *p = &l->p;
  const int64_t matrix = item / l->col_blocks, j0 = item % l->col_blocks * l->col_step,
                j1 = tn_min_i64(p->n, j0 + l->col_step);
  const float *a = (const float *)p->a->data + product_matrix(p, p->a_stride, matrix) * p->m * p->k;
  const float *b = (const float *)p->b->data + product_matrix(p, p->b_stride, matrix) * p->k * p->n;
  const int64_t a_row = p->trans_a ? 1 : p->k, a_step = p->trans_a ? p->m : 1;
  const int64_t width = (p->m == 1 ? STREAM_1 : STREAM_2) * TN_VF_LANES;
  float *y = (float *)call->outputs[0]->data + matrix * p->m * p->n;
  for (int64_t j = j0; j < j1; j += width) {
    if (p->m == 1)
      stream_1(p, a, a_row, a_step, b + j, y + j, j1 - j);
    else if (p->m == 2)
      stream_2(p, a, a_row, a_step, b + j, y + j, j1 - j);
    else if (p->m == 3)
      stream_3(p, a, a_row, a_step, b + j, y + j, j1 - j);
  }
  finish(call, p, matrix * p->m, p->m, j0, j1 - j0);
}

/* ---- dots ---- */

/* y[r] = rows[r] . v for four rows at once, so that four streams of memory are read. */
static void dot_4(const float *rows, const float *v, int64_t n, float *y) {
  tn_vf acc[4][2];
  TN_UNROLL for (int r = 0; r < 4; r++) acc[r][0] = acc[r][1] = tn_vf_set1(0);
  int64_t k = 0;
  for (; k + 2 * TN_VF_LANES <= n; k += 2 * TN_VF_LANES) {
    const tn_vf v0 = tn_vf_load(v + k), v1 = tn_vf_load(v + k + TN_VF_LANES);
    TN_UNROLL for (int r = 0; r < 4; r++) {
      acc[r][0] = tn_vf_fma(v0, tn_vf_load(rows + r * n + k), acc[r][0]);
      acc[r][1] = tn_vf_fma(v1, tn_vf_load(rows + r * n + k + TN_VF_LANES), acc[r][1]);
    }
  }
  for (; k < n; k += TN_VF_LANES) {
    const tn_vf_mask m = tn_vf_mask_first(lanes_of(n - k));
    const tn_vf v0 = tn_vf_load_mask(m, v + k);
    TN_UNROLL for (int r = 0; r < 4; r++) acc[r][0] =
        tn_vf_fma(v0, tn_vf_load_mask(m, rows + r * n + k), acc[r][0]);
  }
  TN_UNROLL for (int r = 0; r < 4; r++) y[r] = tn_vf_sum(tn_vf_add(acc[r][0], acc[r][1]));
}

static float dot_1(const float *row, const float *v, int64_t n) {
  tn_vf acc = tn_vf_set1(0);
  for (int64_t k = 0; k < n; k += TN_VF_LANES) {
    const tn_vf_mask m = tn_vf_mask_first(lanes_of(n - k));
    acc = tn_vf_fma(tn_vf_load_mask(m, v + k), tn_vf_load_mask(m, row + k), acc);
  }
  return tn_vf_sum(acc);
}

static void dots_item(const tn_call *call, const layout *l, int64_t item) {
  const product *p = &l->p;
  const bool column = p->n == 1; /* then the rows are A's, and B is the only vector */
  const int64_t matrix = item / l->col_blocks, r0 = item % l->col_blocks * l->col_step,
                r1 = tn_min_i64(column ? p->m : p->n, r0 + l->col_step);
  const float *a = (const float *)p->a->data + product_matrix(p, p->a_stride, matrix) * p->m * p->k;
  const float *b = (const float *)p->b->data + product_matrix(p, p->b_stride, matrix) * p->k * p->n;
  const float *rows = column ? a : b, *vectors = column ? b : a;
  float *y = (float *)call->outputs[0]->data + matrix * p->m * p->n;
  const int64_t n_vectors = column ? 1 : p->m;
  int64_t r = r0;
  for (; r + 4 <= r1; r += 4)
    for (int64_t v = 0; v < n_vectors; v++)
      dot_4(rows + r * p->k, vectors + v * p->k, p->k, y + v * p->n + r);
  for (; r < r1; r++)
    for (int64_t v = 0; v < n_vectors; v++)
      y[v * p->n + r] = dot_1(rows + r * p->k, vectors + v * p->k, p->k);
  if (column)
    finish(call, p, matrix * p->m + r0, r1 - r0, 0, 1);
  else
    finish(call, p, matrix * p->m, p->m, r0, r1 - r0);
}

/* ---- the kernels ---- */

static tn_status run(const tn_call *call, bool is_gemm, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  layout l;
  tn_status s = layout_make(call, is_gemm, &l);
  if (s) return s;
  float *strips =
      call->worker_scratch
          ? (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes)
          : NULL;
  const bool packs = l.way == TILES && stage == 0 && !call->state && panel_bytes(&l) > 0;
  for (int64_t item = begin; item < end; item++) {
    if (packs)
      pack_panel(&l, item, call->scratch);
    else if (l.way == STREAM)
      stream_item(call, &l, item);
    else if (l.way == DOTS)
      dots_item(call, &l, item);
    else
      tiles_item(call, &l, item, call->state ? call->state : call->scratch, strips);
  }
  return TN_OK;
}

/* name_<isa>, name_plan_<isa> and name_prepare_<isa>. */
#define MATMUL_KERNEL(name, is_gemm)                                                             \
  tn_status TN_SIMD_NAME(name##_plan)(const tn_call *call, tn_kernel_plan *out) {                \
    return plan(call, is_gemm, out);                                                             \
  }                                                                                              \
  tn_status TN_SIMD_NAME(name##_prepare)(const tn_call *call) { return prepare(call, is_gemm); } \
  tn_status TN_SIMD_NAME(name)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,  \
                               uint32_t worker) {                                                \
    return run(call, is_gemm, stage, begin, end, worker);                                        \
  }
MATMUL_KERNEL(matmul_f32, false)
MATMUL_KERNEL(gemm_f32, true)

#endif
