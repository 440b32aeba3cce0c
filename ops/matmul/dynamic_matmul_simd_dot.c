/* tenon::DynamicMatMul on the tiles of tenon/kit/dot_simd.h.
 *
 * The first stage makes codes of the rows of A, each with a scale and a zero point of its own. A
 * tile knows one of each for all its rows: so it counts from 0, takes the rows' zero points out as
 * it does those of weights (times the sums of the panel's columns), and the rows' scales and the
 * bias come to the sums afterwards, while they are in the cache. */
#include "dynamic_matmul.h"
#include "tenon/kit/dot_simd.h"
#include "tenon/kit/epilogue_simd.h"

typedef struct layout {
  dynamic_matmul p;
  int64_t steps, panels;
  int64_t row_step, row_blocks, col_step, col_blocks; /* col_step: panels */
  int64_t code_bytes;                                 /* of all rows, in the scratch */
} layout;

static tn_status layout_make(const tn_call *call, layout *out) {
  enum { BLOCK_BYTES = 1 << 19 };
  layout l = {0};
  const tn_status s = dynamic_matmul_make(call, &l.p);
  if (s) return s;
  l.steps = tn_ceil_div(l.p.k, TN_DOT_K);
  l.panels = tn_ceil_div(l.p.n, TN_DOT_PANEL);
  const int64_t n_threads = tn_max_i64(1, call->n_workers), m = l.p.m,
                row_bytes = tn_max_i64(1, l.steps * TN_DOT_K * (int64_t)sizeof(tn_dot_x)),
                most = tn_max_i64(TN_DOT_ROWS, BLOCK_BYTES / row_bytes);
  int64_t blocks = tn_ceil_div(m, most);
  const bool by_rows = m >= 2 * n_threads * TN_DOT_ROWS;
  if (by_rows) blocks = tn_ceil_div(blocks, n_threads) * n_threads;
  l.row_step = blocks ? tn_ceil_div(m, blocks) : 0;
  l.row_blocks = l.row_step ? tn_ceil_div(m, l.row_step) : 0;
  l.col_step = by_rows ? l.panels : tn_max_i64(1, tn_ceil_div(l.panels, n_threads));
  l.col_blocks = l.col_step ? tn_ceil_div(l.panels, l.col_step) : 0;
  l.code_bytes = tn_ceil_div(m * l.steps * TN_DOT_K * (int64_t)sizeof(tn_dot_x), 64) * 64;
  *out = l;
  return TN_OK;
}

/* ---- weights: the panels, then by lanes their scales ---- */

static void *panel_of(const layout *l, const void *state, int64_t panel) {
  return (char *)(uintptr_t)state + panel * tn_dot_panel_bytes(l->steps);
}
static float *scales_of(const layout *l, const void *state) {
  return panel_of(l, state, l->panels);
}

static tn_status prepare(const tn_call *call) {
  layout l;
  const tn_status s = layout_make(call, &l);
  if (s) return s;
  const int8_t *b = l.p.b->data;
  const int64_t row = l.p.trans_b ? 1 : l.p.n, column = l.p.trans_b ? l.p.k : 1;
  float *scales = scales_of(&l, call->state);
  for (int64_t j = 0; j < l.p.n; j++) {
    void *panel = panel_of(&l, call->state, j / TN_DOT_PANEL);
    const int64_t f = j % TN_DOT_PANEL;
    for (int64_t k = 0; k < l.p.k; k++) *tn_dot_weight(panel, f, k) = b[k * row + j * column];
    scales[j - f + tn_dot_lane(f)] = dynamic_b_scale(&l.p, j);
  }
  for (int64_t panel = 0; panel < l.panels; panel++)
    tn_dot_sum_weights(panel_of(&l, call->state, panel), l.steps);
  return TN_OK;
}

