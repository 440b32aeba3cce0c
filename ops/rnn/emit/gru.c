/* A step of a GRU: gates z, r, h, and room for a row behind them. */
static void gru_step(const struct rnn *n, int32_t direction, const struct rnn_weights *d,
                     const float *x, float *h, float *g) {
  float (*const *act)(float) = n->activation[direction];
  const int32_t hidden = n->hidden;
  const float *bias = rnn_part(d->bias, 5 * hidden);
  float *scaled = g + 3 * hidden;
  for (int32_t u = 0; u < 2 * hidden; u++) {
    const float sum = rnn_from_input(n, d, x, u) + rnn_dot(h, d->r + u * hidden, hidden);
    g[u] = act[0](rnn_clip(n, sum));
  }
  for (int32_t u = 0; u < hidden; u++) {
    scaled[u] = n->reset_later != 0 ? h[u] : g[hidden + u] * h[u];
  }
  for (int32_t u = 0; u < hidden; u++) {
    float state = rnn_dot(scaled, d->r + (2 * hidden + u) * hidden, hidden);
    if (n->reset_later != 0) {
      state = g[hidden + u] * (state + (bias != NULL ? bias[u] : 0.0f));
    }
    g[2 * hidden + u] = act[1](rnn_clip(n, rnn_from_input(n, d, x, 2 * hidden + u) + state));
  }
  for (int32_t u = 0; u < hidden; u++) {
    h[u] = (1.0f - g[u]) * g[2 * hidden + u] + g[u] * h[u];
  }
}
