/* The sum of a[k] * b[k] in eight parts. */
static float dot(const float *a, const float *b, int32_t n) {
  float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f, s4 = 0.0f, s5 = 0.0f, s6 = 0.0f, s7 = 0.0f;
  float rest = 0.0f;
  const int32_t even = n / 8 * 8;
  for (int32_t k = 0; k < even; k += 8) {
    s0 += a[k] * b[k];
    s1 += a[k + 1] * b[k + 1];
    s2 += a[k + 2] * b[k + 2];
    s3 += a[k + 3] * b[k + 3];
    s4 += a[k + 4] * b[k + 4];
    s5 += a[k + 5] * b[k + 5];
    s6 += a[k + 6] * b[k + 6];
    s7 += a[k + 7] * b[k + 7];
  }
  for (int32_t k = even; k < n; k++) {
    rest += a[k] * b[k];
  }
  return rest + (((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7)));
}

/* y = a * transposed b for a few rows of a; b is [columns][depth]. */
static void matmul_few_transposed(const float *a, const float *b, float *y, int32_t rows,
                                  int32_t depth, int32_t columns) {
  for (int32_t i = 0; i < rows; i++) {
    for (int32_t j = 0; j < columns; j++) {
      y[i * columns + j] = dot(a + i * depth, b + j * depth, depth);
    }
  }
}
