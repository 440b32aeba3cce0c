/* Multiply-adds on 12 registers: enough to hide their latency. */
#include <immintrin.h>

#include "harness/peak.h"

enum { REGISTERS = 12, LANES = 8 };

double check_peak_avx2(int64_t n, float *out) {
  __m256 acc[REGISTERS];
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1.0f);
  float lanes[LANES];
  for (int j = 0; j < REGISTERS; j++) acc[j] = _mm256_set1_ps((float)j);
  for (int64_t k = 0; k < n; k++)
    for (int j = 0; j < REGISTERS; j++) acc[j] = _mm256_fmadd_ps(acc[j], a, b);
  for (int j = 1; j < REGISTERS; j++) acc[0] = _mm256_add_ps(acc[0], acc[j]);
  _mm256_storeu_ps(lanes, acc[0]);
  *out += lanes[0];
  return (double)n * REGISTERS * LANES * 2;
}
