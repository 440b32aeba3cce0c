/* A convolution: groups of `filters` filters that see `channels` channels each. */
struct conv {
  int32_t images, groups, channels, filters;
  int32_t direct; /* windows are pixels: nothing has to be gathered */
  struct window w;
};

enum { CONV_BLOCK = 384 }; /* weights of a filter that are summed up before the sum is added */

/* What the windows of 4 output pixels see: panel[k][p] is the input under weight first + k of pixel
 * p, and 0 outside of the input. top, left: where the windows begin. */
static void conv_gather(const struct window *w, const float *x, const int32_t top[4],
                        const int32_t left[4], int32_t first, int32_t n, float *panel) {
  const int32_t taps = w->kernel_h * w->kernel_w;
  int32_t row = first % taps / w->kernel_w, column = first % taps % w->kernel_w;
  x += first / taps * w->in_h * w->in_w;
  for (int32_t k = 0; k < n; k++) {
    for (int32_t p = 0; p < 4; p++) {
      const int32_t h = top[p] + row * w->dilation_h, v = left[p] + column * w->dilation_w;
      const int32_t inside = h >= 0 && h < w->in_h && v >= 0 && v < w->in_w;
      panel[p] = inside != 0 ? x[h * w->in_w + v] : 0.0f;
    }
    panel += 4;
    column++;
    if (column == w->kernel_w) {
      column = 0;
      row++;
    }
    if (row == w->kernel_h) {
      row = 0;
      x += w->in_h * w->in_w;
    }
  }
}

/* 4 pixels from `pixel` on, of all filters of a group. */
static void conv_pixels(const struct conv *c, const float *x, const float *weights,
                        const float *bias, int32_t pixel, float *y, float *panel) {
  const struct window *w = &c->w;
  const int32_t in_size = w->in_h * w->in_w, out_size = w->out_h * w->out_w;
  const int32_t depth = c->channels * w->kernel_h * w->kernel_w;
  const int32_t n_pixels = out_size - pixel < 4 ? out_size - pixel : 4;
  const int32_t direct = c->direct != 0 && n_pixels == 4;
  int32_t top[4], left[4];
  for (int32_t p = 0; p < 4; p++) {
    const int32_t at = pixel + (p < n_pixels ? p : 0);
    top[p] = at / w->out_w * w->stride_h - w->top;
    left[p] = at % w->out_w * w->stride_w - w->left;
  }
  for (int32_t k = 0; k < depth; k += CONV_BLOCK) {
    const int32_t n = depth - k < CONV_BLOCK ? depth - k : CONV_BLOCK;
    if (direct == 0) {
      conv_gather(w, x, top, left, k, n, panel);
    }
    tile_rows(weights + k, depth, c->filters, direct != 0 ? x + k * in_size + pixel : panel,
              direct != 0 ? in_size : 4, n, bias, k == 0, y + pixel, out_size, n_pixels);
  }
}

/* panel: 4 * min(CONV_BLOCK, weights of a filter) floats. */
static void conv(const struct conv *c, const float *x, const float *weights, const float *bias,
                 float *y, float *panel) {
  const int32_t in_size = c->channels * c->w.in_h * c->w.in_w;
  const int32_t out_size = c->w.out_h * c->w.out_w;
  const int32_t depth = c->channels * c->w.kernel_h * c->w.kernel_w;
  for (int32_t image = 0; image < c->images; image++) {
    for (int32_t group = 0; group < c->groups; group++) {
      const int32_t filter = group * c->filters;
      for (int32_t pixel = 0; pixel < out_size; pixel += 4) {
        conv_pixels(c, x, weights + filter * depth, bias != NULL ? bias + filter : NULL, pixel, y,
                    panel);
      }
      x += in_size;
      y += c->filters * out_size;
    }
  }
}
