/* One output pixel: its bias, and the taps of its window that lie inside, those of rows [h, h_end)
 * of it, row by row. */
static float depthwise_pixel(const struct window *w, const float *x, const float *weights,
                             float bias, int32_t top, int32_t left, int32_t h, int32_t h_end) {
  int32_t v_first, v_end;
  float sum = bias;
  window_taps(left, w->kernel_w, w->dilation_w, w->in_w, &v_first, &v_end);
  for (; h < h_end; h++) {
    const int32_t from = (top + h * w->dilation_h) * w->in_w + left;
    const float *tap = weights + h * w->kernel_w;
    for (int32_t v = v_first; v < v_end; v++) {
      sum += tap[v] * x[from + v * w->dilation_w];
    }
  }
  return sum;
}

/* A convolution whose filters see one channel each, `multiplier` of them the same one. */
static void depthwise(const struct window *w, int32_t channels, int32_t multiplier, const float *x,
                      const float *weights, const float *bias, float *y) {
  const int32_t taps = w->kernel_h * w->kernel_w;
  for (int32_t plane = 0; plane < w->planes; plane++) {
    const int32_t filter = plane % (channels * multiplier);
    const float start = bias != NULL ? bias[filter] : 0.0f;
    const float *from = x + plane / multiplier * w->in_h * w->in_w;
    for (int32_t row = 0; row < w->out_h; row++) {
      const int32_t top = row * w->stride_h - w->top;
      int32_t h, h_end;
      window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h, &h_end);
      for (int32_t column = 0; column < w->out_w; column++) {
        *y = depthwise_pixel(w, from, weights + filter * taps, start, top,
                             column * w->stride_w - w->left, h, h_end);
        y++;
      }
    }
  }
}
