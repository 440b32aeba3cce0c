/* LSTM, GRU and RNN for AVX2. */
#include "rnn_simd.h"
