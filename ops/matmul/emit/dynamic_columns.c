/* The sum of products of codes and a column of weights. */
static int32_t dynamic_dot(const int8_t *w, int32_t step, const int16_t *codes, int32_t n) {
  const int32_t whole = n / 4 * 4;
  int32_t sum = 0;
  for (int32_t k = 0; k < whole; k += 4) {
    sum += codes[0] * w[0] + codes[2] * w[step] + codes[1] * w[2 * step] + codes[3] * w[3 * step];
    w += 4 * step;
    codes += 4;
  }
  for (int32_t k = 0; k < n - whole; k++) {
    sum += codes[k] * w[k * step];
  }
  return sum;
}

/* Products of f32 and i8: each row of x becomes codes of 8 bits, by its own scale and zero point.
 * w is [depth][columns]; bias may be NULL. codes: depth of them. */
static void dynamic_matmul_columns(const float *x, const int8_t *w, const float *scales,
                                   int32_t scales_step, const float *bias, float *y, int32_t rows,
                                   int32_t columns, int32_t depth, int16_t *codes) {
  for (int32_t i = 0; i < rows; i++) {
    const float scale = dynamic_codes(x, depth, codes);
    for (int32_t j = 0; j < columns; j++) {
      const int32_t sum = dynamic_dot(w + j, columns, codes, depth);
      const float v = (float)sum * scale * scales[j * scales_step];
      *y = bias != NULL ? v + bias[j] : v;
      y++;
    }
    x += depth;
  }
}
