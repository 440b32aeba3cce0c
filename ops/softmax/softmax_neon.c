/* Softmax and LogSoftmax for NEON. */
#include "softmax_simd.h"
