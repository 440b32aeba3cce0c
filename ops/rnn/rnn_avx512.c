/* LSTM, GRU and RNN for AVX-512. */
#include "rnn_simd.h"
