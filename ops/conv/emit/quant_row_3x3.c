/* Sums of n neighbouring outputs of one filter of 3 x 3 taps, which are neighbours, too. */
static void quant_row_3x3(const struct quant_conv *c, const int16_t *x, const int16_t *taps,
                          int32_t n, int32_t *sum) {
  const int32_t row = c->w.left + c->w.in_w + c->w.right, step = c->w.stride_w;
  const int32_t t2 = taps[2], t5 = taps[5], t8 = taps[8];
#if defined(TN_ARM_DSP)
  const int32_t t01 = quant_pair(taps), t34 = quant_pair(taps + 3), t67 = quant_pair(taps + 6);
#endif
  for (int32_t k = 0; k < n; k++) {
    const int16_t *second = x + row, *third = second + row;
    const int32_t one = x[2] * t2 + second[2] * t5 + third[2] * t8;
#if defined(TN_ARM_DSP)
    const int32_t two = __smlad(quant_pair(second), t34, __smlad(quant_pair(x), t01, one));
    sum[k] = __smlad(quant_pair(third), t67, two);
#else
    sum[k] = one + x[0] * taps[0] + x[1] * taps[1] + second[0] * taps[3] + second[1] * taps[4] +
             third[0] * taps[6] + third[1] * taps[7];
#endif
    x += step;
  }
}
