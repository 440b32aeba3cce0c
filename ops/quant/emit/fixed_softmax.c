/* Rows of 16-bit codes. exp_of and reciprocal: of all codes of 16 bits, that of -1 is the last;
 * scale: a multiplier, a shift to the left and one to the right. */
struct fixed_softmax {
  int32_t rows, width, scale[3];
};

/* Exponentials stand in y until their sum is known, of which halves, quarters ... below 2 are
 * looked up. */
static void fixed_softmax_row(const struct fixed_softmax *p, const int16_t *x,
                              const int16_t *exp_of, const int16_t *reciprocal, int16_t *y) {
  int16_t top = -32768;
  int64_t sum = 0;
  int32_t bits = 0;
  for (int32_t k = 0; k < p->width; k++) {
    top = x[k] > top ? x[k] : top;
  }
  for (int32_t k = 0; k < p->width; k++) {
    const int32_t less = fixed_scaled(x[k] - top, p->scale[0], p->scale[1], p->scale[2]);
    y[k] = exp_of[(uint16_t)fixed_clamp((int64_t)less + 32767, -32768, 32767)];
    sum += y[k];
  }
  sum = sum > 1 ? sum : 1;
  while (sum >> (bits + 1) != 0) {
    bits++;
  }
  const int64_t code = (((sum << (30 - bits)) + 8192) >> 14) - 98304;
  const int64_t factor = reciprocal[(uint16_t)fixed_clamp(code, -32768, 32767)];
  const int64_t half = bits != 0 ? (int64_t)1 << (bits - 1) : 0;
  for (int32_t k = 0; k < p->width; k++) {
    y[k] = (int16_t)fixed_clamp((y[k] * factor + half) >> bits, 0, 32767);
  }
}

/* Row by row. */
static void fixed_softmax(const struct fixed_softmax *p, const int16_t *x, const int16_t *exp_of,
                          const int16_t *reciprocal, int16_t *y) {
  for (int32_t r = 0; r < p->rows; r++) {
    fixed_softmax_row(p, x + r * p->width, exp_of, reciprocal, y + r * p->width);
  }
}
