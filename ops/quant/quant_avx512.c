/* The kernels of quant_simd.h and quant_add_simd.h for AVX-512. */
#include "quant_add_simd.h"
