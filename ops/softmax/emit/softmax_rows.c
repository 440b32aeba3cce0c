/* Along rows that lie in memory in one piece; the sum in eight parts. */
static void softmax_rows(const float *x, float *y, int32_t rows, int32_t n) {
  for (int32_t row = 0; row < rows; row++) {
    float part[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, most = x[0];
    const int32_t even = n / 8 * 8;
    for (int32_t k = 1; k < n; k++) {
      most = x[k] > most ? x[k] : most;
    }
    for (int32_t k = 0; k < n; k++) {
      y[k] = tn_exp_f32(x[k] - most);
      part[k < even ? k % 8 : 0] += y[k];
    }
    const float scale = 1.0f / (((part[0] + part[1]) + (part[2] + part[3])) +
                                ((part[4] + part[5]) + (part[6] + part[7])));
    for (int32_t k = 0; k < n; k++) {
      y[k] *= scale;
    }
    x += n;
    y += n;
  }
}
