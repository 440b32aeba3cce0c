/* Products of bytes whose sums become f32. Element [k][j] of w is at k * w_row + j * w_column. */
struct quant_product {
  int32_t rows, columns, depth, w_row, w_column, scales_step, w_zero;
};

/* A sum as f32. */
static float quant_product_value(int32_t sum, float x_scale, float scale, float bias) {
  return (float)((double)sum * (double)x_scale * (double)scale + (double)bias);
}
