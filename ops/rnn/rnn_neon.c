/* LSTM, GRU and RNN for NEON. */
#include "rnn_simd.h"
