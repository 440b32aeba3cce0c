/* Products of bytes whose sums become f32. Element [k][j] of w is at k * w_row + j * w_column. */
struct quant_product {
  int32_t rows, columns, depth, w_row, w_column, scales_step, x_zero, w_zero;
  float x_scale;
};

static float quant_product_value(const struct quant_product *p, int32_t sum, float scale,
                                 float bias) {
  return (float)((double)sum * (double)p->x_scale * (double)scale + (double)bias);
}
