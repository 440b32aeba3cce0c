/* tenon::QuantMatMul on the tiles of tenon/kit/dot_simd.h: the whole of
 * quant_matmul_avx512_vnni.c, _avx_vnni.c, _avx2.c, _neon_dot.c and _neon.c.
 *
 * B is packed in panels once. An item is a block of rows, as many as stay in L2, by some panels;
 * each panel meets all rows of the block. A is read where it lies if its rows are whole steps of
 * codes; else the first stage copies it. What is fused onto an f32 product is done to some panels'
 * columns at a time, while they are in the cache. Zero points of B, which are rare, are taken out
 * through the sums of A's rows. */
#include "dot_cut.h"
#include "quant_matmul.h"
#include "tenon/kit/epilogue.h"

typedef struct layout {
  quant_matmul p;
  int64_t steps, panels;
  dot_cut cut;
  bool copies; /* A, in the first stage */
} layout;

/* ---- how a call is cut into work ---- */

static tn_status layout_make(const tn_call *call, layout *out) {
  layout l = {0};
  const tn_status s = quant_matmul_make(call, &l.p);
  if (s) return s;
  l.steps = tn_ceil_div(l.p.k, TN_DOT_K);
  l.panels = tn_ceil_div(l.p.n, TN_DOT_PANEL);
  l.copies = tn_dot_flip(l.p.a->dtype) || l.p.k % TN_DOT_K || sizeof(tn_dot_x) > 1;
  l.cut = dot_cut_of(call, l.p.m, 1, l.panels, l.steps);
  *out = l;
  return TN_OK;
}

/* ---- what prepare makes of the constants ---- */

/* The state: panels, then by lanes their scales, biases and zero points of B, and last whether some
 * are not 0. */
static int64_t lanes_of(const layout *l) { return l->panels * TN_DOT_PANEL; }

static uint64_t state_bytes(const layout *l) {
  return (uint64_t)(l->panels * tn_dot_panel_bytes(l->steps)) +
         3 * (uint64_t)lanes_of(l) * sizeof(float) + sizeof(int32_t);
}

static void *panel_of(const layout *l, const void *state, int64_t panel) {
  return (char *)(uintptr_t)state + panel * tn_dot_panel_bytes(l->steps);
}

static float *scales_of(const layout *l, const void *state) {
  return panel_of(l, state, l->panels);
}
static float *biases_of(const layout *l, const void *state) {
  return scales_of(l, state) + lanes_of(l);
}
static int32_t *zeros_of(const layout *l, const void *state) {
  return (int32_t *)(void *)(biases_of(l, state) + lanes_of(l));
}
static int32_t *has_zeros(const layout *l, const void *state) {
  return zeros_of(l, state) + lanes_of(l);
}

/* Columns [j, j + n) of B. The state is zero at first, and stays so behind the last column and the
 * last row. */
static void pack_panel(const layout *l, int64_t j, int64_t n, void *panel) {
  const quant_matmul *p = &l->p;
  const uint8_t *b = p->b->data;
  const uint8_t flip = p->b->dtype == TN_U8 ? 0x80 : 0;
  const int64_t row = p->trans_b ? 1 : p->n, col = p->trans_b ? p->k : 1;
  tn_dot_w *lanes[TN_DOT_PANEL];
  for (int64_t c = 0; c < n; c++) lanes[c] = tn_dot_weight(panel, c, 0);
  for (int64_t k = 0; k < p->k; k++) {
    const uint8_t *from = b + k * row + j * col;
    const int64_t at = k / TN_DOT_K * TN_DOT_PANEL * TN_DOT_K + k % TN_DOT_K;
    for (int64_t c = 0; c < n; c++) lanes[c][at] = (int8_t)(from[c * col] ^ flip);
  }
  tn_dot_sum_weights(panel, l->steps);
}

