/* Sums of n neighbouring outputs of one filter that sees one channel. */
static void quant_row(const struct quant_conv *c, const int16_t *x, const int16_t *taps, int32_t n,
                      int32_t *sum) {
  const struct window *w = &c->w;
  const int32_t row = (w->left + w->in_w + w->right) * w->dilation_h;
  for (int32_t k = 0; k < n; k++) {
    sum[k] = 0;
    for (int32_t i = 0; i < w->kernel_h; i++) {
      for (int32_t j = 0; j < w->kernel_w; j++) {
        sum[k] += x[i * row + j * w->dilation_w] * taps[i * w->kernel_w + j];
      }
    }
    x += w->stride_w;
  }
}
