/* Negative indices count from the end. The nearest place stands for one that is out of bounds. */
static int32_t place_of(int64_t index, int32_t n) {
  const int64_t at = index < 0 ? index + n : index;
  return at < 0 ? 0 : at >= n ? n - 1 : (int32_t)at;
}
