/* Pools in f32 for NEON: pool_simd.h, compiled with its flags. */
#include "pool_simd.h"
