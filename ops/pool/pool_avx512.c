/* Pools in f32 for AVX-512: pool_simd.h, compiled with its flags. */
#include "pool_simd.h"
