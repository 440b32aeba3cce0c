/* y = alpha * y + beta * c; c has steps of 0 where it is the same for all rows or columns. */
static void gemm_finish(float *y, int32_t rows, int32_t columns, float alpha, float beta,
                        const float *c, int32_t row_step, int32_t column_step) {
  for (int32_t i = 0; i < rows; i++) {
    for (int32_t j = 0; j < columns; j++) {
      if (alpha != 1.0f) {
        *y *= alpha;
      }
      if (c != NULL) {
        *y += beta * c[i * row_step + j * column_step];
      }
      y++;
    }
  }
}
