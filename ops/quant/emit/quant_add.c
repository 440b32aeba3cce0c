/* The sum of two 8-bit values of scales of their own, as one of the output's. */
struct quant_add {
  float a_scale, a_zero, b_scale, b_zero, y_scale, least, most, y_zero, tie;
};

/* The code of the sum of the codes a and b. */
static float quant_sum(const struct quant_add *s, float a, float b) {
  const float u = (a - s->a_zero) * s->a_scale, v = (b - s->b_zero) * s->b_scale;
  float q = (u + v) / s->y_scale;
  q = q > s->least ? q : s->least;
  q = q < s->most ? q : s->most;
  const float whole = round_even(q), up = q - whole >= s->tie ? 1.0f : 0.0f;
  return whole + up + s->y_zero;
}
