/* BlockMatMul, portable: four columns per item, whose weights become f32, a part of K at a time. */
#include "blocks.h"
#include "tenon/kit/element.h"
#include "tenon/kit/epilogue.h"

enum { COLUMNS = 4, DEPTH = 256 };

const char *block_matmul_refuse(const tn_call *call) {
  return tn_epilogue_refuse_f32(call, call->outputs[0]->rank - 1);
}

tn_status block_matmul_plan(const tn_call *call, tn_kernel_plan *out) {
  blocks w;
  const tn_status s = blocks_of(call, &w);
  if (s) return s;
  const double each = (double)w.k * COLUMNS * (2 + (double)w.m);
  out->items[0] = tn_ceil_div(w.n, COLUMNS);
  out->grain[0] = tn_grain(10000, each);
  out->cost_ns = 500 + each * (double)out->items[0] / 4;
  return TN_OK;
}

/* Numbers of one block, from a byte on. */
static void decode_8(const uint8_t *b, int64_t n, int32_t zero, float scale, float *to) {
  for (int64_t k = 0; k < n; k++) to[k] = (float)(b[k] - zero) * scale;
}
static void decode_4(const uint8_t *b, int64_t n, int32_t zero, float scale, float *to) {
  for (int64_t k = 0; k < n / 2; k++) {
    to[2 * k] = (float)((b[k] & 15) - zero) * scale;
    to[2 * k + 1] = (float)((b[k] >> 4) - zero) * scale;
  }
  if (n % 2) to[n - 1] = (float)((b[n / 2] & 15) - zero) * scale;
}

/* Numbers [k0, k0 + n) of a row as f32; k0 is even. */
static void decode(const blocks *w, int64_t row, int64_t k0, int64_t n, float *to) {
  const uint8_t *b = (const uint8_t *)w->b->data + row * blocks_row_bytes(w) + k0 * w->bits / 8;
  for (int64_t k = 0, end; k < n; k = end) {
    const int64_t block = (k0 + k) / w->block;
    const double scale = tn_load_f64(w->scales->dtype, w->scales->data, row * w->n_blocks + block);
    end = tn_min_i64(n, (block + 1) * w->block - k0);
    (w->bits == 8 ? decode_8 : decode_4)(b + k * w->bits / 8, end - k, blocks_zero(w, row, block),
                                         (float)scale, to + k);
  }
}

static float dot(const float *a, const float *b, int64_t n) {
  float sum[8] = {0};
  int64_t k = 0;
  for (; k + 8 <= n; k += 8)
    for (int c = 0; c < 8; c++) sum[c] += a[k + c] * b[k + c];
  for (; k < n; k++) sum[0] += a[k] * b[k];
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

static void columns(const tn_call *call, const blocks *w, int64_t j, int64_t n) {
  float weights[COLUMNS][DEPTH];
  const float *a = w->a->data, *bias = w->bias ? w->bias->data : NULL;
  float *y = (float *)call->outputs[0]->data + j;
  for (int64_t k0 = 0; k0 < w->k; k0 += DEPTH) {
    const int64_t depth = tn_min_i64(DEPTH, w->k - k0);
    for (int64_t c = 0; c < n; c++) decode(w, j + c, k0, depth, weights[c]);
    for (int64_t i = 0; i < w->m; i++)
      for (int64_t c = 0; c < n; c++) {
        const float before = k0 ? y[i * w->n + c] : bias ? bias[j + c] : 0;
        y[i * w->n + c] = before + dot(a + i * w->k + k0, weights[c], depth);
      }
  }
  for (int64_t i = 0; i < w->m && call->n_epilogue; i++)
    tn_epilogue_f32(call, y + i * w->n, n, i * w->n + j, j, 1);
}

tn_status block_matmul_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  (void)stage, (void)worker;
  blocks w;
  const tn_status s = blocks_of(call, &w);
  for (int64_t item = begin; !s && item < end; item++)
    columns(call, &w, item * COLUMNS, tn_min_i64(COLUMNS, w.n - item * COLUMNS));
  return s;
}
