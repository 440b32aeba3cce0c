/* The integer part of x modulo 2^64; of NaN and infinities 0. Made of the bits of x: where floats
 * of 64 bits are software, a cast to int64_t would bring it along. */
static uint64_t whole_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t power =
      bits >> 23 & 255; /* of the last bit of the 24 that count: 2^(power - 150) */
  const uint64_t part = (bits & 0x7fffff) | 0x800000;
  uint64_t size = 0;
  if (power >= 150 && power < 150 + 64) {
    size = part << (power - 150);
  } else if (power < 150 && power >= 127) {
    size = part >> (150 - power);
  }
  return bits >> 31 != 0 ? 0 - size : size;
}
