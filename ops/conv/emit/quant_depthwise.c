/* The sum of one output pixel: of the taps of its window that lie inside. */
static int32_t quant_depthwise_sum(const struct window *w, const int8_t *x, const int8_t *weights,
                                   int32_t x_zero, int32_t row, int32_t column) {
  const int32_t top = row * w->stride_h - w->top, left = column * w->stride_w - w->left;
  int32_t h, h_end, v_first, v_end, sum = 0;
  window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h, &h_end);
  window_taps(left, w->kernel_w, w->dilation_w, w->in_w, &v_first, &v_end);
  for (; h < h_end; h++) {
    const int8_t *from = x + (top + h * w->dilation_h) * w->in_w + left;
    const int8_t *tap = weights + h * w->kernel_w;
    for (int32_t v = v_first; v < v_end; v++) {
      sum += tap[v] * (from[v * w->dilation_w] - x_zero);
    }
  }
  return sum;
}

/* Filters that see one channel each, c->filters of them the same one. */
static void quant_depthwise(const struct quant_conv *c, const struct rescale *r, const int8_t *x,
                            const int8_t *weights, int8_t *y) {
  const struct window *w = &c->w;
  for (int32_t plane = 0; plane < w->planes; plane++) {
    const int32_t filter = plane % (c->groups * c->filters);
    const int8_t *from = x + plane / c->filters * w->in_h * w->in_w;
    const int8_t *taps = weights + filter * w->kernel_h * w->kernel_w;
    for (int32_t row = 0; row < w->out_h; row++) {
      for (int32_t column = 0; column < w->out_w; column++) {
        *y =
            quant_output(c, &r[filter], quant_depthwise_sum(w, from, taps, c->x_zero, row, column));
        y++;
      }
    }
  }
}
