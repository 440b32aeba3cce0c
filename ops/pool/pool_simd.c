/* Pools with vectors. */
#include "pool_last_simd.h"
#include "pool_planes_simd.h"
