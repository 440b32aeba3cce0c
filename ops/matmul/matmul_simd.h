/* MatMul and Gemm in f32, and HalfMatMul, for AVX-512, AVX2 and NEON: the whole of matmul_avx512.c,
 * matmul_f16_avx512.c (after MATMUL_F16 is defined) and so on.
 *
 * Four algorithms, by shape. Tiles: B in panels, packed once at prepare if it is constant, else in
 * the first stage; items are blocks of rows and columns. Rows of A that one item meets are packed
 * by it, those that several meet in the first stage, too. Stream, one row, or fewer than 4 where B
 * would have to be packed in each run: B is read once, where it lies, a block of columns per item.
 * Dots, few rows and a transposed B, or one column: rows lie in memory as the sums need them.
 * Panels, few rows and a transposed constant B that stays in a cache: packed once as for tiles.
 *
 * Half weights stay what they are in memory. They become f32 as they are loaded, where they are
 * read once or twice; of more rows, each item does that once to the columns that it works on. The
 * sums are the same. */
#ifndef TN_OPS_MATMUL_SIMD_H
#define TN_OPS_MATMUL_SIMD_H

#include "product.h"
#include "tenon/kit/elementwise.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/gemm_simd.h"

/* weight: an element of B. */
#if defined(MATMUL_F16)
typedef uint16_t weight;
#define WEIGHT_LOAD tn_vf_load_f16
#define WEIGHT_LOAD_FIRST tn_vf_load_f16_first
#define WEIGHT_WIDEN tn_widen_f16
#elif defined(MATMUL_BF16)
typedef uint16_t weight;
#define WEIGHT_LOAD tn_vf_load_bf16
#define WEIGHT_LOAD_FIRST tn_vf_load_bf16_first
#define WEIGHT_WIDEN tn_widen_bf16
#else
typedef float weight;
#define WEIGHT_LOAD tn_vf_load
#define WEIGHT_LOAD_FIRST(p, n) tn_vf_load_mask(tn_vf_mask_first(n), p)
#endif

enum {
  FEW_ROWS = 4,
  /* Elements of a constant B that stays in L2 from run to run: it comes from there twice as fast in
   * panels as in rows of any alignment. Larger ones wait for memory either way. */
  CACHED = 1 << 18,
  /* At most, of a block. Strips of A may lie beyond L2: one is read per TN_TILE_PANELS panels. */
  ROWS = TN_TILE_MR * (TN_VF_LANES == 16 ? 16 : 40),
  STREAM_COLUMNS = 2048, /* at most, of a block: sums of a row stay in L1 */
  STREAM_LEAST = 128,
  DOT_ROWS = 32,
  IS_HALF = sizeof(weight) == 2,
  AS_IS_ROWS = 2 * TN_TILE_MR /* at most; for more, columns become f32 before they are met */
};

typedef enum algorithm { TILES, STREAM, DOTS, PANELS } algorithm;

typedef struct layout { /* how one call is cut into work */
  product p;
  algorithm algorithm;
  int64_t b_matrices, panels; /* distinct matrices of B, panels of each */
  int64_t row_blocks, row_step, col_blocks, col_step;
  bool shares_a;        /* A is packed in the first stage */
  int64_t a_matrices;   /* distinct matrices of A */
  int64_t block_strips; /* of a block of rows; the last may have fewer */
} layout;

static algorithm algorithm_of(const product *p, bool b_constant) {
  if (p->n == 1 && !p->trans_a && !IS_HALF) return DOTS;
  if (p->m >= FEW_ROWS) return TILES;
  if (b_constant && !IS_HALF && p->trans_b && !p->trans_a && p->b->rank <= 2 && p->k > 0 &&
      p->n > 0 && p->n <= CACHED / p->k)
    return PANELS;
  if (p->m > 1 && !p->trans_b && b_constant && p->k > 0 && p->n > 0) return TILES;
  if (!p->trans_b) return STREAM;
  return p->trans_a && p->m > 1 ? TILES : DOTS;
}

