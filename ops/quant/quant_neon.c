/* The kernels of quant_simd.h and quant_add_simd.h for NEON. */
#include "quant_add_simd.h"
