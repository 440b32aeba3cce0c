/* QuantConv of single pixels, which is a product of a few rows and a matrix: fully connected layers
 * of 8-bit networks. On the tiles of tenon/kit/dot_simd.h, without what windows and strips cost. */
#include "quant_conv.h"
#include "tenon/kit/dot_simd.h"
#include "tenon/kit/infer.h"

enum { MOST_ROWS = 64, MOST_K = 33000 };

typedef struct rows {
  int64_t m, n, k, steps, panels, panel_bytes, col_step;
} rows;

static rows rows_of(const tn_call *call) {
  const tn_tensor *x = call->inputs[QUANT_X], *w = call->inputs[QUANT_W];
  rows r = {.m = x->shape[0], .n = w->shape[0], .k = w->shape[1]};
  r.steps = tn_ceil_div(r.k, TN_DOT_K);
  r.panels = tn_ceil_div(r.n, TN_DOT_PANEL);
  r.panel_bytes = tn_dot_panel_bytes(r.steps);
  r.col_step = tn_max_i64(1, tn_ceil_div(r.panels, tn_max_i64(1, call->n_workers)));
  return r;
}

static bool is_pixel(const tn_tensor *t) {
  for (int32_t k = 2; k < t->rank; k++)
    if (t->shape[k] != 1) return false;
  return true;
}

const char *TN_SIMD_NAME(quant_rows_refuse)(const tn_call *call) {
  const tn_quant_conv_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[QUANT_X], *w = call->inputs[QUANT_W];
  if (x->rank < 3 || !is_pixel(x) || !is_pixel(w) || !is_pixel(call->outputs[0]) || a->group != 1)
    return "takes single pixels";
  if (tn_has_input(call, QUANT_Z)) return "takes no residual";
  if (x->shape[0] > MOST_ROWS) return "takes up to 64 rows";
  return x->shape[1] > MOST_K ? "takes up to 33000 channels" : NULL;
}

/* ---- weights: panels; by lanes scales, biases, zero points; how panels are read ---- */

enum { PLAIN, WITH_ZEROS, OF_BYTES }; /* by weights; by their zero points, too; see below */

static char *panel_of(const rows *r, const void *state, int64_t panel) {
  return (char *)(uintptr_t)state + panel * r->panel_bytes;
}
static float *floats_of(const rows *r, const void *state, int64_t part) {
  return (float *)(void *)panel_of(r, state, r->panels) + part * r->panels * TN_DOT_PANEL;
}
static uint64_t state_bytes(const rows *r) {
  return (uint64_t)(r->panels * r->panel_bytes) +
         (uint64_t)(3 * r->panels * TN_DOT_PANEL) * sizeof(float) + sizeof(int32_t);
}

/* Packs a filter less its zero point, where that fits into 8 bits; answers what is left of it. */
static int32_t pack_filter(const quant_conv *q, const rows *r, int64_t j, void *panel) {
  const int64_t one = q->w_zero && tn_elements(q->w_zero) == 1,
                zero = q->w_zero ? tn_load_i64(q->w_zero->dtype, q->w_zero->data, one ? 0 : j) : 0;
  bool fits = true;
  for (int64_t k = 0; k < r->k; k++) {
    const int64_t w = quant_conv_weight(q, j, k);
    fits = fits && w >= INT8_MIN && w <= INT8_MAX;
  }
  const int64_t more = fits ? 0 : q->w->dtype == TN_U8 ? zero - 128 : zero;
  for (int64_t k = 0; k < r->k; k++)
    *tn_dot_weight(panel, j % TN_DOT_PANEL, k) = (int8_t)(quant_conv_weight(q, j, k) + more);
  return (int32_t)more;
}

#if defined(TN_DOT_SIGNED_BYTES)

/* One row is multiplied by weights as bytes, for those of 16 bits are twice as much to read. */
typedef struct bytes_panel {
  int32_t sums[TN_DOT_PANEL];
  int8_t w[][TN_DOT_PANEL][4]; /* by steps, lanes, products */
} bytes_panel;

static int64_t bytes_steps(const rows *r) { return tn_ceil_div(r->k, 4); }
static bytes_panel *bytes_of(const rows *r, const void *state, int64_t panel) {
  const int64_t bytes = (int64_t)sizeof(bytes_panel) + bytes_steps(r) * TN_DOT_PANEL * 4;
  return (bytes_panel *)((char *)(uintptr_t)state + panel * bytes);
}

static bool fits_bytes(const rows *r, const void *state) {
  for (int64_t p = 0; p < r->panels; p++) {
    const tn_dot_w *w = tn_dot_weight(panel_of(r, state, p), 0, 0);
    for (int64_t k = 0; k < r->steps * TN_DOT_PANEL * TN_DOT_K; k++)
      if (w[k] == INT8_MIN) return false;
  }
  return true;
}