/* Panels per item, so that the threads end at about the same time: of the sizes that make about
 * four items a thread, that with the shortest way to the end; of equal ones, what strips meet at
 * once. */
static int64_t panels_per_item(int64_t panels, int64_t per_panel, int64_t n_workers) {
  enum { TRIED = 8 };
  const double wanted = (double)panels * (double)per_panel / (4 * (double)n_workers);
  const int64_t least = wanted < 2 ? 2 : wanted < (double)panels ? (int64_t)wanted : panels;
  int64_t best = least, shortest = INT64_MAX;
  for (int64_t s = least; s < least + TRIED; s++) {
    const int64_t length = tn_ceil_div(per_panel * tn_ceil_div(panels, s), n_workers) * s;
    if (length < shortest || (length == shortest && s % TN_TILE_PANELS == 0))
      best = s, shortest = length;
  }
  return best;
}

/* On several threads rows are cut first, where there are enough: the rows that a thread wrote are
 * those that it will read. */
static void cut_tiles(const tn_call *call, layout *l) {
  enum { STRIPS = 4 }; /* per thread, for that */
  const int64_t n_threads = tn_max_i64(1, call->n_workers),
                strips = tn_ceil_div(l->p.m, TN_TILE_MR);
  int64_t blocks = tn_ceil_div(l->p.m, ROWS);
  if (l->p.batch == 1 && strips >= STRIPS * n_threads)
    blocks = tn_ceil_div(blocks, n_threads) * n_threads;
  l->row_step = blocks ? tn_ceil_div(l->p.m, blocks) : 0;
  l->row_blocks = l->row_step ? tn_ceil_div(l->p.m, l->row_step) : 0;
  l->block_strips = tn_ceil_div(l->row_step, TN_TILE_MR);
  const int64_t per_panel = tn_max_i64(1, l->p.batch * l->row_blocks);
  l->col_step = l->panels * TN_TILE_NR;
  if (n_threads > 1) l->col_step = panels_per_item(l->panels, per_panel, n_threads) * TN_TILE_NR;
  l->col_blocks = l->col_step ? tn_ceil_div(l->p.n, l->col_step) : 0;
  l->shares_a = l->col_blocks > 1 && l->p.k > 0;
}

/* Whole blocks, or as many as keep the threads busy. */
static void cut_stream(const tn_call *call, layout *l) {
  const int64_t wanted = call->n_workers > 1 ? 4 * (int64_t)call->n_workers : 1,
                share = tn_ceil_div(tn_ceil_div(l->p.n, wanted), STREAM_LEAST) * STREAM_LEAST;
  l->row_blocks = l->p.m > 0;
  l->col_step = l->algorithm == DOTS ? DOT_ROWS : tn_max_i64(1, tn_min_i64(share, STREAM_COLUMNS));
  if (l->algorithm == PANELS) l->col_step = tn_ceil_div(l->col_step, TN_TILE_NR) * TN_TILE_NR;
  l->col_blocks = tn_ceil_div(l->algorithm == DOTS && l->p.n == 1 ? l->p.m : l->p.n, l->col_step);
}

/* b_constant: there is a state for its panels, or can be. */
static tn_status layout_make(const tn_call *call, product_kind kind, bool b_constant, layout *out) {
  layout l = {0};
  product *p = &l.p;
  tn_status s = product_of(call, kind, p);
  if (s) return s;
  if (p->b->rank <= 2 && p->batch != 1) { /* one B for all: the rows of all matrices are one A */
    p->m *= p->batch;
    p->batch = 1;
    p->rank = 0;
  }
  l.algorithm = algorithm_of(p, b_constant);
  l.b_matrices = p->k > 0 && p->n > 0 ? tn_elements(p->b) / (p->k * p->n) : 0;
  l.a_matrices = p->k > 0 && p->m > 0 ? tn_elements(p->a) / (p->k * p->m) : 0;
  l.panels = tn_ceil_div(p->n, TN_TILE_NR);
  if (l.algorithm == TILES)
    cut_tiles(call, &l);
  else
    cut_stream(call, &l);
  *out = l;
  return TN_OK;
}

