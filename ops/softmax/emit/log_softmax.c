/* Along a dim whose n elements are `inner` apart; y may be x. */
static void log_softmax(const float *x, float *y, int32_t outer, int32_t n, int32_t inner) {
  for (int32_t row = 0; row < outer * inner; row++) {
    const int32_t first = row / inner * n * inner + row % inner;
    float most = x[first], sum = 0.0f;
    for (int32_t k = 1; k < n; k++) {
      most = x[first + k * inner] > most ? x[first + k * inner] : most;
    }
    for (int32_t k = 0; k < n; k++) {
      sum += tn_exp_f32(x[first + k * inner] - most);
    }
    const float shift = tn_log_f32(sum);
    for (int32_t k = 0; k < n; k++) {
      y[first + k * inner] = x[first + k * inner] - most - shift;
    }
  }
}