/* The panels become such, where they stand: none of these ends behind what it is made of. */
static void make_bytes(const rows *r, void *state) {
  for (int64_t p = 0; p < r->panels; p++) {
    const char *from = panel_of(r, state, p);
    bytes_panel *to = bytes_of(r, state, p);
    memmove(to->sums, from, sizeof to->sums);
    for (int64_t s = 0; s < bytes_steps(r); s++) {
      int8_t four[TN_DOT_PANEL][4] = {{0}};
      for (int64_t k = 4 * s; k < tn_min_i64(r->k, 4 * s + 4); k++)
        for (int64_t lane = 0; lane < TN_DOT_PANEL; lane++)
          four[lane][k % 4] = (int8_t)*tn_dot_weight_at((void *)(uintptr_t)from, lane, k);
      memcpy(to->w[s], four, sizeof four);
    }
  }
}

/* The row as signed codes, whole steps. */
static const int8_t *signed_codes(const tn_tensor *x, const rows *r, int8_t *room) {
  const uint8_t *from = x->data, flip = x->dtype == TN_U8 ? 0x80 : 0;
  if (!flip && r->k % 4 == 0) return x->data;
  for (int64_t k = 0; k < r->k; k++) room[k] = (int8_t)(uint8_t)(from[k] ^ flip);
  memset(room + r->k, 0, (size_t)(4 * bytes_steps(r) - r->k));
  return room;
}

static inline void add_step(const int8_t *x, const int8_t w[TN_DOT_PANEL][4], tn_vq sum[2]) {
  int32_t four;
  memcpy(&four, x, sizeof four);
  const tn_vq v = tn_vq_set1(four), size = tn_dot_abs(v);
  TN_UNROLL for (int j = 0; j < 2; j++) sum[j] =
      tn_dot_signed(sum[j], v, size, tn_vq_load(w[j * TN_DOT_LANES]));
}

/* One panel; every second step has sums of its own, for each product waits for the one before. */
static void run_bytes(tn_dot *t, int64_t steps, const int8_t *x, const bytes_panel *panel,
                      uint8_t *y) {
  tn_dot_begin(t, panel);
  tn_vq sum[2] = {tn_vq_load(t->begin), tn_vq_load(t->begin + TN_DOT_LANES)},
        odd[2] = {tn_vq_set1(0), tn_vq_set1(0)};
  int64_t s = 0;
  for (; s + 2 <= steps; s += 2) {
    add_step(x + 4 * s, panel->w[s], sum);
    add_step(x + 4 * s + 4, panel->w[s + 1], odd);
  }
  if (s < steps) add_step(x + 4 * s, panel->w[s], sum);
  tn_vf v[4];
  TN_UNROLL for (int j = 0; j < 2; j++) v[j] = v[2 + j] =
      tn_vf_fma(tn_vq_float(tn_vq_add(sum[j], odd[j])), tn_vf_load(t->mul + j * TN_DOT_LANES),
                tn_vf_load(t->add + j * TN_DOT_LANES));
  tn_dot_store_8(t, v, y, NULL, NULL);
}

#endif

tn_status TN_SIMD_NAME(quant_rows_prepare)(const tn_call *call) {
  quant_conv q;
  const tn_status s = quant_conv_make(call, &q);
  if (s) return s;
  const rows r = rows_of(call);
  float *scales = floats_of(&r, call->state, 0), *biases = floats_of(&r, call->state, 1);
  int32_t *zeros = (int32_t *)(void *)floats_of(&r, call->state, 2);
  for (int64_t j = 0; j < r.n; j++) {
    const int64_t f = j % TN_DOT_PANEL, lane = j - f + tn_dot_lane(f);
    const int32_t first = quant_conv_first(&q, j);
    zeros[lane] = pack_filter(&q, &r, j, panel_of(&r, call->state, j / TN_DOT_PANEL));
    if (zeros[lane]) zeros[r.panels * TN_DOT_PANEL] = WITH_ZEROS;
    scales[lane] = (float)q.a->x_scale * (float)quant_conv_scale(&q, j) / (float)q.a->y_scale;
    biases[lane] = (float)quant_conv_bias(&q, j);
    if (first) memcpy(&biases[lane], &first, sizeof first);
  }
  for (int64_t p = 0; p < r.panels; p++) tn_dot_sum_weights(panel_of(&r, call->state, p), r.steps);
#if defined(TN_DOT_SIGNED_BYTES)
  if (r.m == 1 && zeros[r.panels * TN_DOT_PANEL] == PLAIN && fits_bytes(&r, call->state)) {
    make_bytes(&r, call->state);
    zeros[r.panels * TN_DOT_PANEL] = OF_BYTES;
  }
#endif
  return TN_OK;
}

tn_status TN_SIMD_NAME(quant_rows_plan)(const tn_call *call, tn_kernel_plan *out) {
  const rows r = rows_of(call);
  const double products =
      (double)r.m * (double)(r.panels * TN_DOT_PANEL) * (double)(r.steps * TN_DOT_K);
  out->items[0] = tn_ceil_div(r.panels, r.col_step);
  out->cost_ns = products / (TN_DOT_LANES == 16 ? 200 : TN_DOT_K == 4 ? 100 : 50) + 60;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)tn_max_i64(1, out->items[0]));
  out->state_bytes = state_bytes(&r);
  out->state_key = r.m == 1;
  out->worker_scratch_bytes =
      (uint64_t)(r.m * r.steps * TN_DOT_K) * sizeof(tn_dot_x) + (uint64_t)r.m * sizeof(float) + 64;
  return TN_OK;
}