/* Strips of a matrix of A, those that the last block lacks counted in. */
static int64_t strips_of(const layout *l) { return l->row_blocks * l->block_strips; }

/* Each item makes f32 of the columns that it works on. */
static bool widens(const layout *l) {
  return IS_HALF && l->algorithm == TILES && l->p.m > AS_IS_ROWS;
}

static uint64_t panel_bytes(const layout *l) {
  return (uint64_t)(l->b_matrices * l->panels * TN_TILE_NR * l->p.k) * sizeof(weight);
}

/* Of a worker: strips of A, unless they are shared, then columns of B in f32. */
static int64_t strip_room(const layout *l) { return l->shares_a ? 0 : ROWS * TN_TILE_KC; }
static int64_t room_of(const layout *l) {
  return strip_room(l) + (widens(l) ? TN_TILE_COLUMNS * TN_TILE_KC : 0);
}

static uint64_t strip_bytes(const layout *l) {
  return l->shares_a
             ? (uint64_t)(l->a_matrices * strips_of(l) * TN_TILE_MR * l->p.k) * sizeof(float)
             : 0;
}

/* Items of the first stage: panels to be packed unless B is constant, then strips. */
static int64_t packed_panels(const layout *l, bool b_constant) {
  return l->algorithm == TILES && !b_constant ? l->b_matrices * l->panels : 0;
}
static int64_t packed_strips(const layout *l) {
  return l->shares_a ? l->a_matrices * strips_of(l) : 0;
}

static double cost_ns(const layout *l) {
  const product *p = &l->p;
  const double flops = 2.0 * (double)p->batch * (double)p->m * (double)p->n * (double)p->k;
  const double bytes = (double)p->batch * ((double)sizeof(weight) * (double)(p->k * p->n) +
                                           4.0 * (double)(p->m * (p->n + p->k)));
  return flops / (TN_VF_LANES == 16 ? 100 : 60) + bytes / 15 + 300;
}

static tn_status plan(const tn_call *call, product_kind kind, tn_kernel_plan *out) {
  layout l;
  tn_status s = layout_make(call, kind, call->inputs[1]->data != NULL, &l);
  if (s) return s;
  const product *p = &l.p;
  uint32_t last = 0;
  if (l.algorithm == TILES) {
    const int64_t panels = packed_panels(&l, call->inputs[1]->data != NULL),
                  strips = packed_strips(&l);
    out->worker_scratch_bytes = (uint64_t)room_of(&l) * sizeof(float);
    if (call->inputs[1]->data) out->state_bytes = panel_bytes(&l);
    out->scratch_bytes = (panels ? panel_bytes(&l) : 0) + strip_bytes(&l);
    out->items[0] = panels + strips;
    out->grain[0] = tn_grain(20000, (double)p->k * TN_TILE_MR);
    last = panels + strips > 0;
  }
  if (l.algorithm == PANELS) out->state_bytes = panel_bytes(&l);
  out->n_stages = last + 1;
  out->items[last] = p->batch * l.row_blocks * l.col_blocks;
  const double item_ns = cost_ns(&l) / (double)tn_max_i64(1, out->items[last]);
  out->grain[last] = tn_grain(TN_THREAD_NS, item_ns);
  out->cost_ns = cost_ns(&l);
  return TN_OK;
}

#if defined(WEIGHT_WIDEN)

/* Panel `index` to its place: columns of B, 0 for those behind the last. */
static void pack_panel(const layout *l, int64_t index, void *panels) {
  const product *p = &l->p;
  const int64_t j = index * TN_TILE_NR, n = tn_min_i64(TN_TILE_NR, p->n - j);
  const weight *b = (const weight *)p->b->data + j * (p->trans_b ? p->k : 1);
  weight *to = (weight *)panels + j * p->k;
  for (int64_t k = 0; k < p->k; k++, to += TN_TILE_NR) {
    for (int64_t c = 0; c < n && p->trans_b; c++) to[c] = b[c * p->k + k];
    if (!p->trans_b) memcpy(to, b + k * p->n, (size_t)n * sizeof *to);
    memset(to + n, 0, (size_t)(TN_TILE_NR - n) * sizeof *to);
  }
}

