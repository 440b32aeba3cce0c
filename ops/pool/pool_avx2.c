/* Pools in f32 for AVX2: pool_simd.h, compiled with its flags. */
#include "pool_simd.h"
