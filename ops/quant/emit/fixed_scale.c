/* The number in lo .. hi that is nearest to v. */
static int64_t fixed_clamp(int64_t v, int64_t lo, int64_t hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

/* x * 2^left * m * 2^-31 in 32 bits, halves up; then * 2^-right, halves away from zero. */
static int32_t fixed_scaled(int32_t x, int32_t m, int32_t left, int32_t right) {
  const int64_t wide = fixed_clamp(x * ((int64_t)1 << left), INT32_MIN, INT32_MAX);
  const int64_t v = fixed_clamp((wide * m + 1073741824) >> 31, INT32_MIN, INT32_MAX);
  const int64_t mask = ((int64_t)1 << right) - 1;
  return (int32_t)((v >> right) + ((v & mask) > (mask >> 1) + (v < 0)));
}