#else

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

#endif

static tn_status prepare(const tn_call *call, product_kind kind) {
  layout l;
  tn_status s = layout_make(call, kind, true, &l);
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

/* Rows [i, i + m) of A, at most MR, elements [k0, k0 + kc). */
static void pack_strip(const product *p, const float *a, int64_t i, int64_t m, int64_t k0,
                       int64_t kc, float *to) {
  if (p->trans_a)
    tn_pack_columns(a + k0 * p->m + i, p->m, m, kc, TN_TILE_MR, to);
  else
    tn_pack_rows(a + i * p->k + k0, p->k, m, kc, TN_TILE_MR, to);
}

/* Strip s of the block of m rows that begins at row i. */
static void pack_block_strip(const product *p, const float *a, int64_t i, int64_t m, int64_t s,
                             int64_t k0, int64_t kc, float *to) {
  const int64_t begin = tn_strip_row(m, s);
  pack_strip(p, a, i + begin, tn_strip_row(m, s + 1) - begin, k0, kc, to);
}

/* Depth of the blocks that K is cut into: equal, but for the last. */
static int64_t depth_step(const product *p) {
  const int64_t n_blocks = tn_max_i64(1, tn_ceil_div(p->k, TN_TILE_KC));
  return tn_max_i64(1, tn_ceil_div(p->k, n_blocks));
}

/* Where strip `strip`, counted over all blocks of rows, begins, elements [k0, k0 + kc):
 * [matrix][block of k][strip][k][MR]. */
static float *shared_strip(const layout *l, float *to, int64_t matrix, int64_t strip, int64_t k0,
                           int64_t kc) {
  return to + ((matrix * l->p.k + k0) * strips_of(l) + strip * kc) * TN_TILE_MR;
}

static void share_strip(const layout *l, int64_t item, float *to) {
  const product *p = &l->p;
  const int64_t matrix = item / strips_of(l), strip = item % strips_of(l), step = depth_step(p),
                i = strip / l->block_strips * l->row_step, m = tn_min_i64(l->row_step, p->m - i);
  const float *a = (const float *)p->a->data + matrix * p->m * p->k;
  if (strip % l->block_strips >= tn_ceil_div(m, TN_TILE_MR)) return;
  for (int64_t k0 = 0; k0 < p->k; k0 += step) {
    const int64_t kc = tn_min_i64(step, p->k - k0);
    pack_block_strip(p, a, i, m, strip % l->block_strips, k0, kc,
                     shared_strip(l, to, matrix, strip, k0, kc));
  }
}

#if defined(WEIGHT_WIDEN)

TN_TILES(half_tile_, weight, WEIGHT_LOAD)

static const tn_tile_fn half_tile_of_rows[TN_TILE_MR + 1] = TN_TILE_NAMES(half_tile_);

/* The tiles of t, whose panels are as they stand in memory; room: of the worker's, for columns. */
static void tiles_run(const layout *l, tn_tiles *t, float *room) {
  if (!widens(l)) {
    tn_tiles_run_with(t, half_tile_of_rows, sizeof(weight));
    return;
  }
  const weight *from = t->b;
  const int64_t size = TN_TILE_NR * t->k, stride = t->b_panel;
  for (int64_t j = 0; j < t->n; j += TN_TILE_NR, from += stride)
    WEIGHT_WIDEN(from, room + j / TN_TILE_NR * size, size);
  t->b = room;
  t->b_panel = size;
  t->next = NULL;
  tn_tiles_run(t);
  t->b_panel = stride;
}

#else

static void tiles_run(const layout *l, tn_tiles *t, float *room) {
  (void)l, (void)room;
  tn_tiles_run(t);
}

#endif

/* panels, strips: where those begin that the first stage packed; strips are not looked at if it
 * did not. room: of the worker's. */
static void tiles_item(const tn_call *call, const layout *l, int64_t item, const weight *panels,
                       float *strips, float *room) {
  const product *p = &l->p;
  const int64_t j0 = item % l->col_blocks * l->col_step, j1 = tn_min_i64(p->n, j0 + l->col_step);
  const int64_t i = item / l->col_blocks % l->row_blocks * l->row_step,
                m = tn_min_i64(l->row_step, p->m - i);
  const int64_t matrix = item / l->col_blocks / l->row_blocks,
                a_matrix = product_matrix(p, p->a_stride, matrix);
  const float *a = (const float *)p->a->data + a_matrix * p->m * p->k;
  const int64_t b = product_matrix(p, p->b_stride, matrix) * l->panels * TN_TILE_NR * p->k;
  const int64_t step = depth_step(p), row = matrix * p->m + i;
  float *y = (float *)call->outputs[0]->data + row * p->n;
  tn_tiles t = {
      .a = room, .ldc = p->n, .m = m, .b_panel = TN_TILE_NR * p->k, .first = true, .even = true};
  for (int64_t k0 = 0; k0 == 0 || k0 < p->k; k0 += step, t.first = false) {
    t.k = tn_min_i64(step, p->k - k0);
    t.a_strip = TN_TILE_MR * t.k;
    if (l->shares_a)
      t.a = shared_strip(l, strips, a_matrix, i / l->row_step * l->block_strips, k0, t.k);
    else
      for (int64_t s = 0; s * TN_TILE_MR < m; s++)
        pack_block_strip(p, a, i, m, s, k0, t.k, room + s * t.a_strip);
    for (int64_t j = j0; j < j1; j += TN_TILE_COLUMNS) {
      t.n = tn_min_i64(TN_TILE_COLUMNS, j1 - j);
      t.c = y + j;
      const int64_t at = b + j * p->k + k0 * TN_TILE_NR,
                    next = j + TN_TILE_COLUMNS < j1 ? at + TN_TILE_COLUMNS * p->k
                           : k0 + step < p->k       ? b + j0 * p->k + (k0 + step) * TN_TILE_NR
                                                    : -1;
      t.b = panels + at;
      t.next = next < 0 ? NULL : panels + next;
      tiles_run(l, &t, room + strip_room(l));
      if (k0 + step >= p->k) finish(call, p, row, m, j, t.n);
    }
  }
}

/* ---- stream ---- */

/* How many of n elements fall into one vector. */
static int64_t lanes_of(int64_t n) { return n < 0 ? 0 : n < TN_VF_LANES ? n : TN_VF_LANES; }

/* Y[r][0 .. n) (+)= sum over DEPTH rows of B of a[r][k] B[k][0 .. n), for ROWS_ rows of Y; add: to
 * what is there. a: element (r, k) at r*a_row + k*a_step. What lies `ahead` elements behind is
 * fetched: the DEPTH rows that come next, or, where there are none, what is there: to fetch what is
 * not mapped takes far longer than to wait for what is. */
#define STREAM_ROWS(ROWS_, DEPTH)                                                                 \
  static void stream_##ROWS_##_##DEPTH(const float *a, int64_t a_row, int64_t a_step,             \
                                       const weight *b, int64_t ldb, float *y, int64_t n,         \
                                       int64_t ahead, bool add) {                                 \
    tn_vf x[ROWS_][DEPTH], acc[ROWS_];                                                            \
    TN_UNROLL for (int r = 0; r < ROWS_; r++) TN_UNROLL for (int k = 0; k < DEPTH; k++) x[r][k] = \
        tn_vf_set1(a[r * a_row + k * a_step]);                                                    \
    int64_t j = 0;                                                                                \
    for (; j + TN_VF_LANES <= n; j += TN_VF_LANES) {                                              \
      TN_UNROLL for (int r = 0; r < ROWS_; r++) acc[r] =                                          \
          add ? tn_vf_load(y + r * ldb + j) : tn_vf_set1(0);                                      \
      TN_UNROLL for (int k = 0; k < DEPTH; k++) {                                                 \
        const tn_vf v = WEIGHT_LOAD(b + k * ldb + j);                                             \
        tn_prefetch_l2(b + k * ldb + (j + ahead));                                                \
        TN_UNROLL for (int r = 0; r < ROWS_; r++) acc[r] = tn_vf_fma(x[r][k], v, acc[r]);         \
      }                                                                                           \
      TN_UNROLL for (int r = 0; r < ROWS_; r++) tn_vf_store(y + r * ldb + j, acc[r]);             \
    }                                                                                             \
    if (j == n) return;                                                                           \
    const tn_vf_mask m = tn_vf_mask_first(n - j);                                                 \
    TN_UNROLL for (int r = 0; r < ROWS_; r++) acc[r] =                                            \
        add ? tn_vf_load_mask(m, y + r * ldb + j) : tn_vf_set1(0);                                \
    TN_UNROLL for (int k = 0; k < DEPTH; k++) {                                                   \
      const tn_vf v = WEIGHT_LOAD_FIRST(b + k * ldb + j, n - j);                                  \
      TN_UNROLL for (int r = 0; r < ROWS_; r++) acc[r] = tn_vf_fma(x[r][k], v, acc[r]);           \
    }                                                                                             \
    TN_UNROLL for (int r = 0; r < ROWS_; r++) tn_vf_store_mask(y + r * ldb + j, m, acc[r]);       \
  }
