/* Softmax and LogSoftmax for AVX-512. */
#include "softmax_simd.h"
