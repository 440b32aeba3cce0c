/* Reductions of f32 for NEON. */
#include "reduce_simd.h"