STREAM_ROWS(1, 8)
STREAM_ROWS(1, 1)
STREAM_ROWS(2, 4)
STREAM_ROWS(2, 1)
STREAM_ROWS(3, 4)
STREAM_ROWS(3, 1)

typedef void (*stream_fn)(const float *a, int64_t a_row, int64_t a_step, const weight *b,
                          int64_t ldb, float *y, int64_t n, int64_t ahead, bool add);

static void stream_item(const tn_call *call, const layout *l, int64_t item) {
  const product *p = &l->p;
  const int64_t matrix = item / l->col_blocks, j0 = item % l->col_blocks * l->col_step,
                j1 = tn_min_i64(p->n, j0 + l->col_step);
  const float *a = (const float *)p->a->data + product_matrix(p, p->a_stride, matrix) * p->m * p->k;
  const weight *b =
      (const weight *)p->b->data + product_matrix(p, p->b_stride, matrix) * p->k * p->n;
  const int64_t a_row = p->trans_a ? 1 : p->k, a_step = p->trans_a ? p->m : 1;
  const int64_t depth = p->m == 1 ? 8 : 4;
  const stream_fn deep = p->m == 1   ? stream_1_8
                         : p->m == 2 ? stream_2_4
                                     : stream_3_4,
                  flat = p->m == 1   ? stream_1_1
                         : p->m == 2 ? stream_2_1
                                     : stream_3_1;
  float *y = (float *)call->outputs[0]->data + matrix * p->m * p->n + j0;
  int64_t k = 0;
  for (; k + depth <= p->k; k += depth)
    deep(a + k * a_step, a_row, a_step, b + k * p->n + j0, p->n, y, j1 - j0,
         k + 2 * depth <= p->k ? depth * p->n : 0, k > 0);
  for (; k < p->k; k++)
    flat(a + k * a_step, a_row, a_step, b + k * p->n + j0, p->n, y, j1 - j0,
         k + 1 < p->k ? p->n : 0, k > 0);
  for (int64_t r = 0; p->k == 0 && r < p->m; r++)
    memset(y + r * p->n, 0, (size_t)(j1 - j0) * sizeof *y);
  finish(call, p, matrix * p->m, p->m, j0, j1 - j0);
}

