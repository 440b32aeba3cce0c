/* MatMul and Gemm in f32 with vectors. */
#include "matmul_simd.h"
