/* Fourier transforms of mixed radix, decimation in time. roots: e^(-2 pi i k / length). order:
 * where the values stand in the input; radix: of each of `levels` joins, the first one first. */
struct fourier {
  int32_t length, inverse;
  int32_t real;         /* of an even number of real values, as complex ones of half of it */
  int32_t levels, size; /* of the transform */
  const int32_t *order, *radix;
  const double *roots;
};

struct fourier_value {
  double re, im;
};

/* x times root k, or its conjugate in an inverse transform. */
static struct fourier_value fourier_turn(const struct fourier *s, struct fourier_value x,
                                         int32_t k) {
  const double re = s->roots[2 * k],
               im = s->inverse != 0 ? -s->roots[2 * k + 1] : s->roots[2 * k + 1];
  const struct fourier_value y = {x.re * re - x.im * im, x.re * im + x.im * re};
  return y;
}

/* Two transforms of m values each become one of 2 m. */
static void fourier_join_2(const struct fourier *s, struct fourier_value *y, int32_t m,
                           int32_t step) {
  for (int32_t u = 0; u < m; u++) {
    const struct fourier_value a = y[u], b = fourier_turn(s, y[u + m], u * step);
    y[u].re = a.re + b.re;
    y[u].im = a.im + b.im;
    y[u + m].re = a.re - b.re;
    y[u + m].im = a.im - b.im;
  }
}

/* Four become one. */
static void fourier_join_4(const struct fourier *s, struct fourier_value *y, int32_t m,
                           int32_t step) {
  const double sign = s->inverse != 0 ? -1.0 : 1.0;
  for (int32_t u = 0; u < m; u++) {
    const struct fourier_value a = y[u], b = fourier_turn(s, y[u + m], u * step);
    const struct fourier_value c = fourier_turn(s, y[u + 2 * m], 2 * u * step);
    const struct fourier_value d = fourier_turn(s, y[u + 3 * m], 3 * u * step);
    const struct fourier_value p = {a.re + c.re, a.im + c.im}, q = {a.re - c.re, a.im - c.im};
    const struct fourier_value r = {b.re + d.re, b.im + d.im};
    const struct fourier_value t = {sign * (b.im - d.im), sign * (d.re - b.re)};
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
static void fourier_join(const struct fourier *s, struct fourier_value *y, int32_t p, int32_t m,
                         int32_t step, struct fourier_value *room) {
  for (int32_t u = 0; u < m; u++) {
    for (int32_t q = 0; q < p; q++) {
      room[q] = fourier_turn(s, y[u + q * m], u * q * step);
    }
    for (int32_t k = 0; k < p; k++) {
      struct fourier_value sum = room[0];
      int32_t at = 0;
      for (int32_t q = 1; q < p; q++) {
        at += k * m * step;
        at -= at >= s->length ? s->length : 0;
        const struct fourier_value x = fourier_turn(s, room[q], at);
        sum.re += x.re;
        sum.im += x.im;
      }
      y[u + k * m] = sum;
    }
  }
}

/* All joins, from the values of x in the order of the table. */
static void fourier_join_all(const struct fourier *s, const struct fourier_value *x,
                             struct fourier_value *y, struct fourier_value *room) {
  int32_t m = 1;
  for (int32_t k = 0; k < s->size; k++) {
    y[k] = x[s->order[k]];
  }
  for (int32_t level = 0; level < s->levels; level++) {
    const int32_t p = s->radix[level], n = p * m;
    for (int32_t at = 0; at < s->size; at += n) {
      if (p == 2) {
        fourier_join_2(s, y + at, m, s->length / n);
      } else if (p == 4) {
        fourier_join_4(s, y + at, m, s->length / n);
      } else {
        fourier_join(s, y + at, p, m, s->length / n, room);
      }
    }
    m = n;
  }
}

/* Of the transform of pairs, that of the real values. */
static void fourier_unfold(const struct fourier *s, struct fourier_value *y) {
  const int32_t half = s->length / 2;
  y[half] = y[0];
  for (int32_t k = 0; k <= half - k; k++) {
    const struct fourier_value a = y[k], b = y[half - k];
    const struct fourier_value even = {(a.re + b.re) / 2.0, (a.im - b.im) / 2.0};
    const struct fourier_value pair = {(a.im + b.im) / 2.0, (b.re - a.re) / 2.0};
    const struct fourier_value odd = fourier_turn(s, pair, k);
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

/* Changes x. room: as many values as x. */
static void fourier_transform(const struct fourier *s, struct fourier_value *x,
                              struct fourier_value *y, struct fourier_value *room) {
  for (int32_t j = 0; j < s->length && s->real != 0; j += 2) {
    x[j].im = x[j + 1].re;
  }
  fourier_join_all(s, x, y, room);
  if (s->real != 0) {
    fourier_unfold(s, y);
  }
}
