/* Pools for NEON: pool_simd.h and pool_last_simd.h, compiled with its flags. */
#include "pool_last_simd.h"
