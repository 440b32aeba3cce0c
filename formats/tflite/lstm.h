/* Inputs of LSTM, counted from 0 for one direction, and its arithmetic of 8 bits. */
#ifndef TN_FORMATS_TFLITE_LSTM_H
#define TN_FORMATS_TFLITE_LSTM_H

#include "lower.h"

enum { LSTM_W = 1, LSTM_R = 5, LSTM_PEEP = 9, LSTM_BIAS = 12, LSTM_PROJECTION = 16 };
enum { LSTM_H = 18, LSTM_C, LSTM_NORM, LSTM_GATES = 4 };

static inline bool lstm_has(const tn_lowering *t, uint32_t k) {
  return k < t->call->n_inputs && tn_low_type(t, k);
}

/* Why an LSTM of codes is not read; NULL: it is. */
const char *tfl_lstm_refusal(const tn_lowering *t);

/* Of x, codes [steps, batch, width]: the codes [steps, batch, units], and both states. */
tn_status tfl_lstm_of_codes(const tn_lowering *t, int32_t x, int32_t *out);

/* x w' (+ bias), w: input k. By codes of 8 bits, rows of x become codes, too, as the built-in
 * kernels have it. */
int32_t tfl_by_weights(const tn_lowering *t, int32_t x, uint32_t k, int32_t bias);

#endif
