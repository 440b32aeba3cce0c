/* The kernels of quant_simd.h and quant_add_simd.h for AVX2. */
#include "quant_add_simd.h"
