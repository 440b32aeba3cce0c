/* Reductions of f32 for AVX2. */
#include "reduce_simd.h"
