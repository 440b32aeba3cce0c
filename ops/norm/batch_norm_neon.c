/* Batch normalisation for NEON. */
#include "batch_norm_simd.h"
