/* Products of f32 and i8: each row of x becomes codes of 8 bits, by its own scale and zero point.
 * Element [k][j] of w stands at k * w_row + j * w_column. */
static void dynamic_matmul(const float *x, const int8_t *w, const float *scales,
                           int32_t scales_step, const float *bias, float *y, int32_t rows,
                           int32_t columns, int32_t depth, int32_t w_row, int32_t w_column,
                           int32_t *codes) {
  for (int32_t i = 0; i < rows; i++) {
    float least = 0.0f, most = 0.0f;
    for (int32_t k = 0; k < depth; k++) {
      least = x[k] < least ? x[k] : least;
      most = x[k] > most ? x[k] : most;
    }
    const float factor = least == most ? 1.0f : 255.0f / (most - least), scale = 1.0f / factor;
    const float below = -128.0f + least * factor, above = 127.0f + most * factor;
    const float zero = below + above > 0.0f ? -128.0f - least * factor : 127.0f - most * factor;
    const float place = rintf(!(zero > -128.0f) ? -128.0f : zero > 127.0f ? 127.0f : zero);
    const float low = -128.0f - place, high = 127.0f - place;
    for (int32_t k = 0; k < depth; k++) {
      const float code = x[k] * factor > low ? x[k] * factor : low;
      codes[k] = (int32_t)rintf(code < high ? code : high);
    }
    for (int32_t j = 0; j < columns; j++) {
      const int8_t *to = w + j * w_column;
      int32_t sum = 0;
      for (int32_t k = 0; k < depth; k++) {
        sum += codes[k] * to[k * w_row];
      }
      const double more = bias != NULL ? (double)bias[j] : 0.0;
      y[j] = (float)((double)((float)sum * scale) * (double)scales[j * scales_step] + more);
    }
    x += depth;
    y += columns;
  }
}
