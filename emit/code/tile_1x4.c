/* sum[r][c] = sum over k < n of a[r * a_step + k] * b[k * b_step + c], for 4 columns of b. */
static void tile_1x4(const float *a, const float *b, int32_t b_step, int32_t n, float sum[4]) {
  float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
  for (int32_t k = 0; k < n; k++) {
    const float v = a[k];
    s0 += v * b[0];
    s1 += v * b[1];
    s2 += v * b[2];
    s3 += v * b[3];
    b += b_step;
  }
  sum[0] = s0;
  sum[1] = s1;
  sum[2] = s2;
  sum[3] = s3;
}
