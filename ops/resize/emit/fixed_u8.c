/* Codes between four pixels each, by weights of 11 bits: places of rows and columns in threes. */
static void fixed_resize_u8(const uint8_t *x, uint8_t *y, const int32_t *rows,
                            const int32_t *columns, int32_t images, int32_t image, int32_t height,
                            int32_t width, int32_t channels) {
  for (int32_t i = 0; i < images * height; i++) {
    const uint8_t *from = x + i / height * image;
    const int32_t *v = rows + i % height * 3;
    for (const int32_t *u = columns; u < columns + width * 3; u += 3) {
      for (int32_t k = 0; k < channels; k++) {
        const int32_t a = from[v[0] + u[0] + k], b = from[v[0] + u[1] + k];
        const int32_t c = from[v[1] + u[0] + k], d = from[v[1] + u[1] + k];
        const int32_t above = a * 2048 + (b - a) * u[2], below = c * 2048 + (d - c) * u[2];
        *y++ = (uint8_t)((above * 2048 + (below - above) * v[2] + 2097152) >> 22);
      }
    }
  }
}