/* ---- dots ---- */

/* y[r] = rows[r] . v for four rows at once, so that four streams of memory are read; ahead: how far
 * behind them the next four lie, 0: there are none. */
static void dot_4(const weight *rows, const float *v, int64_t n, int64_t ahead, float *y) {
  tn_vf acc[4][2];
  TN_UNROLL for (int r = 0; r < 4; r++) acc[r][0] = acc[r][1] = tn_vf_set1(0);
  int64_t k = 0;
  for (; k + 2 * TN_VF_LANES <= n; k += 2 * TN_VF_LANES) {
    const tn_vf v0 = tn_vf_load(v + k), v1 = tn_vf_load(v + k + TN_VF_LANES);
    TN_UNROLL for (int r = 0; r < 4; r++) {
      tn_prefetch_l2(rows + r * n + (k + ahead));
      if (!IS_HALF) tn_prefetch_l2(rows + r * n + (k + ahead) + 16);
      acc[r][0] = tn_vf_fma(v0, WEIGHT_LOAD(rows + r * n + k), acc[r][0]);
      acc[r][1] = tn_vf_fma(v1, WEIGHT_LOAD(rows + r * n + k + TN_VF_LANES), acc[r][1]);
    }
  }
  for (; k < n; k += TN_VF_LANES) {
    const tn_vf_mask m = tn_vf_mask_first(lanes_of(n - k));
    const tn_vf v0 = tn_vf_load_mask(m, v + k);
    TN_UNROLL for (int r = 0; r < 4; r++) acc[r][0] =
        tn_vf_fma(v0, WEIGHT_LOAD_FIRST(rows + r * n + k, lanes_of(n - k)), acc[r][0]);
  }
  TN_UNROLL for (int r = 0; r < 4; r++) y[r] = tn_vf_sum(tn_vf_add(acc[r][0], acc[r][1]));
}

