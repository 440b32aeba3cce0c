/* Lines of n_in values, `inner` apart, that become lines of n_out; parts: 1 of real values, 2 of
 * complex ones. */
struct dft {
  int32_t outer, inner, n_in, n_out, in_parts, out_parts;
  int32_t half; /* with inverse, the input is the first half of a spectrum */
  struct fourier transform;
};

/* From the first half of a spectrum, the other one: the conjugate values backwards. */
static void dft_mirror(struct fourier_value *x, int32_t n) {
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
static void dft_line(const struct dft *s, const float *x, float *y, struct fourier_value *room) {
  const int32_t n = s->transform.length, whole = s->transform.inverse == 0 || s->half == 0;
  const int32_t wants = whole != 0 ? n : n / 2 + 1;
  const double scale = s->transform.inverse != 0 ? 1.0 / (double)n : 1.0;
  struct fourier_value *in = room, *out = in + n;
  for (int32_t j = 0; j < n; j++) {
    const float *from = x + j * s->inner * s->in_parts;
    const int32_t used = j < wants && j < s->n_in;
    in[j].re = used != 0 ? (double)from[0] : 0.0;
    in[j].im = used != 0 && s->in_parts == 2 ? (double)from[1] : 0.0;
  }
  if (whole == 0) {
    dft_mirror(in, n);
  }
  fourier_transform(&s->transform, in, out, out + n);
  for (int32_t k = 0; k < s->n_out; k++) {
    float *to = y + k * s->inner * s->out_parts;
    to[0] = (float)(out[k].re * scale);
    if (s->out_parts == 2) {
      to[1] = (float)(out[k].im * scale);
    }
  }
}

/* All lines; room: three of them. */
static void dft(const struct dft *s, const float *x, float *y, double *room) {
  for (int32_t line = 0; line < s->outer * s->inner; line++) {
    const int32_t plane = line / s->inner, at = line % s->inner;
    dft_line(s, x + (plane * s->n_in * s->inner + at) * s->in_parts,
             y + (plane * s->n_out * s->inner + at) * s->out_parts,
             (struct fourier_value *)(void *)room);
  }
}
