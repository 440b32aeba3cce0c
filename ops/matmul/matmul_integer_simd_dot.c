/* MatMulInteger and QLinearMatMul on the tiles of tenon/kit/dot_simd.h: the whole of
 * matmul_integer_avx512_vnni.c, _avx_vnni.c, _avx2.c, _neon_dot.c, _neon.c and _rvv.c.
 *
 * B is packed in panels: at prepare if it is constant, else in the first stage, which also copies A
 * where its rows are no whole steps of codes. Then an item is a block of rows by some panels, as in
 * tenon::QuantMatMul. All sums wrap. */
#include "dot_cut.h"
#include "matmul_integer.h"

typedef struct layout {
  product_quant q;
  int64_t steps, panels, b_matrices, a_rows;
  dot_cut cut;
  bool quantises, packs, copies; /* packs, copies: in the first stage */
} layout;

static tn_status layout_make(const tn_call *call, bool quantises, bool b_constant, layout *out) {
  layout l = {.quantises = quantises};
  const tn_status s = quantises ? qlinear_matmul_make(call, &l.q) : matmul_integer_make(call, &l.q);
  if (s) return s;
  product *p = &l.q.p;
  if (p->b->rank <= 2) { /* one B for all: the rows of all matrices are one A */
    p->m *= p->batch;
    p->batch = 1;
    p->rank = 0;
  }
  l.steps = tn_ceil_div(p->k, TN_DOT_K);
  l.panels = tn_ceil_div(p->n, TN_DOT_PANEL);
  l.b_matrices = p->k > 0 && p->n > 0 ? tn_elements(p->b) / (p->k * p->n) : 1;
  l.a_rows = p->k > 0 ? tn_elements(p->a) / p->k : 0;
  l.packs = !b_constant;
  l.copies = p->k > 0 && (tn_dot_flip(p->a->dtype) || p->k % TN_DOT_K || sizeof(tn_dot_x) > 1);
  l.cut = dot_cut_of(call, p->m, p->batch, l.panels, l.steps);
  *out = l;
  return TN_OK;
}

/* ---- packing ---- */

static int64_t n_packed(const layout *l) { return l->b_matrices * l->panels; }
static int64_t panels_bytes(const layout *l) { return n_packed(l) * tn_dot_panel_bytes(l->steps); }
static void *panel_of(const layout *l, const void *panels, int64_t panel) {
  return (char *)(uintptr_t)panels + panel * tn_dot_panel_bytes(l->steps);
}

/* Panel `index`, counted over all matrices of B: 0 behind the last column and the last row. */
static void pack_panel(const layout *l, int64_t index, void *panels) {
  const product *p = &l->q.p;
  const int64_t j = index % l->panels * TN_DOT_PANEL, n = tn_min_i64(TN_DOT_PANEL, p->n - j);
  const uint8_t *b = (const uint8_t *)p->b->data + index / l->panels * p->k * p->n + j;
  const uint8_t flip = p->b->dtype == TN_U8 ? 0x80 : 0;
  void *panel = panel_of(l, panels, index);
  uint8_t room[TN_DOT_K][TN_DOT_PANEL];
  const uint8_t *rows[TN_DOT_K];
  memset(room, flip, sizeof room);
  for (int64_t s = 0; s < l->steps; s++, b += TN_DOT_K * p->n) {
    const int64_t there = tn_min_i64(TN_DOT_K, p->k - s * TN_DOT_K);
    for (int64_t k = 0; k < TN_DOT_K; k++) {
      rows[k] = k < there && n == TN_DOT_PANEL ? b + k * p->n : room[k];
      if (k < there && rows[k] == room[k]) memcpy(room[k], b + k * p->n, (size_t)n);
      if (k >= there) memset(room[k], flip, sizeof room[k]);
    }
    tn_dot_pack_step(panel, s, rows, flip);
  }
  tn_dot_sum_weights(panel, l->steps);
}

static void copy_row(const layout *l, int64_t row, tn_dot_x *to) {
  const product *p = &l->q.p;
  const uint8_t *a = (const uint8_t *)p->a->data + row * p->k;
  const uint8_t flip = tn_dot_flip(p->a->dtype);
  to += row * l->steps * TN_DOT_K;
  for (int64_t k = 0; k < p->k; k++) to[k] = (tn_dot_x)(a[k] ^ flip);
  for (int64_t k = p->k; k < l->steps * TN_DOT_K; k++) to[k] = 0;
}