static float dot_1(const weight *row, const float *v, int64_t n) {
  tn_vf acc = tn_vf_set1(0);
  for (int64_t k = 0; k < n; k += TN_VF_LANES) {
    const tn_vf_mask m = tn_vf_mask_first(lanes_of(n - k));
    acc = tn_vf_fma(tn_vf_load_mask(m, v + k), WEIGHT_LOAD_FIRST(row + k, lanes_of(n - k)), acc);
  }
  return tn_vf_sum(acc);
}

static void dots_item(const tn_call *call, const layout *l, int64_t item) {
  const product *p = &l->p;
  /* then the rows are A's, and B is the only vector */
  const bool column = p->n == 1 && !IS_HALF;
  const int64_t matrix = item / l->col_blocks, r0 = item % l->col_blocks * l->col_step,
                r1 = tn_min_i64(column ? p->m : p->n, r0 + l->col_step);
  const void *a = (const float *)p->a->data + product_matrix(p, p->a_stride, matrix) * p->m * p->k,
             *b = (const weight *)p->b->data + product_matrix(p, p->b_stride, matrix) * p->k * p->n;
  const weight *rows = column ? a : b;
  const float *vectors = column ? b : a;
  float *y = (float *)call->outputs[0]->data + matrix * p->m * p->n;
  const int64_t n_vectors = column ? 1 : p->m;
  int64_t r = r0;
  for (; r + 4 <= r1; r += 4)
    for (int64_t v = 0; v < n_vectors; v++)
      dot_4(rows + r * p->k, vectors + v * p->k, p->k, r + 8 <= r1 ? 4 * p->k : 0,
            y + v * p->n + r);
  for (; r < r1; r++)
    for (int64_t v = 0; v < n_vectors; v++)
      y[v * p->n + r] = dot_1(rows + r * p->k, vectors + v * p->k, p->k);
  if (column)
    finish(call, p, matrix * p->m + r0, r1 - r0, 0, 1);
  else
    finish(call, p, matrix * p->m, p->m, r0, r1 - r0);
}

/* ---- panels ---- */

/* y[0 .. NR) = v times a panel: DEPTH sums at a time, for one alone would wait for the one
 * before. */
