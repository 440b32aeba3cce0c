/* Portable matrix products.
 *
 * f32: blocks of 64 columns. A constant B is packed into panels once; otherwise each item packs its
 * own block into worker scratch. With fewer than 4 rows nothing is packed: B is streamed as it
 * stands. A transposed A is transposed first, as a stage of its own. Other types: any_simd.h. */
#include "product.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/gemm.h"

enum { COLUMNS = 64, FEW_ROWS = 4, ROWS = 128 };

typedef struct layout { /* how one call is cut into work */
  product p;
  bool few, packed; /* B is streamed; B was packed at prepare */
  int64_t col_blocks, row_blocks;
} layout;

static tn_status layout_make(const tn_call *call, product_kind kind, layout *out) {
  layout l = {0};
  tn_status s = product_of(call, kind, &l.p);
  if (s) return s;
  l.few = l.p.m < FEW_ROWS;
  l.packed = !l.few && call->state != NULL;
  l.col_blocks = tn_ceil_div(l.p.n, COLUMNS);
  l.row_blocks = l.few ? 1 : tn_ceil_div(l.p.m, ROWS);
  *out = l;
  return TN_OK;
}

/* Where B is a vector, Y has no columns to count channels along. */
const char *matmul_refuse(const tn_call *call) {
  return tn_epilogue_refuse_f32(call, call->inputs[1]->rank > 1 ? call->outputs[0]->rank - 1 : -1);
}

static tn_status plan(const tn_call *call, product_kind kind, tn_kernel_plan *out) {
  layout l;
  tn_status s = layout_make(call, kind, &l);
  if (s) return s;
  uint32_t main_stage = l.p.trans_a;
  out->n_stages = main_stage + 1;
  if (l.p.trans_a) {
    out->items[0] = l.p.m;
    out->grain[0] = tn_grain(10000, (double)l.p.k);
    out->scratch_bytes = (uint64_t)(l.p.m * l.p.k) * sizeof(float);
  }
  out->items[main_stage] = l.p.batch * l.col_blocks * l.row_blocks;
  out->grain[main_stage] =
      tn_grain(50000, (double)tn_min_i64(l.p.m, ROWS) * COLUMNS * (double)l.p.k);
  bool can_pack = !l.few && call->inputs[1]->data && l.p.batch == 1;
  if (can_pack)
    out->state_bytes =
        (uint64_t)(tn_ceil_div(l.p.n, TN_GEMM_NR) * TN_GEMM_NR * l.p.k) * sizeof(float) + 64;
  else if (!l.few)
    out->worker_scratch_bytes = COLUMNS * TN_GEMM_KC * sizeof(float);
  double flops = 2.0 * (double)l.p.batch * (double)l.p.m * (double)l.p.n * (double)l.p.k;
  out->cost_ns = flops / 20 + 500;
  return TN_OK;
}

tn_status matmul_f32_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, MATMUL, out);
}
tn_status gemm_f32_plan(const tn_call *call, tn_kernel_plan *out) { return plan(call, GEMM, out); }

/* Columns [j, j+NR) of rows [k0, k0 + kc) of B as one panel; columns beyond n become zero. */
static void pack_panel(const product *p, const float *b, int64_t j, int64_t k0, int64_t kc,
                       float *panel) {
  int64_t n = tn_min_i64(TN_GEMM_NR, p->n - j);
  for (int64_t k = 0; k < kc; k++, panel += TN_GEMM_NR) {
    for (int64_t c = 0; c < n; c++)
      panel[c] = p->trans_b ? b[(j + c) * p->k + k0 + k] : b[(k0 + k) * p->n + j + c];
    for (int64_t c = n; c < TN_GEMM_NR; c++) panel[c] = 0;
  }
}

static tn_status prepare(const tn_call *call, product_kind kind) {
  layout l;
  tn_status s = layout_make(call, kind, &l);
  float *panels = call->state;
  for (int64_t j = 0; !s && j < l.p.n; j += TN_GEMM_NR, panels += TN_GEMM_NR * l.p.k)
    pack_panel(&l.p, call->inputs[1]->data, j, 0, l.p.k, panels);
  return s;
}

tn_status matmul_f32_prepare(const tn_call *call) { return prepare(call, MATMUL); }
tn_status gemm_f32_prepare(const tn_call *call) { return prepare(call, GEMM); }

/* y = alpha*y + beta*c for a row of the block, then the fused steps. */
static void finish_row(const tn_call *call, const product *p, int64_t row, int64_t j, int64_t n) {
  float *y = (float *)call->outputs[0]->data + row * p->n + j;
  float alpha = (float)p->alpha, beta = (float)p->beta;
  if (alpha != 1)
    for (int64_t c = 0; c < n; c++) y[c] *= alpha;
  if (p->c) {
    const float *bias = (const float *)p->c->data + row * p->c_row + j * p->c_col;
    if (p->c_col)
      for (int64_t c = 0; c < n; c++) y[c] += beta * bias[c];
    else
      for (int64_t c = 0; c < n; c++) y[c] += beta * bias[0];
  }
  if (call->n_epilogue) tn_epilogue_f32(call, y, n, row * p->n + j, j, 1);
}