/* ---- plan ---- */

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  layout l;
  const tn_status s = layout_make(call, &l);
  if (s) return s;
  const dynamic_matmul *p = &l.p;
  const double products =
                   (double)p->m * (double)(l.panels * TN_DOT_PANEL) * (double)(l.steps * TN_DOT_K),
               values = (double)p->m * (double)(p->k + 2 * p->n);
  out->n_stages = 2;
  out->scratch_bytes = (uint64_t)l.code_bytes + 2 * (uint64_t)p->m * sizeof(float);
  out->items[0] = p->m;
  out->grain[0] = tn_grain(20000, (double)p->k / 4);
  out->items[1] = l.row_blocks * l.col_blocks;
  out->cost_ns = products / (TN_DOT_LANES == 16 ? 250
                             : TN_DOT_K == 4    ? 120
                                                : 60) +
                 values / 4 + 300;
  out->grain[1] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)tn_max_i64(1, out->items[1]));
  out->state_bytes = (uint64_t)(l.panels * tn_dot_panel_bytes(l.steps)) +
                     (uint64_t)(l.panels * TN_DOT_PANEL) * sizeof(float);
  return TN_OK;
}

/* ---- run ---- */

/* In the scratch: codes, the rows' zero points, their scales. */
static tn_dot_x *codes_of(const layout *l, void *scratch) { return (void)l, scratch; }
static float *zeros_of(const layout *l, void *scratch) {
  return (float *)(void *)((char *)scratch + l->code_bytes);
}
static float *row_scales_of(const layout *l, void *scratch) {
  return zeros_of(l, scratch) + l->p.m;
}

/* The least and the largest of k numbers and 0, lane by lane. */
static void range_of(const float *x, int64_t k, tn_vf *out_least, tn_vf *out_most) {
  const tn_vf_mask live = tn_vf_mask_first(k % TN_VF_LANES);
  const int64_t whole = k - k % TN_VF_LANES;
  tn_vf least = tn_vf_load_mask(live, x + whole), most = least;
  least = tn_vf_min(least, tn_vf_set1(0)), most = tn_vf_max(most, tn_vf_set1(0));
  for (int64_t j = 0; j < whole; j += TN_VF_LANES) {
    const tn_vf v = tn_vf_load(x + j);
    least = tn_vf_min(v, least);
    most = tn_vf_max(v, most);
  }
  *out_least = least;
  *out_most = most;
}

/* How n rows from `row` on, up to TN_VF_LANES, become codes: their lanes are folded together, and
 * what is worked out of each waits for no other. */
static void ranges_of(const dynamic_matmul *p, int64_t row, int64_t n, dynamic_codes *out) {
  const float *x = (const float *)p->a->data + row * p->k;
  tn_vf least[TN_VF_LANES], most[TN_VF_LANES];
  float lo[TN_VF_LANES], hi[TN_VF_LANES];
  for (int64_t r = 0; r < n; r++) range_of(x + r * p->k, p->k, &least[r], &most[r]);
  for (int64_t r = n; r < TN_VF_LANES; r++) least[r] = most[r] = tn_vf_set1(0);
  TN_VF_FOLD_EACH(least, tn_vf_min);
  TN_VF_FOLD_EACH(most, tn_vf_max);
  tn_vf_store(lo, least[0]);
  tn_vf_store(hi, most[0]);
  for (int64_t r = 0; r < n; r++) out[r] = dynamic_codes_of(lo[r], hi[r]);
}

static void make_codes(const layout *l, int64_t row, dynamic_codes c, void *scratch) {
  const dynamic_matmul *p = &l->p;
  const float *x = (const float *)p->a->data + row * p->k;
  const int64_t width = l->steps * TN_DOT_K;
  tn_dot_x *to = codes_of(l, scratch) + row * width;
  const int32_t zero = tn_dot_code(TN_I8, c.zero);
  int64_t k = 0;
  if (sizeof(tn_dot_x) == 1) {
    const tn_vf lo = tn_vf_set1((float)(-128 - c.zero)), hi = tn_vf_set1((float)(127 - c.zero)),
                factor = tn_vf_set1(c.factor);
    for (; k + TN_VF_LANES <= p->k; k += TN_VF_LANES) {
      const tn_vf q = tn_vf_mul(tn_vf_load(x + k), factor);
      tn_vf_store_byte((uint8_t *)(to + k), tn_vf_min(tn_vf_max(q, lo), hi), zero);
    }
  }
  for (; k < p->k; k++) to[k] = (tn_dot_x)(dynamic_code(x[k], c) + zero);
  for (; k < width; k++) to[k] = 0; /* of weights that are 0 */
  zeros_of(l, scratch)[row] = (float)zero;
  row_scales_of(l, scratch)[row] = c.scale;
}

