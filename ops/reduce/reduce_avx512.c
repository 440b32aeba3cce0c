/* Reductions of f32 for AVX-512. */
#include "reduce_simd.h"
