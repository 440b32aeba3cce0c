#if defined(TN_ARM_DSP)
/* 16 bits each of bytes 1 and 3, as __sxtb16() makes them of bytes 0 and 2. */
static int16x2_t quant_odd(uint32_t four) {
#if defined(__GNUC__)
  int16x2_t odd;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(four));
  return odd;
#else
  return __sxtb16((int8x4_t)(four >> 8));
#endif
}

/* sum, and the products of four elements and four weights, of which the 0th, 2nd, 1st and 3rd meet
 * them. */
static int32_t quant_four(const int8_t *w, const int16_t *x, int32_t sum) {
  uint32_t four;
  memcpy(&four, w, sizeof four);
  sum = __smlad(__sxtb16((int8x4_t)four), quant_pair(x), sum);
  return __smlad(quant_odd(four), quant_pair(x + 2), sum);
}
#else
/* sum, and the products of four elements and four weights, of which the 0th, 2nd, 1st and 3rd meet
 * them. */
static int32_t quant_four(const int8_t *w, const int16_t *x, int32_t sum) {
  return sum + w[0] * x[0] + w[2] * x[1] + w[1] * x[2] + w[3] * x[3];
}
#endif