static float dot(const float *a, const float *b, int64_t n) {
  tn_v4f acc[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  float sum = 0;
  int64_t k = 0;
  for (; k + 8 <= n; k += 8) {
    acc[0] += *(const tn_v4f *)(a + k) * *(const tn_v4f *)(b + k);
    acc[1] += *(const tn_v4f *)(a + k + 4) * *(const tn_v4f *)(b + k + 4);
  }
  for (; k < n; k++) sum += a[k] * b[k];
  acc[0] += acc[1];
  return sum + ((acc[0][0] + acc[0][1]) + (acc[0][2] + acc[0][3]));
}

/* A few rows: B is read once, where it lies. */
static void stream_block(const product *p, const float *a, const float *b, float *y, int64_t j,
                         int64_t n) {
  for (int64_t i = 0; i < p->m; i++, a += p->k, y += p->n) {
    if (p->trans_b) {
      for (int64_t c = j; c < j + n; c++) y[c] = dot(a, b + c * p->k, p->k);
      continue;
    }
    float acc[COLUMNS] = {0};
    for (int64_t k = 0; k < p->k; k++) {
      const float x = a[k], *row = b + k * p->n + j;
      for (int64_t c = 0; c < n; c++) acc[c] += x * row[c];
    }
    memcpy(y + j, acc, (size_t)n * sizeof *acc);
  }
}

static void panel_block(const tn_call *call, const layout *l, const float *a, const float *b,
                        float *y, int64_t j, int64_t n, int64_t i, int64_t m, float *room) {
  const product *p = &l->p;
  tn_gemm g = {.lda = p->k, .ldc = p->n, .m = m, .n = n, .c = y + i * p->n + j, .first = true};
  for (int64_t k0 = 0; k0 == 0 || k0 < p->k; k0 += TN_GEMM_KC, g.first = false) {
    g.k = tn_min_i64(TN_GEMM_KC, p->k - k0);
    g.a = a + i * p->k + k0;
    g.b_panel = (l->packed ? p->k : g.k) * TN_GEMM_NR;
    g.b = l->packed ? (const float *)call->state + j * p->k + k0 * TN_GEMM_NR : room;
    for (int64_t c = 0; !l->packed && c < n; c += TN_GEMM_NR)
      pack_panel(p, b, j + c, k0, g.k, room + c * g.k);
    tn_gemm_run(&g);
  }
}

static void run_item(const tn_call *call, const layout *l, int64_t item, float *room) {
  const product *p = &l->p;
  int64_t block = item % l->col_blocks, rows = item / l->col_blocks % l->row_blocks,
          matrix = item / l->col_blocks / l->row_blocks;
  int64_t j = block * COLUMNS, n = tn_min_i64(COLUMNS, p->n - j), i = l->few ? 0 : rows * ROWS;
  int64_t m = l->few ? p->m : tn_min_i64(ROWS, p->m - i);
  const float *a =
      p->trans_a ? call->scratch
                 : (const float *)p->a->data + product_matrix(p, p->a_stride, matrix) * p->m * p->k;
  const float *b = (const float *)p->b->data + product_matrix(p, p->b_stride, matrix) * p->k * p->n;
  float *y = (float *)call->outputs[0]->data + matrix * p->m * p->n;
  if (l->few)
    stream_block(p, a, b, y, j, n);
  else
    panel_block(call, l, a, b, y, j, n, i, m, room);
  for (int64_t r = 0; r < m; r++) finish_row(call, p, matrix * p->m + i + r, j, n);
}

static void transpose_rows(const tn_call *call, const product *p, int64_t begin, int64_t end) {
  const float *a = p->a->data;
  float *to = call->scratch;
  for (int64_t i = begin; i < end; i++)
    for (int64_t k = 0; k < p->k; k++) to[i * p->k + k] = a[k * p->m + i];
}

static tn_status run(const tn_call *call, product_kind kind, uint32_t stage, int64_t begin,
                     int64_t end, uint32_t worker) {
  layout l;
  tn_status s = layout_make(call, kind, &l);
  if (s) return s;
  if (l.p.trans_a && stage == 0) {
    transpose_rows(call, &l.p, begin, end);
    return TN_OK;
  }
  float *room =
      call->worker_scratch
          ? (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes)
          : NULL;
  for (int64_t item = begin; item < end; item++) run_item(call, &l, item, room);
  return TN_OK;
}

tn_status matmul_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  return run(call, MATMUL, stage, begin, end, worker);
}

tn_status gemm_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  return run(call, GEMM, stage, begin, end, worker);
}
