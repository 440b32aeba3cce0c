/* Products of f64 and of integers, portable. */
#define FMA_f64(a, b, c) ((a) * (b) + (c))
#include "any_simd.h"