static tn_status prepare(const tn_call *call, bool quantises) {
  layout l;
  const tn_status s = layout_make(call, quantises, true, &l);
  for (int64_t k = 0; !s && k < n_packed(&l); k++) pack_panel(&l, k, call->state);
  return s;
}

/* ---- plan ---- */

static double cost_ns(const layout *l) {
  const product *p = &l->q.p;
  const double products = (double)p->batch * (double)p->m * (double)p->n * (double)p->k;
  const double bytes = (double)tn_elements(p->a) +
                       (l->packs ? 2.0 : 1.0) * (double)tn_elements(p->b) +
                       (l->quantises ? 1.0 : 4.0) * (double)p->batch * (double)p->m * (double)p->n;
  return products / (TN_DOT_LANES == 16 ? 250 : TN_DOT_K == 4 ? 120 : 60) + bytes / 15 + 300;
}

static tn_status plan(const tn_call *call, bool quantises, tn_kernel_plan *out) {
  layout l;
  const tn_tensor *b = call->inputs[quantises ? 3 : 1];
  const tn_status s = layout_make(call, quantises, b->data != NULL, &l);
  if (s) return s;
  const int64_t first = (l.packs ? n_packed(&l) : 0) + (l.copies ? l.a_rows : 0);
  const uint32_t last = first > 0;
  out->n_stages = last + 1;
  if (last) {
    out->items[0] = first;
    out->grain[0] = tn_grain(20000, (double)l.q.p.k * (l.packs ? TN_DOT_PANEL / 4 : 1));
  }
  if (!l.packs) out->state_bytes = (uint64_t)panels_bytes(&l);
  out->scratch_bytes =
      (l.packs ? (uint64_t)panels_bytes(&l) : 0) +
      (l.copies ? (uint64_t)(l.a_rows * l.steps * TN_DOT_K) * sizeof(tn_dot_x) : 0);
  out->worker_scratch_bytes = (uint64_t)l.cut.row_step * sizeof(float);
  out->items[last] = l.q.p.batch * l.cut.row_blocks * l.cut.col_blocks;
  out->cost_ns = cost_ns(&l);
  out->grain[last] = tn_grain(TN_THREAD_NS, cost_ns(&l) / (double)tn_max_i64(1, out->items[last]));
  return TN_OK;
}

/* ---- run ---- */

/* What the tiles of a call have in common. */
static tn_dot dot_of(const tn_call *call, const layout *l, const int64_t *at) {
  const product_quant *q = &l->q;
  tn_dot t = {.at = at,
              .runs = 1,
              .steps = l->steps,
              .x_step = l->steps * TN_DOT_K,
              .zero = tn_dot_code(q->p.a->dtype, product_zero(q->a_zero, 0)),
              .bias_factor = 1,
              .y_step = q->p.n,
              .to_f32 = !l->quantises,
              .to_i32 = !l->quantises};
  if (t.to_f32) return t;
  const bool is_signed = call->outputs[0]->dtype == TN_I8;
  const int64_t zero = product_zero(q->y_zero, 0), least = is_signed ? -128 : 0;
  t.factor = (float)(product_scale(q->a_scale, 0) / product_scale(q->y_scale, 0));
  t.lo = (float)(least - zero);
  t.hi = (float)(least + 255 - zero);
  t.y_flip = is_signed ? 0x80 : 0;
  t.y_zero = (int16_t)(zero + t.y_flip);
  return t;
}

typedef struct lanes { /* of one panel */
  float scale[TN_DOT_PANEL];
  int32_t zero[TN_DOT_PANEL];
  bool has_zeros;
} lanes;

