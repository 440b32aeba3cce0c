/* BlockMatMul for AVX-512 VNNI: block_matmul_simd.h, compiled with its flags. */
#include "block_matmul_simd.h"

BLOCK_MATMUL(avx512_vnni)
