/* The integer part of x modulo 2^64; of NaN and infinities 0. */
static uint64_t whole_of_f32(float x) {
  uint32_t bits;
  if (x != x || (x >= -0x1p63f && x < 0x1p63f)) {
    return x != x ? 0 : (uint64_t)(int64_t)x;
  }
  memcpy(&bits, &x, sizeof bits);
  const uint32_t shift = (bits >> 23 & 255) - 150;
  const uint64_t size = shift < 64 ? (uint64_t)((bits & 0x7fffff) | 0x800000) << shift : 0;
  return x < 0.0f ? 0 - size : size;
}
