enum { MATMUL_BLOCK = 384 }; /* products that are summed up before the sum is added */

/* y = a * b; b is [depth][columns], or [columns][depth] if it is transposed. panel: 4 *
 * min(MATMUL_BLOCK, depth) floats. */
static void matmul(const float *a, const float *b, float *y, int32_t rows, int32_t depth,
                   int32_t columns, int32_t transposed, float *panel) {
  const int32_t row_step = transposed != 0 ? 1 : columns, step = transposed != 0 ? depth : 1;
  for (int32_t j = 0; j < columns; j += 4) {
    const int32_t n_columns = columns - j < 4 ? columns - j : 4;
    for (int32_t k = 0; k == 0 || k < depth; k += MATMUL_BLOCK) {
      const int32_t n = depth - k < MATMUL_BLOCK ? depth - k : MATMUL_BLOCK;
      for (int32_t i = 0; i < n; i++) {
        for (int32_t c = 0; c < 4; c++) {
          panel[4 * i + c] = c < n_columns ? b[(k + i) * row_step + (j + c) * step] : 0.0f;
        }
      }
      tile_rows(a + k, depth, rows, panel, 4, n, NULL, k == 0, y + j, columns, n_columns);
    }
  }
}
