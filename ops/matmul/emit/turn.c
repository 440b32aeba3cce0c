/* The rows of a transposed A. */
static void matmul_turn(const float *a, float *to, int32_t rows, int32_t depth) {
  for (int32_t i = 0; i < rows; i++) {
    for (int32_t k = 0; k < depth; k++) {
      to[i * depth + k] = a[k * rows + i];
    }
  }
}
