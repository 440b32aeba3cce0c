/* Transposed convolution: in and out of the window are those of x and y. */
struct conv_transpose {
  int32_t batch, groups, channels, filters; /* of a group */
  struct window w;
};

/* y += x, each row of which goes to strided places, times a weight, of each tap. */
static void conv_transpose_channel(const struct window *w, const float *x, const float *weights,
                                   float *y) {
  for (int32_t t = 0; t < w->kernel_h * w->kernel_w; t++) {
    const int32_t start = t % w->kernel_w * w->dilation_w - w->left;
    const int32_t room = (w->out_w - start + w->stride_w - 1) / w->stride_w;
    const int32_t low = start < 0 ? (w->stride_w - 1 - start) / w->stride_w : 0;
    const int32_t high = start >= w->out_w ? 0 : room < w->in_w ? room : w->in_w;
    for (int32_t row = 0; row < w->in_h; row++) {
      const int32_t to = row * w->stride_h + t / w->kernel_w * w->dilation_h - w->top;
      for (int32_t i = low; i < high && to >= 0 && to < w->out_h; i++) {
        y[to * w->out_w + start + i * w->stride_w] += x[row * w->in_w + i] * weights[t];
      }
    }
  }
}

/* y = bias, and all that the channels of x add to it; bias may be NULL. */
static void conv_transpose(const struct conv_transpose *c, const float *x, const float *weights,
                           const float *bias, float *y) {
  const struct window *w = &c->w;
  const int32_t in_size = w->in_h * w->in_w, out_size = w->out_h * w->out_w;
  const int32_t taps = w->kernel_h * w->kernel_w;
  for (int32_t n = 0; n < c->batch * c->groups; n++) {
    const int32_t first = n % c->groups * c->channels;
    for (int32_t m = 0; m < c->filters; m++) {
      for (int32_t i = 0; i < out_size; i++) {
        y[i] = bias != NULL ? bias[n % c->groups * c->filters + m] : 0.0f;
      }
      for (int32_t k = 0; k < c->channels; k++) {
        conv_transpose_channel(w, x + (n * c->channels + k) * in_size,
                               weights + ((first + k) * c->filters + m) * taps, y);
      }
      y += out_size;
    }
  }
}
