/* BlockMatMul for AVX-512 without VNNI. */
#include "block_matmul_simd_dot.c"
