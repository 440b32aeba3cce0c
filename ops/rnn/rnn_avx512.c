/* LSTM for AVX-512. */
#include "rnn_simd.h"