/* Rows [row, end). */
static void codes_run(const layout *l, int64_t row, int64_t end, void *scratch) {
  dynamic_codes c[TN_VF_LANES];
  for (int64_t n; row < end; row += n) {
    n = tn_min_i64(TN_VF_LANES, end - row);
    ranges_of(&l->p, row, n, c);
    for (int64_t r = 0; r < n; r++) make_codes(l, row + r, c[r], scratch);
  }
}

/* Sums of one row become numbers: n columns from `first` on. */
static void finish_row(const tn_call *call, const layout *l, const tn_finish *f, int64_t row,
                       int64_t first, int64_t n) {
  const dynamic_matmul *p = &l->p;
  const float scale = row_scales_of(l, call->scratch)[row],
              *bias = p->bias ? (const float *)p->bias->data + first : NULL;
  const int64_t at = row * p->n + first;
  float *y = (float *)call->outputs[0]->data + at;
  const tn_vf by = tn_vf_set1(scale);
  int64_t k = 0;
  for (; k + TN_VF_LANES <= n; k += TN_VF_LANES) {
    tn_vf v = tn_vf_mul(tn_vf_load(y + k), by);
    if (bias) v = tn_vf_add(v, tn_vf_load(bias + k));
    TN_FINISH_VECTORS(f, at + k, 0, v, 1, 1);
    tn_vf_store(y + k, v);
  }
  const int64_t open = f->rest ? 0 : k; /* where the epilogue is still to be applied */
  for (; k < n; k++) y[k] = y[k] * scale + (bias ? bias[k] : 0);
  if (call->n_epilogue && open < n)
    tn_epilogue_f32(call, y + open, n - open, at + open, first + open, 1);
}

static void product_run(const tn_call *call, const layout *l, int64_t item) {
  const dynamic_matmul *p = &l->p;
  const int64_t at = 0, i = item / l->col_blocks * l->row_step,
                m = tn_min_i64(l->row_step, p->m - i), first = item % l->col_blocks * l->col_step,
                end = tn_min_i64(l->panels, first + l->col_step);
  const tn_dot_x *x = codes_of(l, call->scratch) + i * l->steps * TN_DOT_K;
  const int64_t steps = tn_max_i64(1, l->steps) * tn_ceil_div(m, TN_DOT_ROWS),
                step = tn_ceil_div(tn_dot_panel_bytes(l->steps), steps);
  tn_dot t = {.at = &at,
              .runs = 1,
              .steps = l->steps,
              .x_step = l->steps * TN_DOT_K,
              .factor = 1,
              .bias_factor = 1,
              .y_step = p->n,
              .to_f32 = true,
              .row_sums = zeros_of(l, call->scratch) + i};
  for (int64_t panel = first; panel < end; panel++) {
    const int64_t j = panel * TN_DOT_PANEL;
    const bool is_last = panel + 1 == end;
    t.scale = scales_of(l, call->state) + j;
    t.w_zero = panel_of(l, call->state, panel); /* the sums of its columns */
    t.n = tn_min_i64(TN_DOT_PANEL, p->n - j);
    t.next = panel_of(l, call->state, is_last ? panel : panel + 1);
    t.next_step = is_last ? 0 : step;
    tn_dot_run(&t, m, x, panel_of(l, call->state, panel),
               (float *)call->outputs[0]->data + i * p->n + j, NULL);
  }
  const int64_t j = first * TN_DOT_PANEL, n = tn_min_i64(p->n, end * TN_DOT_PANEL) - j;
  const tn_finish f = tn_finish_make(call);
  for (int64_t r = i; r < i + m; r++) finish_row(call, l, &f, r, j, n);
}

tn_status TN_SIMD_NAME(dynamic_matmul_plan)(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, out);
}

tn_status TN_SIMD_NAME(dynamic_matmul_prepare)(const tn_call *call) { return prepare(call); }

tn_status TN_SIMD_NAME(dynamic_matmul)(const tn_call *call, uint32_t stage, int64_t begin,
                                       int64_t end, uint32_t worker) {
  layout l;
  const tn_status s = layout_make(call, &l);
  (void)worker;
  if (!s && stage == 0) codes_run(&l, begin, end, call->scratch);
  for (int64_t item = begin; item < end && !s && stage; item++) product_run(call, &l, item);
  return s;
}
