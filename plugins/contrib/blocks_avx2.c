/* MatMulNBits and MatMulBnb4 for AVX2. */
#include <immintrin.h>
#include <stdint.h>

#define MULTIPLY_ADD(a, b, c) ((lanes)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))

/* 16 numbers at a time; answers how many are done. */
static int64_t decode_4bit_wide(const uint8_t *b, int64_t n, float zero, float scale, float *y) {
  const __m128i low = _mm_set1_epi8(15);
  const __m256 zeros = _mm256_set1_ps(zero), scales = _mm256_set1_ps(scale);
  int64_t k = 0;
  for (; k + 16 <= n; k += 16) {
    const __m128i bytes = _mm_loadl_epi64((const void *)(b + k / 2));
    const __m128i q =
        _mm_unpacklo_epi8(_mm_and_si128(bytes, low), _mm_and_si128(_mm_srli_epi16(bytes, 4), low));
    const __m256 first = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(q)),
                 second = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(q, 8)));
    _mm256_storeu_ps(y + k, _mm256_mul_ps(_mm256_sub_ps(first, zeros), scales));
    _mm256_storeu_ps(y + k + 8, _mm256_mul_ps(_mm256_sub_ps(second, zeros), scales));
  }
  return k;
}

/* Entries of a table of 16, by the low four bits of each lane. */
static inline __m256 look_up(__m256 low, __m256 high, __m256i q) {
  const __m256 is_high = _mm256_castsi256_ps(_mm256_slli_epi32(q, 28));
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, q), _mm256_permutevar8x32_ps(high, q),
                          is_high);
}

static int64_t decode_table_wide(const float *table, const uint8_t *b, int64_t n, float scale,
                                 float *y) {
  const __m128i low = _mm_set1_epi8(15);
  const __m256 scales = _mm256_set1_ps(scale),
               first = _mm256_mul_ps(_mm256_loadu_ps(table), scales),
               second = _mm256_mul_ps(_mm256_loadu_ps(table + 8), scales);
  int64_t k = 0;
  for (; k + 16 <= n; k += 16) {
    const __m128i bytes = _mm_loadl_epi64((const void *)(b + k / 2));
    const __m128i q =
        _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi16(bytes, 4), low), _mm_and_si128(bytes, low));
    _mm256_storeu_ps(y + k, look_up(first, second, _mm256_cvtepu8_epi32(q)));
    _mm256_storeu_ps(y + k + 8, look_up(first, second, _mm256_cvtepu8_epi32(_mm_srli_si128(q, 8))));
  }
  return k;
}

#include "blocks_f32.h"

BLOCKS_KERNEL(mat_mul_n_bits_f32_avx2, blocks_of_bits)
BLOCKS_KERNEL(mat_mul_bnb4_f32_avx2, blocks_of_table)
