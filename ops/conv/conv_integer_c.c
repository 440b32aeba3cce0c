/* Portable integer convolutions on the f32 matrix tile: products of two 9-bit numbers are exact in
 * f32, and so is a sum of 256 of them (256 * 255 * 255 < 2^24). Partial sums of 256 terms are added
 * up in i32.
 *
 * Stage 0 turns the weights, minus their zero points, into f32. Stage 1 works on blocks of 64
 * pixels by 64 filters. */
#include <math.h>

#include "conv_gather.h"
#include "conv_integer.h"

enum { FILTERS = 64, DEPTH = 256 };

typedef struct room {
  float panels[CONV_PIXELS * DEPTH], tile[FILTERS * CONV_PIXELS];
  uint32_t sums[FILTERS * CONV_PIXELS]; /* of i32; they may wrap */
} room;

typedef struct blocks {
  int64_t pixels, filters;
} blocks; /* per image and group */

static blocks split(const conv_shape *c) {
  return (blocks){tn_ceil_div(c->out_size, CONV_PIXELS),
                  tn_ceil_div(c->filters / c->groups, FILTERS)};
}

static tn_status plan(const tn_call *call, const conv_quant *q, tn_kernel_plan *out) {
  blocks b = split(&q->c);
  int64_t each = q->c.taps * (q->c.channels / q->c.groups);
  if (q->x->rank < 3 || q->x->rank > 5)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: %d spatial dims",
                            q->x->rank - 2);
  out->n_stages = 2;
  out->items[0] = q->c.filters;
  out->grain[0] = tn_grain(10000, (double)each);
  out->items[1] = q->c.batch * q->c.groups * b.pixels * b.filters;
  out->scratch_bytes = (uint64_t)(q->c.filters * each) * sizeof(float);
  out->worker_scratch_bytes = sizeof(room);
  return TN_OK;
}

static void widen_weights(const conv_quant *q, int64_t begin, int64_t end, float *to) {
  int64_t each = q->c.taps * (q->c.channels / q->c.groups);
  for (int64_t m = begin; m < end; m++) {
    const float zero = (float)conv_zero(q->w_zero, m);
    for (int64_t k = m * each; k < (m + 1) * each; k++)
      to[k] = (q->w->dtype == TN_I8 ? (float)((const int8_t *)q->w->data)[k]
                                    : (float)((const uint8_t *)q->w->data)[k]) -
              zero;
  }
}

typedef struct tile {
  int64_t image, first, filters, pixel, n;
} tile; /* filters [first, first + filters), pixels [pixel, pixel + n) */

static tile sum_tile(const conv_quant *q, const float *weights, int64_t item, room *r) {
  const conv_shape *c = &q->c;
  blocks b = split(c);
  int64_t fb = item % b.filters, pb = item / b.filters % b.pixels,
          group = item / b.filters / b.pixels % c->groups;
  int64_t each = c->channels / c->groups, per_group = c->filters / c->groups,
          depth = each * c->taps;
  tile t = {.image = item / b.filters / b.pixels / c->groups,
            .pixel = pb * CONV_PIXELS,
            .first = group * per_group + fb * FILTERS};
  t.filters = tn_min_i64(FILTERS, per_group - fb * FILTERS);
  conv_gather g = conv_gather_block(c, t.pixel);
  t.n = g.n;
  int64_t x_at = (t.image * c->channels + group * each) * c->in_size;
  const float zero = (float)conv_zero(q->x_zero, 0);
  memset(r->sums, 0, sizeof r->sums);
  for (int64_t k0 = 0; k0 < depth; k0 += DEPTH) {
    int64_t kc = tn_min_i64(DEPTH, depth - k0);
    if (q->x->dtype == TN_I8)
      conv_gather_i8(&g, (const int8_t *)q->x->data + x_at, zero, k0, kc, r->panels);
    else
      conv_gather_u8(&g, (const uint8_t *)q->x->data + x_at, zero, k0, kc, r->panels);
    tn_gemm m = {.a = weights + t.first * depth + k0,
                 .lda = depth,
                 .b = r->panels,
                 .b_panel = kc * TN_GEMM_NR,
                 .c = r->tile,
                 .ldc = CONV_PIXELS,
                 .m = t.filters,
                 .n = g.n,
                 .k = kc,
                 .first = true};
    tn_gemm_run(&m);
    for (int64_t i = 0; i < t.filters; i++)
      for (int64_t j = 0; j < g.n; j++)
        r->sums[i * CONV_PIXELS + j] += (uint32_t)(int32_t)r->tile[i * CONV_PIXELS + j];
  }
  return t;
}

static void store_sums(const tn_call *call, const conv_quant *q, const tile *t, const room *r) {
  for (int64_t i = 0; i < t->filters; i++)
    memcpy((int32_t *)call->outputs[0]->data +
               (t->image * q->c.filters + t->first + i) * q->c.out_size + t->pixel,
           r->sums + i * CONV_PIXELS, (size_t)t->n * sizeof(int32_t));
}

static void store_quantised(const tn_call *call, const conv_quant *q, const tile *t,
                            const room *r) {
  bool is_signed = call->outputs[0]->dtype == TN_I8;
  const float zero = (float)conv_zero(q->y_zero, 0), lo = is_signed ? -128 : 0,
              hi = is_signed ? 127 : 255;
  for (int64_t i = 0; i < t->filters; i++) {
    int64_t m = t->first + i, at = (t->image * q->c.filters + m) * q->c.out_size + t->pixel;
    const float scale = (float)conv_rescale(q, m);
    const uint32_t bias = q->bias ? ((const uint32_t *)q->bias->data)[m] : 0;
    for (int64_t j = 0; j < t->n; j++) {
      float v = nearbyintf((float)(int32_t)(r->sums[i * CONV_PIXELS + j] + bias) * scale) + zero;
      v = !(v > lo) ? lo : v > hi ? hi : v; /* NaN: lo */
      if (is_signed)
        ((int8_t *)call->outputs[0]->data)[at + j] = (int8_t)v;
      else
        ((uint8_t *)call->outputs[0]->data)[at + j] = (uint8_t)v;
    }
  }
}

#define RUN(name, STORE)                                                                      \
  tn_status name##_plan(const tn_call *call, tn_kernel_plan *out) {                           \
    conv_quant q;                                                                             \
    tn_status s = name##_make(call, &q);                                                      \
    return s ? s : plan(call, &q, out);                                                       \
  }                                                                                           \
  tn_status name##_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,         \
                     uint32_t worker) {                                                       \
    conv_quant q;                                                                             \
    tn_status s = name##_make(call, &q);                                                      \
    if (s) return s;                                                                          \
    if (stage == 0) {                                                                         \
      widen_weights(&q, begin, end, call->scratch);                                           \
      return TN_OK;                                                                           \
    }                                                                                         \
    room *r =                                                                                 \
        (room *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes); \
    for (int64_t item = begin; item < end; item++) {                                          \
      tile t = sum_tile(&q, call->scratch, item, r);                                          \
      STORE(call, &q, &t, r);                                                                 \
    }                                                                                         \
    return TN_OK;                                                                             \
  }
RUN(conv_integer, store_sums)
RUN(qlinear_conv, store_quantised)