static tn_status prepare(const tn_call *call) {
  layout l;
  const tn_status s = layout_make(call, &l);
  if (s) return s;
  const quant_matmul *p = &l.p;
  float *scales = scales_of(&l, call->state), *biases = biases_of(&l, call->state);
  int32_t *zeros = zeros_of(&l, call->state);
  for (int64_t panel = 0; panel < l.panels; panel++) {
    const int64_t j = panel * TN_DOT_PANEL;
    pack_panel(&l, j, tn_min_i64(TN_DOT_PANEL, p->n - j), panel_of(&l, call->state, panel));
  }
  for (int64_t j = 0; j < p->n; j++) {
    const int64_t f = j % TN_DOT_PANEL, lane = j - f + tn_dot_lane(f);
    scales[lane] = (float)quant_scale(p->b_scale, j);
    if (p->bias) biases[lane] = (float)quant_scale(p->bias, j);
    zeros[lane] = (int32_t)quant_matmul_b_zero(p->b, p->b_zero, j);
  }
  *has_zeros(&l, call->state) = quant_matmul_has_zeros(p->b, p->b_zero);
  return TN_OK;
}

/* ---- plan ---- */

static double cost_ns(const layout *l) {
  const quant_matmul *p = &l->p;
  const double products = (double)p->m * (double)p->n * (double)p->k,
               bytes = (double)p->k * (double)p->n + (double)p->m * (double)(p->k + 4 * p->n);
  return products / (TN_DOT_LANES == 16 ? 250 : TN_DOT_K == 4 ? 120 : 60) + bytes / 15 + 300;
}

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  layout l;
  const tn_status s = layout_make(call, &l);
  if (s) return s;
  const uint32_t last = l.copies && l.p.k > 0;
  out->n_stages = last + 1;
  if (last) {
    out->scratch_bytes = (uint64_t)(l.p.m * l.steps * TN_DOT_K) * sizeof(tn_dot_x);
    out->items[0] = l.p.m;
    out->grain[0] = tn_grain(20000, (double)l.p.k);
  }
  out->items[last] = l.cut.row_blocks * l.cut.col_blocks;
  out->grain[last] = tn_grain(TN_THREAD_NS, cost_ns(&l) / (double)tn_max_i64(1, out->items[last]));
  out->state_bytes = state_bytes(&l);
  out->worker_scratch_bytes = (uint64_t)l.cut.row_step * sizeof(float);
  out->cost_ns = cost_ns(&l);
  return TN_OK;
}

/* ---- run ---- */

static void copy_row(const layout *l, int64_t row, tn_dot_x *to) {
  const quant_matmul *p = &l->p;
  const uint8_t *a = (const uint8_t *)p->a->data + row * p->k;
  const uint8_t flip = tn_dot_flip(p->a->dtype);
  to += row * l->steps * TN_DOT_K;
  for (int64_t k = 0; k < p->k; k++) to[k] = (tn_dot_x)(a[k] ^ flip);
  for (int64_t k = p->k; k < l->steps * TN_DOT_K; k++) to[k] = 0;
}

/* The tile's parameters but for the panel. */
static tn_dot dot_of(const tn_call *call, const layout *l, const int64_t *at) {
  const quant_matmul *p = &l->p;
  tn_dot t = {.at = at,
              .runs = 1,
              .steps = l->steps,
              .x_step = l->steps * TN_DOT_K,
              .zero = tn_dot_code(p->a->dtype, quant_zero(p->a_zero, 0)),
              .factor = *(const float *)p->a_scale->data,
              .bias_factor = 1,
              .y_step = p->n,
              .to_f32 = !p->y_zero};
  if (t.to_f32) return t;
  int64_t least, most;
  const int64_t zero = quant_zero(p->y_zero, 0);
  const float scale = *(const float *)p->y_scale->data;
  quant_matmul_bounds(call, &least, &most);
  t.factor /= scale;
  t.bias_factor = 1 / scale;
  t.lo = (float)(least - zero);
  t.hi = (float)(most - zero);
  t.y_flip = p->y_zero->dtype == TN_I8 ? 0x80 : 0;
  t.y_zero = (int16_t)(zero + t.y_flip);
  return t;
}

