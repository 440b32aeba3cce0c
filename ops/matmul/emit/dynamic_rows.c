/* Sums of products of codes and two rows of weights. */
static void dynamic_dots(const int8_t *a, const int8_t *b, const int16_t *codes, int32_t n,
                         int32_t sum[2]) {
  const int32_t whole = n / 4 * 4;
  int32_t s0 = 0, s1 = 0;
  for (int32_t k = 0; k < whole; k += 4) {
    s0 = quant_four(a + k, codes + k, s0);
    s1 = quant_four(b + k, codes + k, s1);
  }
  for (int32_t k = whole; k < n; k++) {
    s0 += codes[k] * a[k];
    s1 += codes[k] * b[k];
  }
  sum[0] = s0;
  sum[1] = s1;
}

/* Products of f32 and i8: each row of x becomes codes of 8 bits, by its own scale and zero point.
 * w is [columns][depth]; bias may be NULL. codes: depth of them. */
static void dynamic_matmul(const float *x, const int8_t *w, const float *scales,
                           int32_t scales_step, const float *bias, float *y, int32_t rows,
                           int32_t columns, int32_t depth, int16_t *codes) {
  for (int32_t i = 0; i < rows; i++) {
    const float scale = dynamic_codes(x, depth, codes);
    for (int32_t j = 0; j < columns; j += 2) {
      const int32_t n = columns - j < 2 ? 1 : 2;
      const int8_t *first = w + j * depth;
      int32_t sum[2];
      dynamic_dots(first, n == 2 ? first + depth : first, codes, depth, sum);
      for (int32_t c = 0; c < n; c++) {
        const float v = (float)sum[c] * scale * scales[(j + c) * scales_step];
        *y = bias != NULL ? v + bias[j + c] : v;
        y++;
      }
    }
    x += depth;
  }
}
