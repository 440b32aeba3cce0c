/* MatMul and Gemm in f32 for NEON: matmul_simd.h, compiled with its flags. */
#include "matmul_simd.h"
