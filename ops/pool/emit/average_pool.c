/* Taps that count for an average if pads count, too. */
static int32_t padded_taps(int32_t start, int32_t n_taps, int32_t dilation, int32_t end) {
  const int32_t n = (end - start + dilation - 1) / dilation;
  return n < n_taps ? n : n_taps;
}

/* The mean of each window: sums down its columns, then along them. */
static void average_pool(const struct window *w, int32_t count_pads, const float *x, float *y) {
  for (int32_t plane = 0; plane < w->planes; plane++) {
    for (int32_t o = 0; o < w->out_h * w->out_w; o++) {
      const int32_t top = o / w->out_w * w->stride_h - w->top;
      const int32_t left = o % w->out_w * w->stride_w - w->left;
      int32_t h_first, h_end, v_first, v_end;
      float sum = 0.0f;
      window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h_first, &h_end);
      window_taps(left, w->kernel_w, w->dilation_w, w->in_w, &v_first, &v_end);
      for (int32_t v = v_first; v < v_end; v++) {
        float column = 0.0f;
        for (int32_t h = h_first; h < h_end; h++) {
          column += x[(top + h * w->dilation_h) * w->in_w + left + v * w->dilation_w];
        }
        sum += column;
      }
      int32_t n = (h_end - h_first) * (v_end - v_first);
      if (count_pads != 0) {
        n = padded_taps(top, w->kernel_h, w->dilation_h, w->in_h + w->bottom) *
            padded_taps(left, w->kernel_w, w->dilation_w, w->in_w + w->right);
      }
      *y = sum / (float)n;
      y++;
    }
    x += w->in_h * w->in_w;
  }
}
