/* A step of an RNN of one gate. */
static void simple_step(const struct rnn *n, int32_t direction, const struct rnn_weights *d,
                        const float *x, float *h, float *g) {
  const int32_t hidden = n->hidden;
  for (int32_t u = 0; u < hidden; u++) {
    g[u] = rnn_from_input(n, d, x, u) + rnn_dot(h, d->r + u * hidden, hidden);
  }
  for (int32_t u = 0; u < hidden; u++) {
    h[u] = n->activation[direction][0](rnn_clip(n, g[u]));
  }
}