/* Of each row: the sum of its elements less their zero point. Exact: it is below 2^24. */
static void sum_rows(const layout *l, const tn_dot *t, const tn_dot_x *x, int64_t m, float *sums) {
  for (int64_t r = 0; r < m; r++, x += t->x_step) {
    int32_t sum = 0;
    for (int64_t k = 0; k < l->p.k; k++) sum += x[k];
    sums[r] = (float)(sum - (int32_t)l->p.k * t->zero);
  }
}

/* n columns of m rows from y on, of which the first is element `offset` of Y in column j. */
static void finish(const tn_call *call, const layout *l, float *y, int64_t m, int64_t n,
                   int64_t offset, int64_t j) {
  for (int64_t r = 0; r < m; r++, y += l->p.n, offset += l->p.n)
    tn_epilogue_f32(call, y, n, offset, j, 1);
}

static void item_run(const tn_call *call, const layout *l, int64_t item, const tn_dot_x *x,
                     float *sums) {
  const quant_matmul *p = &l->p;
  const int64_t at = 0, i = item / l->cut.col_blocks * l->cut.row_step,
                m = tn_min_i64(l->cut.row_step, p->m - i),
                first = item % l->cut.col_blocks * l->cut.col_step,
                end = tn_min_i64(l->panels, first + l->cut.col_step);
  const float *scales = scales_of(l, call->state), *biases = biases_of(l, call->state);
  const int32_t *zeros = *has_zeros(l, call->state) ? zeros_of(l, call->state) : NULL;
  const int64_t steps = tn_max_i64(1, l->steps) * tn_ceil_div(m, TN_DOT_ROWS),
                step = tn_ceil_div(tn_dot_panel_bytes(l->steps), steps);
  tn_dot t = dot_of(call, l, &at);
  x += i * t.x_step;
  if (zeros) sum_rows(l, &t, x, m, sums);
  t.row_sums = zeros ? sums : NULL;
  for (int64_t panel = first, done = first; panel < end; panel++) {
    const int64_t j = panel * TN_DOT_PANEL, from = done * TN_DOT_PANEL;
    char *y = (char *)call->outputs[0]->data + (i * p->n + j) * (t.to_f32 ? 4 : 1);
    t.scale = scales + j;
    t.bias = p->bias ? biases + j : NULL;
    t.w_zero = zeros ? zeros + j : NULL;
    t.n = tn_min_i64(TN_DOT_PANEL, p->n - j);
    t.next = panel_of(l, call->state, panel + 1 < end ? panel + 1 : panel);
    t.next_step = panel + 1 < end ? step : 0;
    tn_dot_run(&t, m, x, panel_of(l, call->state, panel), y, NULL);
    if (!t.to_f32 || (panel + 1 < end && panel + 1 < done + DOT_GROUP)) continue;
    if (call->n_epilogue)
      finish(call, l, (float *)call->outputs[0]->data + i * p->n + from, m, j + t.n - from,
             i * p->n + from, from);
    done = panel + 1;
  }
}

tn_status TN_SIMD_NAME(quant_matmul_plan)(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, out);
}

tn_status TN_SIMD_NAME(quant_matmul_prepare)(const tn_call *call) { return prepare(call); }

tn_status TN_SIMD_NAME(quant_matmul)(const tn_call *call, uint32_t stage, int64_t begin,
                                     int64_t end, uint32_t worker) {
  layout l;
  const tn_status s = layout_make(call, &l);
  if (s) return s;
  const bool copies = l.copies && l.p.k > 0;
  const tn_dot_x *x = copies ? call->scratch : l.p.a->data;
  float *sums =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t item = begin; item < end; item++) {
    if (copies && stage == 0)
      copy_row(&l, item, call->scratch);
    else
      item_run(call, &l, item, x, sums);
  }
  return TN_OK;
}
