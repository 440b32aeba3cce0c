/* LSTM for AVX2. */
#include "rnn_simd.h"
