/* MatMulNBits and MatMulBnb4, any machine. */
#include "blocks_f32.h"

BLOCKS_KERNEL(mat_mul_n_bits_f32_c, blocks_of_bits)
BLOCKS_KERNEL(mat_mul_bnb4_f32_c, blocks_of_table)
