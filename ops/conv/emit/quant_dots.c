/* Weights stand in blocks of two filters: of each four weights the 0th, 2nd, 1st and 3rd of the
 * one, then of the other. A filter has a multiple of eight, the last ones 0. */

/* Sums of two filters for one pixel. */
static void quant_dots_1(const int8_t *w, const int16_t *x, int32_t n, int32_t sum[2]) {
  int32_t s0 = 0, s1 = 0;
  for (const int16_t *end = x + n; x < end; x += 8) {
    s0 = quant_four(w, x, s0);
    s1 = quant_four(w + 4, x, s1);
    s0 = quant_four(w + 8, x + 4, s0);
    s1 = quant_four(w + 12, x + 4, s1);
    w += 16;
  }
  sum[0] = s0;
  sum[1] = s1;
}

/* Sums of two filters for two pixels, eight elements of each in turn. */
static void quant_dots_2(const int8_t *w, const int16_t *x, int32_t n, int32_t sum[4]) {
  int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0;
  for (const int16_t *end = x + 2 * n; x < end; x += 16) {
    s00 = quant_four(w, x, s00);
    s01 = quant_four(w, x + 8, s01);
    s10 = quant_four(w + 4, x, s10);
    s11 = quant_four(w + 4, x + 8, s11);
    s00 = quant_four(w + 8, x + 4, s00);
    s01 = quant_four(w + 8, x + 12, s01);
    s10 = quant_four(w + 12, x + 4, s10);
    s11 = quant_four(w + 12, x + 12, s11);
    w += 16;
  }
  sum[0] = s00;
  sum[1] = s01;
  sum[2] = s10;
  sum[3] = s11;
}
