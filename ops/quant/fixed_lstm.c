/* tenon::FixedLstm: inference, and the reference, in 64 bits. */
#include "fixed_lstm.h"

#include "fixed_scale.h"
#include "tenon/kit/infer.h"

static bool attrs_fit(const tn_fixed_lstm_attrs *a) {
  bool fit = a->multipliers.size == FLSTM_SCALES && a->shifts.size == FLSTM_SCALES &&
             a->x_zero >= INT8_MIN && a->x_zero <= INT8_MAX && a->h_zero >= INT8_MIN &&
             a->h_zero <= INT8_MAX && a->cell_bits >= 11 && a->cell_bits <= 15 &&
             a->cell_clip >= 0 && a->cell_clip <= INT16_MAX;
  for (int k = 0; k < FLSTM_SCALES && fit; k++)
    fit = a->multipliers.data[k] >= 0 && a->multipliers.data[k] <= INT32_MAX &&
          a->shifts.data[k] >= -31 && a->shifts.data[k] <= 14;
  return fit;
}

static bool has_shape(const tn_tensor *t, int32_t rank, int64_t a, int64_t b) {
  return t->rank == rank && t->shape[0] == a && (rank < 2 || t->shape[1] == b);
}

tn_status fixed_lstm_make(const tn_call *call, fixed_lstm *out) {
  const tn_tensor *const *in = call->inputs, *x = in[FLSTM_X], *r = in[FLSTM_R];
  fixed_lstm p = {.a = call->attrs};
  if (!attrs_fit(p.a))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "zero points, multipliers, shifts, bits or the clip are out of range");
  bool fits = x->rank == 3 && r->rank == 2;
  if (fits) {
    p.steps = x->shape[0], p.batch = x->shape[1], p.width = x->shape[2], p.units = r->shape[1];
    const int64_t rows = r->shape[0];
    fits = rows % FLSTM_GATES == 0 && rows / FLSTM_GATES == p.units &&
           has_shape(in[FLSTM_W], 2, rows, p.width) && has_shape(in[FLSTM_BIAS], 1, rows, 0) &&
           has_shape(in[FLSTM_H], 2, p.batch, p.units) &&
           has_shape(in[FLSTM_C], 2, p.batch, p.units);
    for (int k = FLSTM_SIGMOID; k <= FLSTM_CELL_TANH; k++)
      fits = fits && has_shape(in[k], 1, FLSTM_CODES, 0);
  }
  if (!fits)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the shapes of W, R, bias, states and tables do not go together");
  *out = p;
  return TN_OK;
}

tn_status fixed_lstm_infer(const tn_call *call) {
  fixed_lstm p;
  const tn_status s = fixed_lstm_make(call, &p);
  if (s) return s;
  const int64_t y[] = {p.steps, p.batch, p.units};
  tn_infer_shape(call, 0, TN_I8, 3, y);
  tn_infer_shape(call, 1, TN_I8, 2, y + 1);
  tn_infer_shape(call, 2, TN_I16, 2, y + 1);
  return TN_OK;
}

tn_status fixed_lstm_flops(const tn_call *call, double *out_flops) {
  fixed_lstm p;
  const tn_status s = fixed_lstm_make(call, &p);
  if (!s)
    *out_flops = 2.0 * FLSTM_GATES * (double)(p.steps * p.batch) * (double)p.units *
                 (double)(p.width + p.units);
  return s;
}

static int64_t at(const tn_call *call, int input, int64_t k) {
  return tn_load_i64(call->inputs[input]->dtype, call->inputs[input]->data, k);
}

static int64_t of_code(const tn_call *call, int table, int64_t code) {
  return at(call, table, (uint16_t)code);
}

static int64_t in_16_bits(int64_t v) { return fixed_clamp(v, INT16_MIN, INT16_MAX); }

/* Sums wrap, as those of 32 bits do. */
static int64_t scaled_sum(const fixed_lstm *p, int64_t sum, int which) {
  return fixed_scaled((int32_t)(uint32_t)(uint64_t)sum, 0, p->a->multipliers.data[which],
                      p->a->shifts.data[which]);
}

/* The sum of a gate for unit u of image b, of 16 bits. h: codes of the state. */
static int64_t gate_sum(const tn_call *call, const fixed_lstm *p, int64_t step, int64_t b, int gate,
                        int64_t u, const int8_t *h) {
  const int64_t row = gate * p->units + u, x = (step * p->batch + b) * p->width;
  int64_t of_x = at(call, FLSTM_BIAS, row), of_h = 0;
  for (int64_t k = 0; k < p->width; k++)
    of_x += (at(call, FLSTM_X, x + k) - p->a->x_zero) * at(call, FLSTM_W, row * p->width + k);
  for (int64_t k = 0; k < p->units; k++)
    of_h += (h[k] - p->a->h_zero) * at(call, FLSTM_R, row * p->units + k);
  return in_16_bits(in_16_bits(scaled_sum(p, of_x, FLSTM_OF_X + gate)) +
                    scaled_sum(p, of_h, FLSTM_OF_H + gate));
}

/* Unit u of image b: its cell moves on; answers the code of the state. */
static int8_t unit_step(const tn_call *call, const fixed_lstm *p, int64_t step, int64_t b,
                        int64_t u, const int8_t *h, int16_t *cell) {
  const tn_fixed_lstm_attrs *a = p->a;
  int64_t gates[FLSTM_GATES];
  for (int g = 0; g < FLSTM_GATES; g++)
    gates[g] = of_code(call, g == FLSTM_CELL ? FLSTM_TANH : FLSTM_SIGMOID,
                       gate_sum(call, p, step, b, g, u, h));
  int64_t c = fixed_halves_away(gates[FLSTM_FORGET] * *cell, 15) +
              fixed_halves_away(gates[FLSTM_IN] * gates[FLSTM_CELL], 30 - a->cell_bits);
  c = in_16_bits(c);
  if (a->cell_clip) c = fixed_clamp(c, -a->cell_clip, a->cell_clip);
  *cell = (int16_t)c;
  const int64_t y = gates[FLSTM_OUT] * of_code(call, FLSTM_CELL_TANH, c);
  return (int8_t)fixed_clamp(scaled_sum(p, y, FLSTM_OF_Y) + a->h_zero, INT8_MIN, INT8_MAX);
}

tn_status fixed_lstm_reference(const tn_call *call) {
  fixed_lstm p;
  tn_status s = fixed_lstm_make(call, &p);
  if (s) return s;
  int8_t *y = call->outputs[0]->data, *h = call->outputs[1]->data;
  int16_t *c = call->outputs[2]->data;
  for (int64_t k = 0; k < p.batch * p.units; k++)
    h[k] = (int8_t)at(call, FLSTM_H, k), c[k] = (int16_t)at(call, FLSTM_C, k);
  for (int64_t k = 0; k < p.steps; k++) {
    const int64_t step = p.a->reverse ? p.steps - 1 - k : k;
    for (int64_t n = 0; n < p.batch * p.units; n++)
      y[step * p.batch * p.units + n] =
          unit_step(call, &p, step, n / p.units, n % p.units, h + n / p.units * p.units, c + n);
    memcpy(h, y + step * p.batch * p.units, (size_t)(p.batch * p.units));
  }
  return TN_OK;
}
