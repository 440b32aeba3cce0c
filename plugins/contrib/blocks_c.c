/* MatMulNBits and MatMulBnb4, any machine. */
#include <stdint.h>

#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))

static int64_t decode_4bit_wide(const uint8_t *b, int64_t n, float zero, float scale, float *y) {
  (void)b, (void)n, (void)zero, (void)scale, (void)y;
  return 0;
}

static int64_t decode_table_wide(const float *table, const uint8_t *b, int64_t n, float scale,
                                 float *y) {
  (void)table, (void)b, (void)n, (void)scale, (void)y;
  return 0;
}

#include "blocks_f32.h"

BLOCKS_KERNEL(mat_mul_n_bits_f32_c, blocks_of_bits)
BLOCKS_KERNEL(mat_mul_bnb4_f32_c, blocks_of_table)
