/* FixedLstm, for every instruction set: loops that compilers make vectors of. An item is a sequence
 * of the batch. */
#include <string.h>

#include "fixed_dot.h"
#include "fixed_lstm.h"
#include "fixed_scale.h"

/* Sums of all gates with one row of x, or of the state, scaled and within 16 bits. */
static void gate_sums(const fixed_lstm *p, const int8_t *x, int64_t zero, const int8_t *w,
                      int64_t n, const int32_t *bias, int first, int32_t *v) {
  for (int64_t j = 0; j < FLSTM_GATES * p->units; j++) {
    const uint32_t sum = (uint32_t)fixed_dot(x, zero, w + j * n, n);
    v[j] = (int32_t)(sum + (bias ? (uint32_t)bias[j] : 0));
  }
  for (int g = 0; g < FLSTM_GATES; g++)
    fixed_scale_all(v + g * p->units, p->units, p->a->multipliers.data[first + g],
                    p->a->shifts.data[first + g]);
}

static int32_t in_16_bits(int64_t v) { return (int32_t)fixed_clamp(v, INT16_MIN, INT16_MAX); }

/* Cells and outputs of a step, from the sums of its gates. */
static void units_step(const tn_call *call, const fixed_lstm *p, const int32_t *v, int16_t *c,
                       int8_t *y) {
  const int16_t *sigmoid = call->inputs[FLSTM_SIGMOID]->data,
                *tanh = call->inputs[FLSTM_TANH]->data,
                *cell_tanh = call->inputs[FLSTM_CELL_TANH]->data;
  const tn_fixed_lstm_attrs *a = p->a;
  const int64_t n = p->units, clip = a->cell_clip ? a->cell_clip : INT16_MAX + 1;
  for (int64_t u = 0; u < n; u++) {
    const int64_t in = sigmoid[(uint16_t)v[FLSTM_IN * n + u]],
                  forget = sigmoid[(uint16_t)v[FLSTM_FORGET * n + u]],
                  cell = tanh[(uint16_t)v[FLSTM_CELL * n + u]],
                  out = sigmoid[(uint16_t)v[FLSTM_OUT * n + u]];
    const int64_t sum = in_16_bits(fixed_halves_away(forget * c[u], 15) +
                                   fixed_halves_away(in * cell, 30 - a->cell_bits));
    c[u] = (int16_t)fixed_clamp(sum, -clip, clip);
    const int64_t scaled =
        fixed_scaled(out * cell_tanh[(uint16_t)c[u]], 0, a->multipliers.data[FLSTM_OF_Y],
                     a->shifts.data[FLSTM_OF_Y]);
    y[u] = (int8_t)fixed_clamp(scaled + a->h_zero, INT8_MIN, INT8_MAX);
  }
}

/* v: room for the sums of all gates, twice. */
static void sequence_run(const tn_call *call, const fixed_lstm *p, int64_t b, int32_t *v) {
  const int64_t n = p->units, all = FLSTM_GATES * n;
  const int8_t *x = call->inputs[FLSTM_X]->data, *w = call->inputs[FLSTM_W]->data,
               *r = call->inputs[FLSTM_R]->data;
  const int32_t *bias = call->inputs[FLSTM_BIAS]->data;
  int8_t *y = call->outputs[0]->data, *h = (int8_t *)call->outputs[1]->data + b * n;
  int16_t *c = (int16_t *)call->outputs[2]->data + b * n;
  memmove(h, (const int8_t *)call->inputs[FLSTM_H]->data + b * n, (size_t)n);
  memmove(c, (const int16_t *)call->inputs[FLSTM_C]->data + b * n, (size_t)n * sizeof *c);
  for (int64_t k = 0; k < p->steps; k++) {
    const int64_t row = (p->a->reverse ? p->steps - 1 - k : k) * p->batch + b;
    gate_sums(p, x + row * p->width, p->a->x_zero, w, p->width, bias, FLSTM_OF_X, v);
    gate_sums(p, h, p->a->h_zero, r, n, NULL, FLSTM_OF_H, v + all);
    for (int64_t j = 0; j < all; j++) v[j] = in_16_bits((int64_t)in_16_bits(v[j]) + v[all + j]);
    units_step(call, p, v, c, h);
    memcpy(y + row * n, h, (size_t)n);
  }
}

static tn_status fixed_lstm_run(const tn_call *call, int64_t begin, int64_t end, uint32_t worker) {
  fixed_lstm p;
  const tn_status s = fixed_lstm_make(call, &p);
  char *room = (char *)call->worker_scratch + worker * call->worker_scratch_bytes;
  for (int64_t b = begin; !s && b < end; b++) sequence_run(call, &p, b, (int32_t *)(void *)room);
  return s;
}
