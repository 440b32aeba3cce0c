/* To the nearest, half to even; NaN has one pattern for each sign. */
static uint16_t f32_to_f16(float x) {
  uint32_t bits, shift = 13, kept;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size >= 0x477ff000) { /* 65520: it is rounded to 2^16 */
    return (uint16_t)(sign | (size > 0x7f800000 ? 0x7e00 : 0x7c00));
  }
  if (size < 0x33000000) { /* below half of the smallest */
    return (uint16_t)sign;
  }
  kept = size - (112U << 23);
  if (size < 0x38800000) { /* subnormal */
    shift = 126 - (size >> 23);
    kept = (size & 0x7fffff) | 0x800000;
  }
  const uint32_t half = 1U << (shift - 1), rest = kept & (2 * half - 1);
  kept >>= shift;
  return (uint16_t)(sign | (kept + (rest > half || (rest == half && (kept & 1) != 0))));
}