/* Of columns [j, j + n): scales, and what is left of zero points once B is i8. */
static void lanes_make(const layout *l, int64_t j, int64_t n, lanes *out) {
  const product_quant *q = &l->q;
  const int32_t less = q->p.b->dtype == TN_U8 ? 128 : 0;
  memset(out, 0, sizeof *out);
  for (int64_t c = 0; c < n; c++) {
    const int64_t lane = tn_dot_lane(c);
    const bool is_new = c == 0 || (q->b_zero && tn_elements(q->b_zero) > 1);
    out->zero[lane] = is_new ? (int32_t)product_zero(q->b_zero, j + c) - less : out->zero[0];
    if (l->quantises) out->scale[lane] = (float)product_scale(q->b_scale, j + c);
    out->has_zeros |= out->zero[lane] != 0;
  }
}

/* Of each row: the sum of its elements less their zero point. */
static void sum_rows(const layout *l, const tn_dot *t, const tn_dot_x *x, int64_t m, float *sums) {
  for (int64_t r = 0; r < m; r++, x += t->x_step) {
    int32_t sum = 0;
    for (int64_t k = 0; k < l->q.p.k; k++) sum += x[k];
    sums[r] = (float)(sum - (int32_t)l->q.p.k * t->zero);
  }
}

static void item_run(const tn_call *call, const layout *l, int64_t item, const void *panels,
                     const tn_dot_x *x, float *sums) {
  const product *p = &l->q.p;
  const int64_t at = 0, col = item % l->cut.col_blocks,
                matrix = item / l->cut.col_blocks / l->cut.row_blocks,
                i = item / l->cut.col_blocks % l->cut.row_blocks * l->cut.row_step,
                m = tn_min_i64(l->cut.row_step, p->m - i),
                end = tn_min_i64(l->panels, (col + 1) * l->cut.col_step),
                b = product_matrix(p, p->b_stride, matrix) * l->panels;
  tn_dot t = dot_of(call, l, &at);
  bool summed = false;
  x += (product_matrix(p, p->a_stride, matrix) * p->m + i) * t.x_step;
  for (int64_t panel = col * l->cut.col_step; panel < end; panel++) {
    const int64_t j = panel * TN_DOT_PANEL;
    lanes of;
    t.n = tn_min_i64(TN_DOT_PANEL, p->n - j);
    lanes_make(l, j, t.n, &of);
    if (of.has_zeros && !summed) sum_rows(l, &t, x, m, sums);
    summed |= of.has_zeros;
    t.scale = of.scale;
    t.row_sums = of.has_zeros ? sums : NULL;
    t.w_zero = of.zero;
    t.next = panel_of(l, panels, b + panel);
    tn_dot_run(
        &t, m, x, t.next,
        (char *)call->outputs[0]->data + ((matrix * p->m + i) * p->n + j) * (t.to_f32 ? 4 : 1),
        NULL);
  }
}

static tn_status run(const tn_call *call, bool quantises, uint32_t stage, int64_t begin,
                     int64_t end, uint32_t worker) {
  layout l;
  const tn_status s = layout_make(call, quantises, call->state != NULL, &l);
  if (s) return s;
  char *scratch = call->scratch;
  void *panels = l.packs ? scratch : call->state;
  tn_dot_x *copies =
      l.copies ? (tn_dot_x *)(void *)(scratch + (l.packs ? panels_bytes(&l) : 0)) : NULL;
  const int64_t n_first = l.packs ? n_packed(&l) : 0;
  const bool is_first = stage == 0 && n_first + (l.copies ? l.a_rows : 0) > 0;
  float *sums =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t item = begin; item < end; item++) {
    if (!is_first)
      item_run(call, &l, item, panels, copies ? copies : l.q.p.a->data, sums);
    else if (item < n_first)
      pack_panel(&l, item, panels);
    else
      copy_row(&l, item - n_first, copies);
  }
  return TN_OK;
}

#define KERNEL(name, quantises)                                                                    \
  tn_status TN_SIMD_NAME(name##_plan)(const tn_call *call, tn_kernel_plan *out) {                  \
    return plan(call, quantises, out);                                                             \
  }                                                                                                \
  tn_status TN_SIMD_NAME(name##_prepare)(const tn_call *call) { return prepare(call, quantises); } \
  tn_status TN_SIMD_NAME(name)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,    \
                               uint32_t worker) {                                                  \
    return run(call, quantises, stage, begin, end, worker);                                        \
  }
KERNEL(matmul_integer, false)
KERNEL(qlinear_matmul, true)
