/* One recurrent node, worked out from its call: which cell, which sizes, where each row lies. */
#ifndef TN_OPS_RNN_CELL_H
#define TN_OPS_RNN_CELL_H

#include <stdbool.h>

#include "rnn.gen.h"
#include "tenon/kit/dtype.h"

typedef enum rnn_function {
  RNN_RELU,
  RNN_TANH,
  RNN_SIGMOID,
  RNN_AFFINE,
  RNN_LEAKY_RELU,
  RNN_THRESHOLDED_RELU,
  RNN_SCALED_TANH,
  RNN_HARD_SIGMOID,
  RNN_ELU,
  RNN_SOFTSIGN,
  RNN_SOFTPLUS
} rnn_function;

typedef struct rnn_activation {
  rnn_function f;
  double alpha, beta;
} rnn_activation;

typedef struct rnn {
  int32_t gates; /* RNN 1, GRU 3, LSTM 4 */
  int64_t steps, batch, input, hidden;
  int32_t directions;
  bool reverse; /* of direction 0; direction 1 always runs backwards */
  bool batch_first, input_forget, linear_before_reset;
  double clip;                                         /* 0: none */
  rnn_activation activation[2][3];                     /* [direction][f, g, h] */
  const tn_tensor *x, *w, *r, *b, *lens, *h0, *c0, *p; /* NULL where left out */
} rnn;

tn_status rnn_make(const tn_call *call, int32_t gates, rnn *out);
double rnn_activate(const rnn_activation *a, double x);

/* Element offsets of the rows of X, Y, and of states (Y_h, initial_h, ...). */
static inline int64_t rnn_x_row(const rnn *n, int64_t t, int64_t b) {
  return (n->batch_first ? b * n->steps + t : t * n->batch + b) * n->input;
}
static inline int64_t rnn_y_row(const rnn *n, int64_t t, int64_t d, int64_t b) {
  return (n->batch_first ? (b * n->steps + t) * n->directions + d
                         : (t * n->directions + d) * n->batch + b) *
         n->hidden;
}
static inline int64_t rnn_state_row(const rnn *n, int64_t d, int64_t b) {
  return (n->batch_first ? b * n->directions + d : d * n->batch + b) * n->hidden;
}
/* Steps that sequence b has. */
static inline int64_t rnn_length(const rnn *n, int64_t b) {
  int64_t l = n->lens && n->lens->data ? ((const int32_t *)n->lens->data)[b] : n->steps;
  return l < 0 ? 0 : l > n->steps ? n->steps : l;
}

#endif
