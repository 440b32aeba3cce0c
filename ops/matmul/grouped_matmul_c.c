/* GroupedMatMul: how kernels share it out, and the portable one, whose part of B is packed as it is
 * met, for it is read once however many rows the group has. */
#include "grouped_matmul.h"
#include "tenon/kit/gemm.h"

enum { COLUMNS = 2 * TN_GEMM_NR };

int64_t grouped_items(const grouped *p, int64_t columns) {
  return (p->groups + 1) * tn_ceil_div(p->n, columns);
}

tn_status grouped_matmul_plan(const tn_call *call, tn_kernel_plan *out) {
  grouped p;
  const tn_status s = grouped_of(call, &p);
  if (s) return s;
  const double rows_each = (double)p.rows / (double)tn_max_i64(p.groups, 1),
               each = (double)p.k * COLUMNS * (rows_each + 1);
  out->items[0] = grouped_items(&p, COLUMNS);
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

static void block(const grouped *p, int64_t group, int64_t begin, int64_t rows, int64_t j,
                  int64_t n, float *room) {
  float panels[COLUMNS * TN_GEMM_KC];
  const float *a = (const float *)p->a->data + begin * p->k,
              *b = (const float *)p->b->data + group * p->k * p->n + j;
  tn_gemm g = {.lda = p->k, .ldc = p->n, .m = rows, .n = n, .b = panels, .first = true};
  g.c = p->y + begin * p->n + j;
  (void)room;
  for (int64_t k = 0; k == 0 || k < p->k; k += TN_GEMM_KC, g.first = false) {
    g.k = tn_min_i64(TN_GEMM_KC, p->k - k);
    g.a = a + k;
    g.b_panel = g.k * TN_GEMM_NR;
    pack(p, b + k * p->n, g.k, n, panels);
    tn_gemm_run(&g);
  }
}

static void clear(const grouped *p, int64_t begin, int64_t j, int64_t n) {
  for (int64_t row = begin; row < p->rows; row++)
    memset(p->y + row * p->n + j, 0, (size_t)n * sizeof *p->y);
}

tn_status grouped_run(const tn_call *call, int64_t columns, grouped_block_fn run, int64_t first,
                      int64_t last, uint32_t worker) {
  grouped p;
  tn_status s = grouped_of(call, &p);
  char *room = (char *)call->worker_scratch + worker * call->worker_scratch_bytes;
  for (int64_t item = first; item < last && !s; item++) {
    const int64_t blocks = tn_ceil_div(p.n, columns), group = item / blocks,
                  j = item % blocks * columns, n = tn_min_i64(columns, p.n - j);
    int64_t begin = 0, end = 0;
    if (group < p.groups || group > 0)
      s = grouped_rows(call, &p, tn_min_i64(group, p.groups - 1), &begin, &end);
    if (s) break;
    if (group == p.groups)
      clear(&p, end, j, n);
    else if (begin < end)
      run(&p, group, begin, end - begin, j, n, (float *)(void *)room);
  }
  return s;
}

tn_status grouped_matmul_c(const tn_call *call, uint32_t stage, int64_t first, int64_t last,
                           uint32_t worker) {
  (void)stage;
  return grouped_run(call, COLUMNS, block, first, last, worker);
}
