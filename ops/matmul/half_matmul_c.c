/* HalfMatMul, portable: a block of columns per item, of which a few weights at a time become f32. */
#include "base/elementwise.h"
#include "base/epilogue.h"
#include "product.h"

enum { COLUMNS = 64 };

tn_status half_matmul_plan(const tn_call *call, tn_kernel_plan *out) {
  product p;
  const tn_status s = product_of(call, HALF_MATMUL, &p);
  if (s) return s;
  const double each = 2.0 * (double)p.m * COLUMNS * (double)p.k;
  out->items[0] = tn_ceil_div(p.n, COLUMNS);
  out->grain[0] = tn_grain(50000, each);
  out->cost_ns = 500 + each * (double)out->items[0] / 4;
  return TN_OK;
}

/* y[c] (+)= sum over k of a[k] B[j + c][k], for n columns of Y, depth elements of the sums. */
static void add_dots(const product *p, const float *a, int64_t k, int64_t depth, int64_t j,
                     int64_t n, float *y) {
  float room[COLUMNS];
  for (int64_t c = 0; c < n; c++) {
    const float *b = tn_load_block_f32(p->b->dtype, p->b->data, (j + c) * p->k + k, depth, room);
    for (int64_t d = 0; d < depth; d++) y[c] += a[k + d] * b[d];
  }
}

/* The same of B[k][j + c]. */
static void add_row(const product *p, const float *a, int64_t k, int64_t j, int64_t n, float *y) {
  float room[COLUMNS];
  const float *b = tn_load_block_f32(p->b->dtype, p->b->data, k * p->n + j, n, room);
  for (int64_t c = 0; c < n; c++) y[c] += a[k] * b[c];
}

static void finish_row(const tn_call *call, const product *p, int64_t row, int64_t j, int64_t n,
                       float *y) {
  const float alpha = (float)p->alpha, beta = (float)p->beta;
  const float *c = p->c ? (const float *)p->c->data + row * p->c_row + j * p->c_col : NULL;
  for (int64_t k = 0; k < n; k++) y[k] = alpha * y[k] + (c ? beta * c[k * p->c_col] : 0);
  if (call->n_epilogue) tn_epilogue_f32(call, y, n, row * p->n + j, j, 1);
}

tn_status half_matmul_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  (void)stage, (void)worker;
  product p;
  const tn_status s = product_of(call, HALF_MATMUL, &p);
  if (s) return s;
  for (int64_t item = begin; item < end; item++) {
    const int64_t j = item * COLUMNS, n = tn_min_i64(COLUMNS, p.n - j);
    for (int64_t i = 0; i < p.m; i++) {
      const float *a = (const float *)p.a->data + i * p.k;
      float *y = (float *)call->outputs[0]->data + i * p.n + j;
      memset(y, 0, (size_t)n * sizeof *y);
      for (int64_t k = 0; k < p.k && p.trans_b; k += COLUMNS)
        add_dots(&p, a, k, tn_min_i64(COLUMNS, p.k - k), j, n, y);
      for (int64_t k = 0; k < p.k && !p.trans_b; k++) add_row(&p, a, k, j, n, y);
      finish_row(call, &p, i, j, n, y);
    }
  }
  return TN_OK;
}
