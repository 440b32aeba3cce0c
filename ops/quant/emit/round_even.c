/* To the nearest whole number, ties to even; what is beyond a million saturates anyway. */
static float round_even(float x) {
  const float magic = 12582912.0f; /* 1.5 * 2^23: a sum with it has no digits behind the point */
  const float near = x > 1e6f ? 1e6f : x < -1e6f ? -1e6f : x;
  return (near + magic) - magic;
}
