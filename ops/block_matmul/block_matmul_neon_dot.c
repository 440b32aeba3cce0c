/* BlockMatMul for NEON with dot products: block_matmul_simd.h, compiled with its flags. */
#include "block_matmul_simd.h"

BLOCK_MATMUL(neon_dot)
