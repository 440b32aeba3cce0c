/* Batch normalisation for AVX-512. */
#include "batch_norm_simd.h"
