/* Codes of 8 bits less their zero point, of n numbers, by the least and the largest of these and 0;
 * answers their scale. Of each whole four, the 0th, 2nd, 1st and 3rd code stand in this order. */
static float dynamic_codes(const float *x, int32_t n, int16_t *codes) {
  const float magic = 12582912.0f; /* 1.5 * 2^23: a sum with it has no digits behind the point */
  const int32_t whole = n / 4 * 4;
  float least = 0.0f, most = 0.0f;
  for (int32_t k = 0; k < n; k++) {
    least = x[k] < least ? x[k] : least;
    most = x[k] > most ? x[k] : most;
  }
  const float factor = least == most ? 1.0f : 255.0f / (most - least);
  const float below = -128.0f + least * factor, above = 127.0f + most * factor;
  const float zero = below + above > 0.0f ? -128.0f - least * factor : 127.0f - most * factor;
  const float place = !(zero > -128.0f) ? -128.0f : zero > 127.0f ? 127.0f : (zero + magic) - magic;
  const float low = -128.0f - place, high = 127.0f - place;
  for (int32_t k = 0; k < n; k++) {
    const int32_t middle = k < whole && (k % 4 == 1 || k % 4 == 2);
    const float code = x[k] * factor > low ? x[k] * factor : low;
    codes[middle != 0 ? k ^ 3 : k] = (int16_t)(((code < high ? code : high) + magic) - magic);
  }
  return 1.0f / factor;
}
