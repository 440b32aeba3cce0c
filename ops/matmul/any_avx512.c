/* Products of f64 and of integers, for AVX-512. */
#include <immintrin.h>

#define ANY_NAME(x) x##_avx512
#include "any_simd.h"
