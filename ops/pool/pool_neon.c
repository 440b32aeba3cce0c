/* Pools for NEON: pool_simd.h, pool_last_simd.h and pool_planes_simd.h, compiled with its
 * flags. */
#include "pool_last_simd.h"
#include "pool_planes_simd.h"
