/* Products of f64 and of integers, for AVX2. */
#include <immintrin.h>

#define ANY_NAME(x) x##_avx2
#include "any_simd.h"
