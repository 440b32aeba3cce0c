/* y = a * b for a few rows of a; b is [depth][columns]. */
static void matmul_few(const float *a, const float *b, float *y, int32_t rows, int32_t depth,
                       int32_t columns) {
  for (int32_t i = 0; i < rows; i++) {
    const int32_t even = columns / 4 * 4;
    for (int32_t j = 0; j < even; j += 4) {
      tile_1x4(a, b + j, columns, depth, y + j);
    }
    for (int32_t j = even; j < columns; j++) {
      float sum = 0.0f;
      for (int32_t k = 0; k < depth; k++) {
        sum += a[k] * b[k * columns + j];
      }
      y[j] = sum;
    }
    a += depth;
    y += columns;
  }
}
