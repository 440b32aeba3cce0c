/* LSTM for NEON. */
#include "rnn_simd.h"
