/* Sizes of a recurrent operator. Direction 1 always runs backwards. */
struct rnn {
  int32_t steps, batch, input, hidden, gates, directions, reverse, batch_first;
  int32_t input_forget, reset_later; /* of LSTM, of GRU */
  float clip;                        /* 0: none */
  float (*activation[2][3])(float);  /* of a direction */
};

/* What one direction reads; bias, peepholes and states may be NULL. */
struct rnn_weights {
  const float *w, *r, *bias, *peep;
};

/* x within the clip of the model. */
static float rnn_clip(const struct rnn *n, float x) {
  return n->clip <= 0.0f ? x : x > n->clip ? n->clip : x < -n->clip ? -n->clip : x;
}

/* The sum of the products of a and b, in eight sums that are added at the end. */
static float rnn_dot(const float *a, const float *b, int32_t n) {
  float lane[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  const int32_t even = n / 8 * 8;
  for (int32_t k = 0; k < even; k += 8) {
    for (int32_t i = 0; i < 8; i++) {
      lane[i] += a[k + i] * b[k + i];
    }
  }
  float sum =
      ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
  for (int32_t k = even; k < n; k++) {
    sum += a[k] * b[k];
  }
  return sum;
}

/* What gate row u gets from the input, with the biases of both sides where they may be added. */
static float rnn_from_input(const struct rnn *n, const struct rnn_weights *d, const float *x,
                            int32_t u) {
  const int32_t width = n->gates * n->hidden, apart = n->reset_later != 0 && u >= 2 * n->hidden;
  const float more = apart != 0 || d->bias == NULL ? 0.0f : d->bias[width + u];
  return rnn_dot(x, d->w + u * n->input, n->input) + (d->bias != NULL ? d->bias[u] + more : 0.0f);
}

/* One direction of one sequence, which has `length` steps; room: gates and a row, behind them the
 * state h, and c, which only an LSTM has. step() makes of them the next ones. */
static void rnn_sequence(const struct rnn *n, int32_t direction, int32_t sequence, int32_t length,
                         const struct rnn_weights *d, const float *x, float *y, float *room,
                         void (*step)(const struct rnn *, int32_t, const struct rnn_weights *,
                                      const float *, float *, float *)) {
  const int32_t hidden = n->hidden;
  float *h = room + (n->gates + 1) * hidden;
  for (int32_t k = 0; k < n->steps; k++) {
    const int32_t backwards = direction == 1 || n->reverse != 0;
    const int32_t t = k < length && backwards != 0 ? length - 1 - k : k;
    const int32_t row = n->batch_first != 0 ? sequence * n->steps + t : t * n->batch + sequence;
    if (k < length) {
      step(n, direction, d, x + row * n->input, h, room);
    }
    if (y != NULL) {
      const int32_t at = n->batch_first != 0
                             ? row * n->directions + direction
                             : (t * n->directions + direction) * n->batch + sequence;
      for (int32_t u = 0; u < hidden; u++) {
        y[at * hidden + u] = k < length ? h[u] : 0.0f;
      }
    }
  }
}

/* The part of p that is a direction's, if p is there. */
static const float *rnn_part(const float *p, int32_t offset) {
  return p != NULL ? p + offset : NULL;
}

/* lengths, of each sequence, biases, first states, peepholes and outputs may be NULL. */
static void rnn(const struct rnn *n, const float *x, const float *w, const float *r,
                const float *bias, const int32_t *lengths, const float *h0, const float *c0,
                const float *peep, float *y, float *y_h, float *y_c, float *room,
                void (*step)(const struct rnn *, int32_t, const struct rnn_weights *, const float *,
                             float *, float *)) {
  const int32_t hidden = n->hidden, width = n->gates * hidden;
  float *h = room + width + hidden, *c = h + hidden;
  for (int32_t direction = 0; direction < n->directions; direction++) {
    const struct rnn_weights d = {w + direction * width * n->input, r + direction * width * hidden,
                                  rnn_part(bias, direction * 2 * width),
                                  rnn_part(peep, direction * 3 * hidden)};
    for (int32_t b = 0; b < n->batch; b++) {
      const int32_t state =
          hidden * (n->batch_first != 0 ? b * n->directions + direction : direction * n->batch + b);
      const int32_t asked = lengths != NULL ? lengths[b] : n->steps;
      const int32_t length = asked < 0 ? 0 : asked > n->steps ? n->steps : asked;
      for (int32_t u = 0; u < hidden; u++) {
        h[u] = h0 != NULL ? h0[state + u] : 0.0f;
        c[u] = c0 != NULL ? c0[state + u] : 0.0f;
      }
      rnn_sequence(n, direction, b, length, &d, x, y, room, step);
      if (y_h != NULL) {
        memcpy(y_h + state, h, sizeof *h * (size_t)hidden);
      }
      if (y_c != NULL) {
        memcpy(y_c + state, c, sizeof *c * (size_t)hidden);
      }
    }
  }
}
