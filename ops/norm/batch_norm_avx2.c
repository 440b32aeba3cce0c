/* Batch normalisation for AVX2. */
#include "batch_norm_simd.h"
