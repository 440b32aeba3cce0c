/* To the nearest, half to even; NaN has one pattern for each sign. */
static uint16_t f32_to_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x != x) {
    return (uint16_t)((bits >> 16 & 0x8000) | 0x7fc0);
  }
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
