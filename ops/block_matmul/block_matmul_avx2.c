/* BlockMatMul for AVX2: block_matmul_simd.h, compiled with its flags. */
#include "block_matmul_simd.h"

BLOCK_MATMUL(avx2)
