/* The sum of two 8-bit values of scales of their own, as one of the output's. */
struct quant_add {
  float a_scale, a_zero, b_scale, b_zero, y_scale, least, most, y_zero, tie;
};

static void quant_add(const struct quant_add *s, const int8_t *a, const int8_t *b, int8_t *y,
                      int32_t n) {
  for (int32_t k = 0; k < n; k++) {
    const float u = ((float)a[k] - s->a_zero) * s->a_scale;
    const float v = ((float)b[k] - s->b_zero) * s->b_scale;
    float q = (u + v) / s->y_scale;
    q = q > s->least ? q : s->least;
    q = q < s->most ? q : s->most;
    const float whole = round_even(q), up = q - whole >= s->tie ? 1.0f : 0.0f;
    y[k] = (int8_t)(whole + up + s->y_zero);
  }
}
