#if defined(TN_ARM_DSP)
/* Cortex-M4 and larger: smlad adds two products of 16 bits; such a pair is one load. */
static int32_t quant_pair(const int16_t *x) {
  int32_t pair;
  memcpy(&pair, x, sizeof pair);
  return pair;
}
#endif
