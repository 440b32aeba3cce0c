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

/* n output pixels of a row, `step` apart in x, whose windows of 3x3 lie inside: as
 * depthwise_pixel() sums them. The rows of a window are in_row apart. */
static void depthwise_3x3(const float *x, int32_t in_row, int32_t step, const float *tap,
                          float bias, int32_t n, float *y) {
  const float t0 = tap[0], t1 = tap[1], t2 = tap[2], t3 = tap[3], t4 = tap[4];
  const float t5 = tap[5], t6 = tap[6], t7 = tap[7], t8 = tap[8];
  for (const float *end = y + n; y < end; y++) {
    const float *second = x + in_row, *third = second + in_row;
    float sum = bias;
    sum += t0 * x[0];
    sum += t1 * x[1];
    sum += t2 * x[2];
    sum += t3 * second[0];
    sum += t4 * second[1];
    sum += t5 * second[2];
    sum += t6 * third[0];
    sum += t7 * third[1];
    sum += t8 * third[2];
    *y = sum;
    x += step;
  }
}

/* Output pixels of a row, from `first` up to `end`, one by one. */
static void depthwise_pixels(const struct window *w, const float *x, const float *weights,
                             float bias, int32_t top, int32_t first, int32_t end, int32_t h,
                             int32_t h_end, float *y) {
  for (int32_t column = first; column < end; column++) {
    y[column] = depthwise_pixel(w, x, weights, bias, top, column * w->stride_w - w->left, h, h_end);
  }
}

/* A convolution whose filters see one channel each, `multiplier` of them the same one. */
static void depthwise(const struct window *w, int32_t channels, int32_t multiplier, const float *x,
                      const float *weights, const float *bias, float *y) {
  const int32_t taps = w->kernel_h * w->kernel_w;
  const int32_t is_3x3 =
      w->kernel_h == 3 && w->kernel_w == 3 && w->dilation_h == 1 && w->dilation_w == 1;
  int32_t inside = 0, n_inside = 0; /* columns of windows of 3x3 that lie inside */
  for (int32_t column = 0; column < w->out_w && is_3x3 != 0; column++) {
    const int32_t left = column * w->stride_w - w->left;
    inside += left < 0;
    n_inside += left >= 0 && left + 3 <= w->in_w;
  }
  for (int32_t plane = 0; plane < w->planes; plane++) {
    const int32_t filter = plane % (channels * multiplier);
    const float start = bias != NULL ? bias[filter] : 0.0f;
    const float *from = x + plane / multiplier * w->in_h * w->in_w;
    for (int32_t row = 0; row < w->out_h; row++) {
      const int32_t top = row * w->stride_h - w->top;
      int32_t h, h_end;
      window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h, &h_end);
      const float *tap = weights + filter * taps;
      const int32_t n = h_end - h == 3 ? n_inside : 0, from_here = n > 0 ? inside : w->out_w;
      depthwise_pixels(w, from, tap, start, top, 0, from_here, h, h_end, y);
      if (n > 0) {
        depthwise_3x3(from + top * w->in_w + inside * w->stride_w - w->left, w->in_w, w->stride_w,
                      tap, start, n, y + inside);
        depthwise_pixels(w, from, tap, start, top, inside + n, w->out_w, h, h_end, y);
      }
      y += w->out_w;
    }
  }
}
