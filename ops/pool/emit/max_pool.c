/* The largest element of each window; -infinity where a window has none. */
static void max_pool(const struct window *w, const float *x, float *y) {
  for (int32_t plane = 0; plane < w->planes; plane++) {
    for (int32_t o = 0; o < w->out_h * w->out_w; o++) {
      const int32_t top = o / w->out_w * w->stride_h - w->top;
      const int32_t left = o % w->out_w * w->stride_w - w->left;
      int32_t h, h_end, v_first, v_end;
      float most = -INFINITY;
      window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h, &h_end);
      window_taps(left, w->kernel_w, w->dilation_w, w->in_w, &v_first, &v_end);
      for (; h < h_end; h++) {
        const int32_t row = (top + h * w->dilation_h) * w->in_w + left;
        for (int32_t v = v_first; v < v_end; v++) {
          const float tap = x[row + v * w->dilation_w];
          most = tap > most ? tap : most;
        }
      }
      *y = most;
      y++;
    }
    x += w->in_h * w->in_w;
  }
}
