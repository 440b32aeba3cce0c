/* Sigmoid and Tanh of 16-bit codes whose scale is a power of two, as the built-in kernels compute
 * them: in fixed point. Numbers have 16 bits, of which so many are before the point: 0 (Q15), 2
 * (Q13) or 3 (Q12). Exponentials are products of exp(-2^k) and a polynomial for what is left of a
 * quarter; quotients are found by Newton's method. */
#include "lower.h"
#include "wide.h"

enum { ONE = INT16_MAX }; /* in Q15, as near as it gets */

static int64_t saturated(int64_t v) {
  return v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v;
}

/* a * b / 2^15, halves away from zero. */
static int64_t product(int64_t a, int64_t b) {
  const int64_t ab = a * b;
  if (a == INT16_MIN && b == INT16_MIN) return INT16_MAX;
  return (ab + (ab < 0 ? 1 - (1 << 14) : 1 << 14)) / (1 << 15);
}

/* v / 2^bits, halves away from zero. */
static int64_t quotient(int64_t v, int64_t bits) {
  const int64_t half = INT64_C(1) << (bits - 1);
  return v < 0 ? -((half - v) >> bits) : (v + half) >> bits;
}

/* exp(x) of -1/4 <= x < 0, both in Q15: from its series around -1/8. */
static int64_t exp_of_quarter(int64_t x) {
  enum { MIDDLE = 1 << 12, EXP_OF_MIDDLE = 28918, THIRD = 10923 };
  const int64_t a = x + MIDDLE, a2 = product(a, a), a3 = product(a2, a), a4 = product(a2, a2);
  const int64_t rest = quotient(product(quotient(a4, 2) + a3, THIRD) + a2, 1);
  return saturated(EXP_OF_MIDDLE + product(EXP_OF_MIDDLE, a + rest));
}

/* exp(x), in Q15, of x <= 0 with `whole` bits before the point. */
static int64_t exp_of_negative(int64_t x, int64_t whole) {
  /* of -1/4 .. -16 */
  static const int16_t exp_of_powers[] = {25520, 19875, 12055, 4435, 600, 11, 0};
  const int64_t bits = 15 - whole, quarter = INT64_C(1) << (bits - 2);
  const int64_t in_quarter = (x & (quarter - 1)) - quarter, left = in_quarter - x;
  if (x == 0) return ONE;
  int64_t y = exp_of_quarter(saturated(in_quarter * (INT64_C(1) << whole)));
  for (int64_t k = 0; k < whole + 2; k++)
    if (left & quarter << k) y = product(y, exp_of_powers[k]);
  return y;
}

/* 2 / (1 + x) of 0 <= x <= 1 in Q15, in Q13. */
static int64_t two_over_one_plus(int64_t x) {
  enum { START = 23130, SLOPE = -15420, ONE_Q13 = 1 << 13 }; /* 48/17, -32/17 */
  const int64_t half = (x + ONE + 1) / 2;                    /* of the denominator */
  int64_t y = START + product(half, SLOPE);
  for (int step = 0; step < 3; step++) y += saturated(product(y, ONE_Q13 - product(half, y)) * 4);
  return y;
}

/* sigmoid(x) = 1 / (1 + exp(-x)), and 1 less that of -x. */
int16_t tfl_sigmoid_of_power(const void *numbers, int64_t code) {
  (void)numbers;
  if (code == 0) return 1 << 14;
  const int64_t size = code > 0 ? code : -code;
  const int64_t y = saturated(two_over_one_plus(exp_of_negative(-saturated(size), 3)) * 2);
  return (int16_t)(code > 0 ? y : ONE - y);
}

/* tanh(x) = (1 - e) / (1 + e) = 2 / (1 + e) - 1 with e = exp(-2 |x|), of x with `whole` bits before
 * the point, up to 4. */
static int16_t tanh_in(int64_t x, int64_t whole) {
  if (x == 0) return 0;
  const int64_t e = exp_of_negative(x < 0 ? x : -x, whole + 1);
  const int64_t y = saturated((two_over_one_plus(e) - (1 << 13)) * 4);
  return (int16_t)(x < 0 ? -y : y);
}

/* *numbers: the bits by which codes are shifted to become Q12. */
int16_t tfl_tanh_of_power(const void *numbers, int64_t code) {
  return tanh_in(saturated(code * (INT64_C(1) << *(const int *)numbers)), 3);
}

int16_t tfl_tanh_of_whole(const void *numbers, int64_t code) {
  return tanh_in(code, *(const int *)numbers);
}
