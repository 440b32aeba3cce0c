/* What the window of an output pixel sees, less the zero point; 0 outside of the input. */
static void quant_gather(const struct quant_conv *c, const int8_t *x, int32_t pixel, int16_t *to) {
  const struct window *w = &c->w;
  const int32_t top = pixel / w->out_w * w->stride_h - w->top;
  const int32_t left = pixel % w->out_w * w->stride_w - w->left;
  for (int32_t channel = 0; channel < c->channels; channel++) {
    for (int32_t i = 0; i < w->kernel_h; i++) {
      const int32_t h = top + i * w->dilation_h;
      const int8_t *row = x + h * w->in_w;
      for (int32_t j = 0; j < w->kernel_w; j++) {
        const int32_t v = left + j * w->dilation_w;
        const int32_t inside = h >= 0 && h < w->in_h && v >= 0 && v < w->in_w;
        *to = (int16_t)(inside != 0 ? row[v] - c->x_zero : 0);
        to++;
      }
    }
    x += w->in_h * w->in_w;
  }
}

/* Sums of two filters for two pixels. */
static void quant_tile(const int8_t *w0, const int8_t *w1, const int16_t *x0, const int16_t *x1,
                       int32_t n, int32_t sum[4]) {
  int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0;
  for (int32_t k = 0; k < n; k++) {
    const int32_t a = w0[k], b = w1[k], c = x0[k], d = x1[k];
    s00 += a * c;
    s01 += a * d;
    s10 += b * c;
    s11 += b * d;
  }
  sum[0] = s00;
  sum[1] = s01;
  sum[2] = s10;
  sum[3] = s11;
}

/* Two pixels from `pixel` on, or the last one, of all filters of a group. */
static void quant_pixels(const struct quant_conv *c, const struct rescale *r, const int8_t *x,
                         const int8_t *weights, int32_t pixel, int8_t *y, int16_t *panel) {
  const int32_t out_size = c->w.out_h * c->w.out_w;
  const int32_t depth = c->channels * c->w.kernel_h * c->w.kernel_w;
  const int32_t last = pixel + 1 < out_size ? pixel + 1 : pixel;
  int32_t sum[4];
  quant_gather(c, x, pixel, panel);
  quant_gather(c, x, last, panel + depth);
  for (int32_t m = 0; m < c->filters; m += 2) {
    const int32_t next = m + 1 < c->filters ? m + 1 : m;
    quant_tile(weights + m * depth, weights + next * depth, panel, panel + depth, depth, sum);
    y[m * out_size + pixel] = quant_output(c, &r[m], sum[0]);
    y[m * out_size + last] = quant_output(c, &r[m], sum[1]);
    y[next * out_size + pixel] = quant_output(c, &r[next], sum[2]);
    y[next * out_size + last] = quant_output(c, &r[next], sum[3]);
  }
}

/* panel: twice as many elements as a filter has weights. */
static void quant_conv(const struct quant_conv *c, const struct rescale *r, const int8_t *x,
                       const int8_t *weights, int8_t *y, int16_t *panel) {
  const int32_t out_size = c->w.out_h * c->w.out_w;
  const int32_t depth = c->channels * c->w.kernel_h * c->w.kernel_w;
  for (int32_t image = 0; image < c->images; image++) {
    for (int32_t group = 0; group < c->groups; group++) {
      const int32_t filter = group * c->filters;
      for (int32_t pixel = 0; pixel < out_size; pixel += 2) {
        quant_pixels(c, r + filter, x, weights + filter * depth, pixel, y, panel);
      }
      x += c->channels * c->w.in_h * c->w.in_w;
      y += c->filters * out_size;
    }
  }
}
