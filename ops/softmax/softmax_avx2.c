/* Softmax and LogSoftmax for AVX2. */
#include "softmax_simd.h"
