/* Fourier transforms of mixed radix, decimation in time. roots: e^(-2 pi i k / length). order:
 * where the values stand in the input; radix: of each of `levels` joins, the first one first. */
struct dft {
  int32_t outer, inner, length, n_in, n_out, in_parts, out_parts;
  int32_t inverse, half; /* half: with inverse, the input is the first half of a spectrum */
  int32_t real;          /* of an even number of real values, as complex ones of half of it */
  int32_t levels, size;  /* of the transform */
  const int32_t *order, *radix;
  const double *roots;
};

struct dft_value {
  double re, im;
};

static struct dft_value dft_turn(const struct dft *s, struct dft_value x, int32_t k) {
  const double re = s->roots[2 * k],
               im = s->inverse != 0 ? -s->roots[2 * k + 1] : s->roots[2 * k + 1];
  const struct dft_value y = {x.re * re - x.im * im, x.re * im + x.im * re};
  return y;
}

static void dft_join_2(const struct dft *s, struct dft_value *y, int32_t m, int32_t step) {
  for (int32_t u = 0; u < m; u++) {
    const struct dft_value a = y[u], b = dft_turn(s, y[u + m], u * step);
    y[u].re = a.re + b.re;
    y[u].im = a.im + b.im;
    y[u + m].re = a.re - b.re;
    y[u + m].im = a.im - b.im;
  }
}

static void dft_join_4(const struct dft *s, struct dft_value *y, int32_t m, int32_t step) {
  const double sign = s->inverse != 0 ? -1.0 : 1.0;
  for (int32_t u = 0; u < m; u++) {
    const struct dft_value a = y[u], b = dft_turn(s, y[u + m], u * step);
    const struct dft_value c = dft_turn(s, y[u + 2 * m], 2 * u * step);
    const struct dft_value d = dft_turn(s, y[u + 3 * m], 3 * u * step);
    const struct dft_value p = {a.re + c.re, a.im + c.im}, q = {a.re - c.re, a.im - c.im};
    const struct dft_value r = {b.re + d.re, b.im + d.im};
    const struct dft_value t = {sign * (b.im - d.im), sign * (d.re - b.re)};
    y[u].re = p.re + r.re;
    y[u].im = p.im + r.im;
    y[u + m].re = q.re + t.re;
    y[u + m].im = q.im + t.im;
    y[u + 2 * m].re = p.re - r.re;
    y[u + 2 * m].im = p.im - r.im;
    y[u + 3 * m].re = q.re - t.re;
    y[u + 3 * m].im = q.im - t.im;
  }
}

/* room: p values. */
static void dft_join(const struct dft *s, struct dft_value *y, int32_t p, int32_t m, int32_t step,
                     struct dft_value *room) {
  for (int32_t u = 0; u < m; u++) {
    for (int32_t q = 0; q < p; q++) {
      room[q] = dft_turn(s, y[u + q * m], u * q * step);
    }
    for (int32_t k = 0; k < p; k++) {
      struct dft_value sum = room[0];
      int32_t at = 0;
      for (int32_t q = 1; q < p; q++) {
        at += k * m * step;
        at -= at >= s->length ? s->length : 0;
        const struct dft_value x = dft_turn(s, room[q], at);
        sum.re += x.re;
        sum.im += x.im;
      }
      y[u + k * m] = sum;
    }
  }
}

static void dft_transform(const struct dft *s, const struct dft_value *x, struct dft_value *y,
                          struct dft_value *room) {
  int32_t m = 1;
  for (int32_t k = 0; k < s->size; k++) {
    y[k] = x[s->order[k]];
  }
  for (int32_t level = 0; level < s->levels; level++) {
    const int32_t p = s->radix[level], n = p * m;
    for (int32_t at = 0; at < s->size; at += n) {
      if (p == 2) {
        dft_join_2(s, y + at, m, s->length / n);
      } else if (p == 4) {
        dft_join_4(s, y + at, m, s->length / n);
      } else {
        dft_join(s, y + at, p, m, s->length / n, room);
      }
    }
    m = n;
  }
}

/* Of the transform of pairs, that of the real values. */
static void dft_unfold(const struct dft *s, struct dft_value *y) {
  const int32_t half = s->length / 2;
  y[half] = y[0];
  for (int32_t k = 0; k <= half - k; k++) {
    const struct dft_value a = y[k], b = y[half - k];
    const struct dft_value even = {(a.re + b.re) / 2.0, (a.im - b.im) / 2.0};
    const struct dft_value pair = {(a.im + b.im) / 2.0, (b.re - a.re) / 2.0};
    const struct dft_value odd = dft_turn(s, pair, k);
    y[k].re = even.re + odd.re;
    y[k].im = even.im + odd.im;
    y[half - k].re = even.re - odd.re;
    y[half - k].im = odd.im - even.im;
  }
  for (int32_t k = half + 1; k < s->length; k++) {
    y[k].re = y[s->length - k].re;
    y[k].im = -y[s->length - k].im;
  }
}

/* From the first half of a spectrum, the other one: the conjugate values backwards. */
static void dft_mirror(struct dft_value *x, int32_t n) {
  x[0].im = 0.0;
  if (n % 2 == 0) {
    x[n / 2].im = 0.0;
  }
  for (int32_t k = n / 2 + 1; k < n; k++) {
    x[k].re = x[n - k].re;
    x[k].im = -x[n - k].im;
  }
}

/* A line of values that are s->inner apart; room: three lines. */
static void dft_line(const struct dft *s, const float *x, float *y, struct dft_value *room) {
  struct dft_value *in = room, *out = in + s->length;
  const int32_t wants = s->inverse != 0 && s->half != 0 ? s->length / 2 + 1 : s->length;
  const double scale = s->inverse != 0 ? 1.0 / (double)s->length : 1.0;
  for (int32_t j = 0; j < s->length; j++) {
    const float *from = x + j * s->inner * s->in_parts;
    const int32_t used = j < wants && j < s->n_in;
    in[j].re = used != 0 ? (double)from[0] : 0.0;
    in[j].im = used != 0 && s->in_parts == 2 ? (double)from[1] : 0.0;
  }
  if (s->inverse != 0 && s->half != 0) {
    dft_mirror(in, s->length);
  }
  for (int32_t j = 0; j < s->length && s->real != 0; j += 2) {
    in[j].im = in[j + 1].re;
  }
  dft_transform(s, in, out, out + s->length);
  if (s->real != 0) {
    dft_unfold(s, out);
  }
  for (int32_t k = 0; k < s->n_out; k++) {
    float *to = y + k * s->inner * s->out_parts;
    to[0] = (float)(out[k].re * scale);
    if (s->out_parts == 2) {
      to[1] = (float)(out[k].im * scale);
    }
  }
}

static void dft(const struct dft *s, const float *x, float *y, double *room) {
  for (int32_t line = 0; line < s->outer * s->inner; line++) {
    const int32_t plane = line / s->inner, at = line % s->inner;
    dft_line(s, x + (plane * s->n_in * s->inner + at) * s->in_parts,
             y + (plane * s->n_out * s->inner + at) * s->out_parts,
             (struct dft_value *)(void *)room);
  }
}
