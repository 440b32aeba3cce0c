/* FixedLstm: what one call asks for. */
#ifndef TN_OPS_QUANT_FIXED_LSTM_H
#define TN_OPS_QUANT_FIXED_LSTM_H

#include "quant.gen.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

enum {
  FLSTM_X,
  FLSTM_W,
  FLSTM_R,
  FLSTM_BIAS,
  FLSTM_H,
  FLSTM_C,
  FLSTM_SIGMOID,
  FLSTM_TANH,
  FLSTM_CELL_TANH
};
enum { FLSTM_GATES = 4, FLSTM_CODES = 1 << 16 };
enum { FLSTM_IN, FLSTM_FORGET, FLSTM_CELL, FLSTM_OUT };
/* Places in multipliers and shifts: of the input's sums, of the state's, of the output. */
enum { FLSTM_OF_X = 0, FLSTM_OF_H = 4, FLSTM_OF_Y = 8, FLSTM_SCALES };

typedef struct fixed_lstm {
  const tn_fixed_lstm_attrs *a;
  int64_t steps, batch, width, units;
} fixed_lstm;

tn_status fixed_lstm_make(const tn_call *call, fixed_lstm *out);

#endif