static void panel_1(const weight *panel, const float *v, int64_t depth, float *y, int64_t n) {
  enum { DEPTH = 4 };
  tn_vf lo[DEPTH], hi[DEPTH];
  int64_t k = 0;
  TN_UNROLL for (int i = 0; i < DEPTH; i++) lo[i] = hi[i] = tn_vf_set1(0);
  for (; k + DEPTH <= depth; k += DEPTH, panel += DEPTH * TN_TILE_NR)
    TN_UNROLL for (int i = 0; i < DEPTH; i++) {
      const tn_vf x = tn_vf_set1(v[k + i]);
      lo[i] = tn_vf_fma(x, WEIGHT_LOAD(panel + i * TN_TILE_NR), lo[i]);
      hi[i] = tn_vf_fma(x, WEIGHT_LOAD(panel + i * TN_TILE_NR + TN_VF_LANES), hi[i]);
    }
  for (; k < depth; k++, panel += TN_TILE_NR) {
    const tn_vf x = tn_vf_set1(v[k]);
    lo[0] = tn_vf_fma(x, WEIGHT_LOAD(panel), lo[0]);
    hi[0] = tn_vf_fma(x, WEIGHT_LOAD(panel + TN_VF_LANES), hi[0]);
  }
  const tn_vf a = tn_vf_add(tn_vf_add(lo[0], lo[1]), tn_vf_add(lo[2], lo[3])),
              b = tn_vf_add(tn_vf_add(hi[0], hi[1]), tn_vf_add(hi[2], hi[3]));
  if (n < TN_TILE_NR) {
    tn_tile_store_part(y, a, b, n, true, NULL);
    return;
  }
  tn_vf_store(y, a);
  tn_vf_store(y + TN_VF_LANES, b);
}

static void panels_item(const tn_call *call, const layout *l, int64_t item) {
  const product *p = &l->p;
  const int64_t j0 = item % l->col_blocks * l->col_step, j1 = tn_min_i64(p->n, j0 + l->col_step);
  const weight *panels = call->state;
  const float *a = p->a->data;
  float *y = call->outputs[0]->data;
  for (int64_t j = j0; j < j1; j += TN_TILE_NR)
    for (int64_t r = 0; r < p->m; r++)
      panel_1(panels + j * p->k, a + r * p->k, p->k, y + r * p->n + j, j1 - j);
  finish(call, p, 0, p->m, j0, j1 - j0);
}

/* ---- the kernels ---- */

static tn_status run(const tn_call *call, product_kind kind, uint32_t stage, int64_t begin,
                     int64_t end, uint32_t worker) {
  layout l;
  tn_status s = layout_make(call, kind, call->state != NULL, &l);
  if (s) return s;
  const int64_t panels = packed_panels(&l, call->state != NULL), first = panels + packed_strips(&l);
  weight *packed_b = panels ? call->scratch : call->state;
  float *packed_a = call->scratch, *room = call->worker_scratch;
  if (l.shares_a && panels) packed_a += panel_bytes(&l) / sizeof(float);
  if (room) room = (float *)(void *)((char *)(void *)room + worker * call->worker_scratch_bytes);
  const bool packs = first > 0 && stage == 0;
  for (int64_t item = begin; item < end; item++) {
    if (packs && item < panels)
      pack_panel(&l, item, packed_b);
    else if (packs)
      share_strip(&l, item - panels, packed_a);
    else if (l.algorithm == STREAM)
      stream_item(call, &l, item);
    else if (l.algorithm == DOTS)
      dots_item(call, &l, item);
    else if (l.algorithm == PANELS)
      panels_item(call, &l, item);
    else
      tiles_item(call, &l, item, packed_b, packed_a, room);
  }
  return TN_OK;
}

/* name_<isa>, name_plan_<isa> and name_prepare_<isa>. */
#define MATMUL_KERNEL(name, kind)                                                               \
  tn_status TN_SIMD_NAME(name##_plan)(const tn_call *call, tn_kernel_plan *out) {               \
    return plan(call, kind, out);                                                               \
  }                                                                                             \
  tn_status TN_SIMD_NAME(name##_prepare)(const tn_call *call) { return prepare(call, kind); }   \
  tn_status TN_SIMD_NAME(name)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                               uint32_t worker) {                                               \
    return run(call, kind, stage, begin, end, worker);                                          \
  }
#if defined(MATMUL_F16)
MATMUL_KERNEL(half_matmul_f16, HALF_MATMUL)
#elif defined(MATMUL_BF16)
MATMUL_KERNEL(half_matmul_bf16, HALF_MATMUL)
#else
MATMUL_KERNEL(matmul_f32, MATMUL)
MATMUL_KERNEL(gemm_f32, GEMM)
#endif

#endif
