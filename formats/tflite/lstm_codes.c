/* LSTM of 8 bits, with cells of 16: tenon::FixedLstm, with its tables and multipliers. */
#include <math.h>

#include "lstm.h"
#include "wide.h"

enum { CELL_SCALE = 12, HIDDEN = 4 }; /* of gates: 2^-12; the intermediate that h is */

/* Weights, or biases, of all gates from input `first` on, one below the other. */
static int32_t below(const tn_lowering *t, uint32_t first) {
  int32_t parts[LSTM_GATES];
  const tn_attr axis = tn_attr_int("axis", 0);
  for (uint32_t k = 0; k < LSTM_GATES; k++) parts[k] = tn_low_in(t, first + k);
  return tn_low_emit(t, "Concat", parts, LSTM_GATES, &axis, 1);
}

/* The bits behind the point of a cell; 0: it is of no such scale. */
static int64_t cell_bits(const tn_lowering *t) {
  const double scale = tfl_scale(t, LSTM_C);
  if (!(scale > 0)) return 0;
  const double bits = -log2(scale), whole = nearbyint(bits);
  return fabs(bits - whole) < 1e-3 && whole >= 11 && whole <= 15 ? (int64_t)whole : 0;
}

static double float_product(double a, double b) { return (double)((float)a * (float)b); }

static void multipliers(const tn_lowering *t, int64_t *m, int64_t *shifts) {
  const double of_gate = ldexp(1, CELL_SCALE), hidden = tfl_scale(t, LSTM_H);
  for (uint32_t k = 0; k < LSTM_GATES; k++) {
    const double w = float_product(tfl_scale(t, LSTM_W + k), tfl_scale(t, 0)) * of_gate,
                 r = float_product(tfl_scale(t, LSTM_R + k), hidden) * of_gate;
    tfl_split_scale(w, &m[k], &shifts[k]);
    tfl_split_scale(r, &m[LSTM_GATES + k], &shifts[LSTM_GATES + k]);
  }
  tfl_split_scale((double)(float)(ldexp(1, -15) / hidden * ldexp(1, -15)), &m[8], &shifts[8]);
}

const char *tfl_lstm_refusal(const tn_lowering *t) {
  for (uint32_t k = 0; k < LSTM_GATES; k++) {
    if (!lstm_has(t, LSTM_W + k) || !lstm_has(t, LSTM_R + k) || !lstm_has(t, LSTM_BIAS + k))
      return "an 8-bit cell without an input gate, or without biases";
    if (!(tfl_scale(t, LSTM_W + k) > 0 && tfl_scale(t, LSTM_R + k) > 0) ||
        tfl_zero(t, LSTM_W + k) || tfl_zero(t, LSTM_R + k))
      return "weights of an 8-bit cell with these scales or zero points";
  }
  for (uint32_t k = LSTM_PEEP; k < LSTM_BIAS; k++)
    if (lstm_has(t, k)) return "an 8-bit cell with peepholes";
  if (lstm_has(t, LSTM_PROJECTION)) return "an 8-bit cell with a projection";
  for (uint32_t k = 0; k < LSTM_GATES; k++)
    if (lstm_has(t, LSTM_NORM + k)) return "an 8-bit cell with normalised gates";
  if (tn_low_int(t, "fused_activation_function", 0) != 4) return "an 8-bit cell without tanh";
  if (!lstm_has(t, LSTM_H) || !lstm_has(t, LSTM_C) || !cell_bits(t) || !(tfl_scale(t, 0) > 0) ||
      !(tfl_scale(t, LSTM_H) > 0))
    return "an 8-bit cell with states of these scales";
  const uint32_t hidden = tfl_y(t) + 1 + HIDDEN; /* behind the output */
  return tfl_scale(t, hidden) == tfl_scale(t, LSTM_H) && tfl_zero(t, hidden) == tfl_zero(t, LSTM_H)
             ? NULL
             : "an 8-bit cell whose output and state have different scales";
}

static int64_t cell_clip(const tn_lowering *t) {
  const double clip = tn_low_float(t, "cell_clip", 0) / tfl_scale(t, LSTM_C);
  return clip > 0 ? (int64_t)fmin(clip, INT16_MAX) : 0;
}

tn_status tfl_lstm_of_codes(const tn_lowering *t, int32_t x, int32_t *out) {
  const char *why = tfl_lstm_refusal(t);
  if (why) return tn_low_unsupported(t, why);
  const int64_t bits = cell_bits(t);
  const int three = 3, whole = (int)(15 - bits);
  const int32_t in[] = {x,
                        below(t, LSTM_W),
                        below(t, LSTM_R),
                        below(t, LSTM_BIAS),
                        tn_low_in(t, LSTM_H),
                        tn_low_in(t, LSTM_C),
                        tfl_code_answers(t, tfl_sigmoid_of_power, NULL),
                        tfl_code_answers(t, tfl_tanh_of_whole, &three),
                        tfl_code_answers(t, tfl_tanh_of_whole, &whole)};
  int64_t m[9], shifts[9];
  multipliers(t, m, shifts);
  const tn_attr attrs[] = {tn_attr_ints("multipliers", (tn_ints){m, 9}),
                           tn_attr_ints("shifts", (tn_ints){shifts, 9}),
                           tn_attr_int("x_zero", tfl_zero(t, 0)),
                           tn_attr_int("h_zero", tfl_zero(t, LSTM_H)),
                           tn_attr_int("cell_bits", bits),
                           tn_attr_int("cell_clip", cell_clip(t))};
  for (uint32_t k = 0; k < 9; k++)
    if (in[k] < 0) return in[k];
  return tn_low_emit_many(t, "tenon::FixedLstm", in, 9, attrs, 6, 3, out);
}
