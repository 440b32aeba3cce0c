/* Multiply-adds on 16 registers: enough to hide their latency. */
#include <arm_neon.h>

#include "harness/peak.h"

enum { REGISTERS = 16, LANES = 4 };

double check_peak_neon(int64_t n, float *out) {
  float32x4_t acc[REGISTERS];
  const float32x4_t a = vdupq_n_f32(0.999f), b = vdupq_n_f32(1.0f);
  for (int j = 0; j < REGISTERS; j++) acc[j] = vdupq_n_f32((float)j);
  for (int64_t k = 0; k < n; k++)
    for (int j = 0; j < REGISTERS; j++) acc[j] = vfmaq_f32(b, acc[j], a);
  for (int j = 1; j < REGISTERS; j++) acc[0] = vaddq_f32(acc[0], acc[j]);
  *out += vgetq_lane_f32(acc[0], 0);
  return (double)n * REGISTERS * LANES * 2;
}
