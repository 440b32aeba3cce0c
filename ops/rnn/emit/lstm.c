/* A step of an LSTM: gates i, o, f, c; behind the state h lies c. */
static void lstm_step(const struct rnn *n, int32_t direction, const struct rnn_weights *d,
                      const float *x, float *h, float *g) {
  float (*const *act)(float) = n->activation[direction];
  const int32_t hidden = n->hidden;
  const float *p = d->peep;
  float *c = h + hidden;
  for (int32_t u = 0; u < 4 * hidden; u++) {
    g[u] = rnn_from_input(n, d, x, u) + rnn_dot(h, d->r + u * hidden, hidden);
  }
  for (int32_t u = 0; u < hidden; u++) {
    const float i = act[0](rnn_clip(n, g[u] + (p != NULL ? p[u] * c[u] : 0.0f)));
    const float seen = p != NULL ? p[2 * hidden + u] * c[u] : 0.0f;
    const float f = n->input_forget != 0 ? 1.0f - i : act[0](rnn_clip(n, g[2 * hidden + u] + seen));
    const float now = f * c[u] + i * act[1](rnn_clip(n, g[3 * hidden + u]));
    const float more = p != NULL ? p[hidden + u] * now : 0.0f;
    const float o = act[0](rnn_clip(n, g[hidden + u] + more));
    c[u] = now;
    h[u] = o * act[2](now);
  }
}
