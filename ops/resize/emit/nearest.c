/* Each of `outer` planes becomes `rows` rows of n places of `bytes` bytes, taken from the rows and
 * places that are listed in bytes. */
static void resize_nearest(const void *x, void *y, int32_t outer, int32_t plane, const int32_t *row,
                           int32_t rows, const int32_t *place, int32_t n, int32_t bytes) {
  const uint8_t *from = x;
  uint8_t *to = y;
  for (int32_t r = 0; r < outer * rows; r++) {
    for (int32_t i = 0; i < n; i++) {
      memcpy(to, from + r / rows * plane + row[r % rows] + place[i], (size_t)bytes);
      to += bytes;
    }
  }
}
