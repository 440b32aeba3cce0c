/* A float of IEEE 754 with a mantissa of 10 bits. */
static float f16_to_f32(uint16_t h) {
  const uint32_t size = h & 0x7fff;
  const float x = size >= 0x7c00 ? (size == 0x7c00 ? INFINITY : NAN)
                                 : f32_of_bits(size << 13) * 0x1p112f; /* 2^(127 - 15) */
  return (h & 0x8000) != 0 ? -x : x;
}