/* ---- run ---- */

/* The rows as codes, whole steps each. */
static const tn_dot_x *codes(const tn_tensor *x, const rows *r, tn_dot_x *room) {
  const uint8_t *from = x->data, flip = tn_dot_flip(x->dtype);
  const int64_t width = r->steps * TN_DOT_K;
  if (sizeof(tn_dot_x) == 1 && !flip && width == r->k) return x->data;
  for (int64_t i = 0; i < r->m; i++, from += r->k, room += width) {
    for (int64_t k = 0; k < r->k; k++) room[k] = (tn_dot_x)(uint8_t)(from[k] ^ flip);
    for (int64_t k = r->k; k < width; k++) room[k] = 0;
  }
  return room - r->m * width;
}

/* Of each row: the sum of its elements less their zero point. */
static void sum_rows(const tn_dot *t, const rows *r, const tn_dot_x *x, float *sums) {
  for (int64_t i = 0; i < r->m; i++, x += t->x_step) {
    int32_t sum = 0;
    for (int64_t k = 0; k < r->k; k++) sum += x[k];
    sums[i] = (float)(sum - (int32_t)r->k * t->zero);
  }
}

static tn_dot numbers(const tn_call *call, const rows *r, const int64_t *at) {
  const tn_quant_conv_attrs *a = call->attrs;
  const bool is_signed = call->outputs[0]->dtype == TN_I8;
  const int64_t least = is_signed ? -128 : 0, most = is_signed ? 127 : 255;
  return (tn_dot){.at = at,
                  .runs = 1,
                  .steps = r->steps,
                  .x_step = r->steps * TN_DOT_K,
                  .zero = tn_dot_code(call->inputs[QUANT_X]->dtype, a->x_zero),
                  .factor = 1,
                  .bias_factor = 1 / (float)a->y_scale,
                  .y_step = r->n,
                  .lo = (float)(tn_min_i64(tn_max_i64(a->lo, least), most) - a->y_zero),
                  .hi = (float)(tn_max_i64(tn_min_i64(a->hi, most), least) - a->y_zero),
                  .y_zero = (int16_t)(a->y_zero + (is_signed ? 128 : 0)),
                  .y_flip = is_signed ? 0x80 : 0};
}

tn_status TN_SIMD_NAME(quant_rows)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                   uint32_t worker) {
  const rows r = rows_of(call);
  const int64_t at = 0;
  char *room = (char *)call->worker_scratch + worker * call->worker_scratch_bytes;
  float *sums = (float *)(void *)room;
  const tn_tensor *bias = tn_input(call, QUANT_B);
  const bool in_sums = bias && bias->dtype == TN_I32;
  const int32_t *zeros = (const int32_t *)(const void *)floats_of(&r, call->state, 2);
  tn_dot t = numbers(call, &r, &at);
  (void)stage;
  const int32_t how = zeros[r.panels * TN_DOT_PANEL];
  const tn_dot_x *x = NULL;
#if defined(TN_DOT_SIGNED_BYTES)
  const int8_t *bytes = NULL;
  if (how == OF_BYTES) {
    bytes = signed_codes(call->inputs[QUANT_X], &r, (int8_t *)room);
    t.zero -= 128; /* codes are signed */
  }
#endif
  if (how != OF_BYTES) x = codes(call->inputs[QUANT_X], &r, (tn_dot_x *)(void *)(sums + r.m));
  if (how == WITH_ZEROS) {
    sum_rows(&t, &r, x, sums);
    t.row_sums = sums;
  }
  for (int64_t p = begin * r.col_step; p < tn_min_i64(r.panels, end * r.col_step); p++) {
    const int64_t j = p * TN_DOT_PANEL;
    const float *biases = floats_of(&r, call->state, 1) + j;
    t.scale = floats_of(&r, call->state, 0) + j;
    t.bias = bias && !in_sums ? biases : NULL;
    t.first = in_sums ? (const int32_t *)(const void *)biases : NULL;
    t.w_zero = zeros + j;
    t.n = tn_min_i64(TN_DOT_PANEL, r.n - j);
    t.next = panel_of(&r, call->state, p);
#if defined(TN_DOT_SIGNED_BYTES)
    if (how == OF_BYTES) {
      run_bytes(&t, bytes_steps(&r), bytes, bytes_of(&r, call->state, p),
                (uint8_t *)call->outputs[0]->data + j);
      continue;
    }
#endif
    tn_dot_run(&t, r.m, x, panel_of(&r, call->state, p), (char *)call->outputs[0]->data + j, NULL);
  }
  return TN_OK;
}
