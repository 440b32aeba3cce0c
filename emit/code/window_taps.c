/* Which taps of a window that begins at `start` lie inside: *first up to, not with, *end. */
static void window_taps(int32_t start, int32_t n_taps, int32_t dilation, int32_t size,
                        int32_t *first, int32_t *end) {
  *first = start < 0 ? (dilation - 1 - start) / dilation : 0;
  *end = n_taps;
  if (start + (n_taps - 1) * dilation >= size) {
    *end = start < size ? (size - start + dilation - 1) / dilation : 0;
  }
  if (*end < *first) {
    *end = *first;
  }
}
