/* How quant_depthwise() reads a channel, into rows that have room for pads. */
typedef void quant_plane(const struct quant_conv *c, const void *x, int32_t plane, int16_t *to);
/* How it sums up a row: n neighbouring outputs of one filter. */
typedef void quant_row_sums(const struct quant_conv *c, const int16_t *x, const int16_t *taps,
                            int32_t n, int32_t *sum);

/* Sums of a filter that become outputs together. */
enum { QUANT_SUMS = 32 };

/* The outputs of one filter of a channel, which lies at x with its pads. */
static void quant_channel(const struct quant_conv *c, const struct rescale *r, quant_row_sums *row,
                          const int16_t *x, const int16_t *taps, uint8_t *y) {
  const struct window *w = &c->w;
  const int32_t next = (w->left + w->in_w + w->right) * w->stride_h, size = w->out_h * w->out_w;
  int32_t sum[QUANT_SUMS], n = 0, v = 0;
  for (int32_t done = 0; done < size;) {
    const int32_t room = QUANT_SUMS - n, more = w->out_w - v < room ? w->out_w - v : room;
    row(c, x + v * w->stride_w, taps, more, sum + n);
    n += more;
    v += more;
    if (v == w->out_w) {
      v = 0;
      x += next;
    }
    if (n == QUANT_SUMS || done + n == size) {
      quant_outputs(c, r, 1, sum, n, y + done, 0);
      done += n;
      n = 0;
    }
  }
}

/* Filters that see one channel each, c->filters of them the same one. scratch: room for the taps of
 * a filter, then for a channel with its pads. */
static void quant_depthwise(const struct quant_conv *c, const struct rescale *r, quant_plane *read,
                            quant_row_sums *row, const void *input, const int8_t *weights,
                            void *output, int16_t *scratch) {
  const struct window *w = &c->w;
  const int32_t n_taps = w->kernel_h * w->kernel_w, width = w->left + w->in_w + w->right;
  const int32_t filters = c->groups * c->filters;
  int16_t *plane = scratch + n_taps;
  uint8_t *y = output;
  memset(plane, 0, sizeof *plane * (size_t)(width * (w->top + w->in_h + w->bottom)));
  for (int32_t p = 0; p < w->planes; p++) {
    const int32_t filter = p % filters;
    if (p % c->filters == 0) {
      read(c, input, p / c->filters, plane + w->top * width + w->left);
    }
    for (int32_t k = 0; k < n_taps; k++) {
      scratch[k] = (int16_t)(weights[filter * n_taps + k] - c->w_zero);
    }
    quant_channel(c, &r[filter], row, plane, scratch, y);
    y += w->out_h * w->out_w;
  }
}
