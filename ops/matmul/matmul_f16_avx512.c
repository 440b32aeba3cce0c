/* HalfMatMul with weights of f16 for AVX-512: matmul_simd.h, compiled with its flags. */
#define MATMUL_F16
#include "matmul_simd.h"
