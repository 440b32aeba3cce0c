/* Frames of a signal, `step` values apart, each times the window (NULL: ones) and transformed. */
struct stft {
  int32_t batch, signal, frames, step, n_out, parts;
  struct fourier transform;
};

/* room: three frames. */
static void stft_frame(const struct stft *s, const float *x, const float *window, float *y,
                       struct fourier_value *room) {
  const int32_t n = s->transform.length;
  struct fourier_value *in = room, *out = in + n;
  for (int32_t j = 0; j < n; j++) {
    const double w = window != NULL ? (double)window[j] : 1.0;
    in[j].re = w * (double)x[j * s->parts];
    in[j].im = s->parts == 2 ? w * (double)x[2 * j + 1] : 0.0;
  }
  fourier_transform(&s->transform, in, out, out + n);
  for (int32_t k = 0; k < s->n_out; k++) {
    y[2 * k] = (float)out[k].re;
    y[2 * k + 1] = (float)out[k].im;
  }
}

/* All frames of all signals; room: three frames. */
static void stft(const struct stft *s, const float *x, const float *window, float *y,
                 double *room) {
  for (int32_t k = 0; k < s->batch * s->frames; k++) {
    const int32_t from = k / s->frames * s->signal + k % s->frames * s->step;
    stft_frame(s, x + from * s->parts, window, y + 2 * s->n_out * k,
               (struct fourier_value *)(void *)room);
  }
}
