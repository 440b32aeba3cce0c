/* What one LSTM asks for. scale: of the sums of the input for each gate, of those of the state, of
 * the output; each a multiplier, a shift to the left and one to the right. */
struct fixed_lstm {
  int32_t steps, batch, width, units, x_zero, h_zero;
  int32_t cell_shift, clip; /* of the product of two gates; of cells */
  int32_t reverse;
  int32_t scale[9][3];
};

/* The nearest number of 16 bits. */
static int32_t fixed_lstm_bounded(int64_t v) { return (int32_t)fixed_clamp(v, -32768, 32767); }

/* v * 2^-bits, halves away from zero. */
static int64_t fixed_lstm_halves(int64_t v, int32_t bits) {
  const int64_t mask = ((int64_t)1 << bits) - 1;
  return (v >> bits) + ((v & mask) > (mask >> 1) + (v < 0));
}

/* Adds the sum of (x - zero) * w, which wraps, scaled. */
static int32_t fixed_lstm_sum(const int8_t *x, int32_t zero, const int8_t *w, int32_t n,
                              uint32_t sum, const int32_t *scale) {
  for (int32_t k = 0; k < n; k++) {
    sum += (uint32_t)((x[k] - zero) * w[k]);
  }
  return fixed_lstm_bounded(fixed_scaled((int32_t)sum, scale[0], scale[1], scale[2]));
}

/* The gates of a step, one after the other: input, forget, cell, output. v: what functions of them
 * are read at. */
static void fixed_lstm_gates(const struct fixed_lstm *p, const int8_t *x, const int8_t *h,
                             const int8_t *w, const int8_t *r, const int32_t *bias, int32_t *v) {
  for (int32_t j = 0; j < 4 * p->units; j++) {
    const int32_t gate = j / p->units;
    const int32_t of_x =
        fixed_lstm_sum(x, p->x_zero, w + j * p->width, p->width, (uint32_t)bias[j], p->scale[gate]);
    const int32_t of_h =
        fixed_lstm_sum(h, p->h_zero, r + j * p->units, p->units, 0, p->scale[4 + gate]);
    v[j] = fixed_lstm_bounded((int64_t)of_x + of_h);
  }
}

/* Cells and outputs of a step. Tables: of all codes of 16 bits, that of -1 is the last. */
static void fixed_lstm_step(const struct fixed_lstm *p, const int32_t *v, const int16_t *sigmoid,
                            const int16_t *tanh_of, const int16_t *cell_tanh, int16_t *c,
                            int8_t *h) {
  const int32_t n = p->units, *scale = p->scale[8];
  for (int32_t u = 0; u < n; u++) {
    const int32_t in = sigmoid[(uint16_t)v[u]], forget = sigmoid[(uint16_t)v[n + u]];
    const int32_t cell = tanh_of[(uint16_t)v[2 * n + u]], out = sigmoid[(uint16_t)v[3 * n + u]];
    const int32_t sum = fixed_lstm_bounded(fixed_lstm_halves((int64_t)forget * c[u], 15) +
                                           fixed_lstm_halves((int64_t)in * cell, p->cell_shift));
    c[u] = (int16_t)fixed_clamp(sum, -p->clip, p->clip);
    const int32_t y = out * cell_tanh[(uint16_t)c[u]];
    const int64_t code = (int64_t)fixed_scaled(y, scale[0], scale[1], scale[2]) + p->h_zero;
    h[u] = (int8_t)fixed_clamp(code, -128, 127);
  }
}

/* h and c may be h0 and c0. v: room for 4 * units. */
static void fixed_lstm(const struct fixed_lstm *p, const int8_t *x, const int8_t *w,
                       const int8_t *r, const int32_t *bias, const int8_t *h0, const int16_t *c0,
                       const int16_t *sigmoid, const int16_t *tanh_of, const int16_t *cell_tanh,
                       int8_t *y, int8_t *h, int16_t *c, int32_t *v) {
  const int32_t n = p->units;
  for (int32_t k = 0; k < p->batch * n; k++) {
    h[k] = h0[k];
    c[k] = c0[k];
  }
  for (int32_t b = 0; b < p->batch; b++) {
    for (int32_t k = 0; k < p->steps; k++) {
      const int32_t row = (p->reverse != 0 ? p->steps - 1 - k : k) * p->batch + b;
      fixed_lstm_gates(p, x + row * p->width, h + b * n, w, r, bias, v);
      fixed_lstm_step(p, v, sigmoid, tanh_of, cell_tanh, c + b * n, h + b * n);
      for (int32_t u = 0; u < n; u++) {
        y[row * n + u] = h[b * n + u];
      }
    }
  }
}
