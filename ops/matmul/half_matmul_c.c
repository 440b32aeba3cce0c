/* HalfMatMul, portable: a block of columns per item. Its weights become panels of f32, a block of K
 * at a time, for the tile of tenon/kit/gemm.h. */
#include "product.h"
#include "tenon/kit/elementwise.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/gemm.h"

enum { COLUMNS = 64 };

tn_status half_matmul_plan(const tn_call *call, tn_kernel_plan *out) {
  product p;
  const tn_status s = product_of(call, HALF_MATMUL, &p);
  if (s) return s;
  const double each = 2.0 * (double)p.m * COLUMNS * (double)p.k;
  out->items[0] = tn_ceil_div(p.n, COLUMNS);
  out->grain[0] = tn_grain(50000, each);
  out->worker_scratch_bytes = COLUMNS * TN_GEMM_KC * sizeof(float);
  out->cost_ns = 500 + each * (double)out->items[0] / 15;
  return TN_OK;
}

/* Columns [j, j + n) of rows [k0, k0 + kc) of B as panels, zero beyond n. */
static void pack_panels(const product *p, int64_t j, int64_t n, int64_t k0, int64_t kc,
                        float *panels) {
  float room[TN_GEMM_KC]; /* not below COLUMNS */
  memset(panels, 0, (size_t)(tn_ceil_div(n, TN_GEMM_NR) * TN_GEMM_NR * kc) * sizeof *panels);
  for (int64_t k = 0; k < kc && !p->trans_b; k++) {
    const float *b = tn_load_block_f32(p->b->dtype, p->b->data, (k0 + k) * p->n + j, n, room);
    for (int64_t c = 0; c < n; c++)
      panels[(c / TN_GEMM_NR * kc + k) * TN_GEMM_NR + c % TN_GEMM_NR] = b[c];
  }
  for (int64_t c = 0; c < n && p->trans_b; c++) {
    const float *b = tn_load_block_f32(p->b->dtype, p->b->data, (j + c) * p->k + k0, kc, room);
    float *to = panels + c / TN_GEMM_NR * kc * TN_GEMM_NR + c % TN_GEMM_NR;
    for (int64_t k = 0; k < kc; k++) to[k * TN_GEMM_NR] = b[k];
  }
}

static void finish_row(const tn_call *call, const product *p, int64_t row, int64_t j, int64_t n) {
  const float alpha = (float)p->alpha, beta = (float)p->beta;
  const float *c = p->c ? (const float *)p->c->data + row * p->c_row + j * p->c_col : NULL;
  float *y = (float *)call->outputs[0]->data + row * p->n + j;
  for (int64_t k = 0; k < n; k++) y[k] = alpha * y[k] + (c ? beta * c[k * p->c_col] : 0);
  if (call->n_epilogue) tn_epilogue_f32(call, y, n, row * p->n + j, j, 1);
}

static void run_item(const tn_call *call, const product *p, int64_t item, float *panels) {
  const int64_t j = item * COLUMNS, n = tn_min_i64(COLUMNS, p->n - j);
  tn_gemm g = {.b = panels,
               .c = (float *)call->outputs[0]->data + j,
               .lda = p->k,
               .ldc = p->n,
               .m = p->m,
               .n = n,
               .first = true};
  for (int64_t k0 = 0; k0 == 0 || k0 < p->k; k0 += TN_GEMM_KC, g.first = false) {
    g.k = tn_min_i64(TN_GEMM_KC, p->k - k0);
    g.a = (const float *)p->a->data + k0;
    g.b_panel = g.k * TN_GEMM_NR;
    pack_panels(p, j, n, k0, g.k, panels);
    tn_gemm_run(&g);
  }
  for (int64_t i = 0; i < p->m; i++) finish_row(call, p, i, j, n);
}

tn_status half_matmul_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  (void)stage;
  product p;
  const tn_status s = product_of(call, HALF_MATMUL, &p);
  if (s) return s;
  char *room = (char *)call->worker_scratch + worker * call->worker_scratch_bytes;
  for (int64_t item = begin; item < end; item++) run_item(call, &p, item, (float *)(void *)room);
  return TN_OK;
}
