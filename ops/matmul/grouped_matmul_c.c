/* GroupedMatMul, portable: an item is some columns of all rows of a group. Its part of B is packed
 * as it is met, for it is read once however many rows the group has; groups without rows cost
 * nothing. Rows behind the last group are an item more for each such block, which clears them. */
#include "grouped_matmul.h"
#include "tenon/kit/gemm.h"

enum { COLUMNS = 2 * TN_GEMM_NR };

tn_status grouped_matmul_plan(const tn_call *call, tn_kernel_plan *out) {
  grouped p;
  const tn_status s = grouped_of(call, &p);
  if (s) return s;
  const int64_t blocks = tn_ceil_div(p.n, COLUMNS);
  const double rows_each = (double)p.rows / (double)tn_max_i64(p.groups, 1),
               each = (double)p.k * COLUMNS * (rows_each + 1);
  out->items[0] = (p.groups + 1) * blocks;
  out->grain[0] = tn_grain(10000, each);
  out->cost_ns = 500 + each * (double)out->items[0] / 10;
  return TN_OK;
}

/* Columns [0, n) of rows [0, k) of B as panels. */
static void pack(const grouped *p, const float *b, int64_t k, int64_t n, float *to) {
  for (int64_t j = 0; j < n; j += TN_GEMM_NR)
    for (int64_t row = 0; row < k; row++, to += TN_GEMM_NR)
      for (int64_t c = 0; c < TN_GEMM_NR; c++) to[c] = j + c < n ? b[row * p->n + j + c] : 0;
}

static void block(const grouped *p, float *y, int64_t group, int64_t begin, int64_t rows,
                  int64_t j) {
  float panels[COLUMNS * TN_GEMM_KC];
  const int64_t n = tn_min_i64(COLUMNS, p->n - j);
  const float *a = (const float *)p->a->data + begin * p->k,
              *b = (const float *)p->b->data + group * p->k * p->n + j;
  tn_gemm g = {.lda = p->k, .ldc = p->n, .m = rows, .n = n, .b = panels, .first = true};
  g.c = y + begin * p->n + j;
  for (int64_t k = 0; k == 0 || k < p->k; k += TN_GEMM_KC, g.first = false) {
    g.k = tn_min_i64(TN_GEMM_KC, p->k - k);
    g.a = a + k;
    g.b_panel = g.k * TN_GEMM_NR;
    pack(p, b + k * p->n, g.k, n, panels);
    tn_gemm_run(&g);
  }
}

static void clear(const grouped *p, float *y, int64_t begin, int64_t j) {
  const int64_t n = tn_min_i64(COLUMNS, p->n - j);
  for (int64_t row = begin; row < p->rows; row++)
    memset(y + row * p->n + j, 0, (size_t)n * sizeof *y);
}

tn_status grouped_matmul_c(const tn_call *call, uint32_t stage, int64_t first, int64_t last,
                           uint32_t worker) {
  (void)stage, (void)worker;
  grouped p;
  tn_status s = grouped_of(call, &p);
  for (int64_t item = first; item < last && !s; item++) {
    const int64_t blocks = tn_ceil_div(p.n, COLUMNS), group = item / blocks,
                  j = item % blocks * COLUMNS;
    int64_t begin = 0, end = 0;
    if (group == p.groups) {
      if (p.groups) s = grouped_rows(call, &p, group - 1, &begin, &end);
      if (!s) clear(&p, call->outputs[0]->data, end, j);
      continue;
    }
    s = grouped_rows(call, &p, group, &begin, &end);
    if (!s && begin < end) block(&p, call->outputs[0]->data, group, begin, end - begin, j);
  }
  return s;
}
