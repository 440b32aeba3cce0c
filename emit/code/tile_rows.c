/* tile_1x4 for 4 rows of a. */
static void tile_4x4(const float *a, int32_t a_step, const float *b, int32_t b_step, int32_t n,
                     float sum[16]) {
  const float *a0 = a, *a1 = a + a_step, *a2 = a1 + a_step, *a3 = a2 + a_step;
  float s00 = 0.0f, s01 = 0.0f, s02 = 0.0f, s03 = 0.0f;
  float s10 = 0.0f, s11 = 0.0f, s12 = 0.0f, s13 = 0.0f;
  float s20 = 0.0f, s21 = 0.0f, s22 = 0.0f, s23 = 0.0f;
  float s30 = 0.0f, s31 = 0.0f, s32 = 0.0f, s33 = 0.0f;
  for (int32_t k = 0; k < n; k++) {
    const float b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
    float v = a0[k];
    s00 += v * b0;
    s01 += v * b1;
    s02 += v * b2;
    s03 += v * b3;
    v = a1[k];
    s10 += v * b0;
    s11 += v * b1;
    s12 += v * b2;
    s13 += v * b3;
    v = a2[k];
    s20 += v * b0;
    s21 += v * b1;
    s22 += v * b2;
    s23 += v * b3;
    v = a3[k];
    s30 += v * b0;
    s31 += v * b1;
    s32 += v * b2;
    s33 += v * b3;
    b += b_step;
  }
  const float all[16] = {s00, s01, s02, s03, s10, s11, s12, s13,
                         s20, s21, s22, s23, s30, s31, s32, s33};
  memcpy(sum, all, sizeof all);
}

/* c[r][j] = sum of the products of row r of a and column j of b, + bias[r] if this is the first
 * block of a sum, + c[r][j] if not. b has 4 columns, of which n_columns go to c. */
static void tile_rows(const float *a, int32_t a_step, int32_t n_rows, const float *b,
                      int32_t b_step, int32_t n, const float *bias, int32_t first, float *c,
                      int32_t c_step, int32_t n_columns) {
  float sum[16];
  int32_t step;
  for (int32_t r = 0; r < n_rows; r += step) {
    step = n_rows - r >= 4 ? 4 : 1;
    if (step == 4) {
      tile_4x4(a + r * a_step, a_step, b, b_step, n, sum);
    } else {
      tile_1x4(a + r * a_step, b, b_step, n, sum);
    }
    for (int32_t i = 0; i < step; i++) {
      float *to = c + (r + i) * c_step;
      const float start = bias != NULL ? bias[r + i] : 0.0f;
      for (int32_t j = 0; j < n_columns; j++) {
        to[j] = sum[4 * i + j] + (first != 0 ? start : to[j]);
      }
    }
  }
}
