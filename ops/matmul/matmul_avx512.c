/* MatMul and Gemm in f32 for AVX-512: matmul_simd.h, compiled with its flags. */
#include "matmul_simd.h"
