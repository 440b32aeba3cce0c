/* Pools for AVX-512: pool_simd.h and pool_last_simd.h, compiled with its flags. */
#include "pool_last_simd.h"
