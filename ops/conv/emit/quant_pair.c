#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>

/* Cortex-M4 and larger: smlad adds two products of 16 bits; such a pair is one load. */
static int32_t quant_pair(const int16_t *x) {
  int32_t pair;
  memcpy(&pair, x, sizeof pair);
  return pair;
}
#endif
