/* MatMulNBits and MatMulBnb4 for AVX2. */
#include "blocks_f32.h"

BLOCKS_KERNEL(mat_mul_n_bits_f32_avx2, blocks_of_bits)
BLOCKS_KERNEL(mat_mul_bnb4_f32_avx2, blocks_of_table)
