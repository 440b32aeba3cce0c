/* Portable convolution kernels.
 *
 * conv_f32_c: for a block of output pixels the inputs under their windows are gathered into panels
 * (im2col, one block at a time, in worker scratch) and multiplied by the weights as they stand,
 * [M][C*taps] row-major. 1 to 3 spatial dims. conv_depthwise_f32_c: one input channel per group,
 * row by row, 2 or 3 dims. conv_any_c: any rank, f64, plain loops. */
#include "conv_gather.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/gemm.h"

/* ---- through the matrix tile ---- */

typedef struct blocks {
  int64_t pixels, filters, filter_step;
} blocks; /* blocks of pixels and of filters per image and group */

static blocks split(const conv_shape *c, uint32_t n_workers) {
  blocks b = {.pixels = tn_ceil_div(c->out_size, CONV_PIXELS), .filters = 1};
  int64_t per_group = c->filters / c->groups, images = c->batch * c->groups;
  /* few pixels: split the filters, too, so that every thread has work; gathering is then done once
   * per filter block */
  while (b.pixels * images * b.filters < 3 * (int64_t)n_workers &&
         per_group / (b.filters + 1) >= 32)
    b.filters++;
  if (n_workers == 1) b.filters = 1;
  b.filter_step = tn_ceil_div(tn_ceil_div(per_group, b.filters), TN_GEMM_MR) * TN_GEMM_MR;
  b.filters = per_group ? tn_ceil_div(per_group, b.filter_step) : 0;
  return b;
}

const char *conv_gemm_refuse(const tn_call *call) {
  if (call->inputs[0]->rank < 3 || call->inputs[0]->rank > 5) return "takes 1 to 3 spatial dims";
  return tn_epilogue_refuse_f32(call, 1);
}

tn_status conv_f32_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  blocks b = split(&c, call->n_workers);
  out->items[0] = c.batch * c.groups * b.pixels * b.filters;
  out->worker_scratch_bytes = CONV_PIXELS * TN_GEMM_KC * sizeof(float);
  double flops = 0;
  s = conv_flops(call, &flops);
  out->cost_ns = flops / 20 + 1000;
  return s;
}

/* Fused steps on rows [first, first + n) of the output, one row per filter, as soon as they are
 * complete. */
static void finish_rows(const tn_call *call, const conv_shape *c, int64_t image, int64_t first,
                        int64_t n, int64_t pixel, int64_t n_pixels) {
  float *y = call->outputs[0]->data;
  for (int64_t m = first; call->n_epilogue && m < first + n; m++) {
    int64_t at = (image * c->filters + m) * c->out_size + pixel;
    tn_epilogue_f32(call, y + at, n_pixels, at, m, 0);
  }
}

static void gemm_item(const tn_call *call, const conv_shape *c, const blocks *b, int64_t item,
                      float *panels) {
  int64_t filter = item % b->filters * b->filter_step, block = item / b->filters % b->pixels;
  int64_t group = item / b->filters / b->pixels % c->groups,
          image = item / b->filters / b->pixels / c->groups;
  int64_t in_group = c->channels / c->groups, out_group = c->filters / c->groups,
          depth = in_group * c->taps;
  conv_gather g = conv_gather_block(c, block * CONV_PIXELS);
  const float *x =
      (const float *)call->inputs[0]->data + (image * c->channels + group * in_group) * c->in_size;
  int64_t first = group * out_group + filter,
          n_filters = tn_min_i64(b->filter_step, out_group - filter);
  const float *w = call->inputs[1]->data, *bias = call->inputs[2] ? call->inputs[2]->data : NULL;
  tn_gemm m = {.b = panels,
               .lda = depth,
               .ldc = c->out_size,
               .m = n_filters,
               .n = g.n,
               .bias = bias ? bias + first : NULL};
  m.c = (float *)call->outputs[0]->data + (image * c->filters + first) * c->out_size + g.pixel;
  m.first = true;
  for (int64_t k0 = 0; k0 == 0 || k0 < depth; k0 += TN_GEMM_KC, m.first = false) {
    m.k = tn_min_i64(TN_GEMM_KC, depth - k0);
    conv_gather_f32(&g, x, 0, k0, m.k, panels);
    m.a = w + first * depth + k0;
    m.b_panel = m.k * TN_GEMM_NR;
    tn_gemm_run(&m);
  }
  finish_rows(call, c, image, first, n_filters, g.pixel, g.n);
}

tn_status conv_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage;
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  blocks b = split(&c, call->n_workers);
  float *panels =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t item = begin; item < end; item++) gemm_item(call, &c, &b, item, panels);
  return TN_OK;
}

/* ---- depthwise ---- */

const char *conv_depthwise_refuse(const tn_call *call) {
  const tn_conv_attrs *a = call->attrs;
  if (call->inputs[0]->rank < 4 || call->inputs[0]->rank > 5) return "takes 2 or 3 spatial dims";
  if (a->group != call->inputs[0]->shape[1] || a->group < 2)
    return "takes one input channel per group";
  return tn_epilogue_refuse_f32(call, 1);
}

tn_status conv_depthwise_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  out->items[0] = c.batch * c.filters;
  out->grain[0] = tn_grain(10000, (double)c.out_size * (double)c.taps);
  out->elements_per_item = c.out_size;
  out->cost_ns = (double)(c.batch * c.filters * c.out_size) * (double)c.taps / 4;
  return TN_OK;
}

/* y[ow] += k * x[ow*stride + offset] for the pixels whose tap is inside the row. */
static void add_tap(const tn_window *w, float k, const float *x, int64_t tap, float *y) {
  int64_t offset = tap * w->dilation[2] - w->pad_lo[2], stride = w->stride[2], lo, hi;
  tn_window_reach(w, 2, tap, &lo, &hi);
  if (stride == 1)
    for (int64_t o = lo; o < hi; o++) y[o] += k * x[o + offset];
  else
    for (int64_t o = lo; o < hi; o++) y[o] += k * x[o * stride + offset];
}

/* Output row oh of what one depth of the window adds; x, k: that of the input and of the window. */
static void add_rows(const tn_window *w, const float *x, const float *k, int64_t oh, float *y) {
  int64_t lo, hi;
  tn_window_taps(w, 1, oh, &lo, &hi);
  for (int64_t th = lo; th < hi; th++) {
    const float *row = x + (oh * w->stride[1] - w->pad_lo[1] + th * w->dilation[1]) * w->in[2];
    for (int64_t tw = 0; tw < w->kernel[2]; tw++) add_tap(w, k[th * w->kernel[2] + tw], row, tw, y);
  }
}

/* w: of 3 dims. */
static void depthwise_channel(const tn_window *w, const float *x, const float *k, float bias,
                              float *y) {
  const int64_t in_size = w->in[1] * w->in[2], taps = w->kernel[1] * w->kernel[2];
  for (int64_t od = 0; od < w->out[0]; od++) {
    int64_t lo, hi;
    tn_window_taps(w, 0, od, &lo, &hi);
    for (int64_t oh = 0; oh < w->out[1]; oh++, y += w->out[2]) {
      for (int64_t ow = 0; ow < w->out[2]; ow++) y[ow] = bias;
      for (int64_t td = lo; td < hi; td++)
        add_rows(w, x + (od * w->stride[0] - w->pad_lo[0] + td * w->dilation[0]) * in_size,
                 k + td * taps, oh, y);
    }
  }
}

tn_status conv_depthwise_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                               uint32_t worker) {
  (void)stage, (void)worker;
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  const tn_window window = tn_window_inner(&c.w, 3);
  const float *x = call->inputs[0]->data, *w = call->inputs[1]->data;
  const float *bias = call->inputs[2] ? call->inputs[2]->data : NULL;
  float *y = call->outputs[0]->data;
  int64_t multiplier = c.filters / c.groups;
  for (int64_t item = begin; item < end; item++) {
    int64_t image = item / c.filters, m = item % c.filters;
    depthwise_channel(&window, x + (image * c.channels + m / multiplier) * c.in_size,
                      w + m * c.taps, bias ? bias[m] : 0, y + item * c.out_size);
    if (call->n_epilogue)
      tn_epilogue_f32(call, y + item * c.out_size, c.out_size, item * c.out_size, m, 0);
  }
  return TN_OK;
}

/* ---- any rank, f64 ---- */

tn_status conv_any_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  out->items[0] = c.batch * c.filters * c.out_size;
  out->grain[0] = tn_grain(5000, (double)(c.taps * (c.channels / c.groups)));
  return TN_OK;
}

/* Sum over the taps inside the input, innermost dim by recursion over dims. */
static double window_sum(const tn_window *w, int32_t dim, const int64_t *o, const double *x,
                         const double *k) {
  if (dim == w->n) return *x * *k;
  int64_t lo, hi, x_step = tn_dims_size(w->in + dim + 1, w->n - dim - 1),
                  k_step = tn_dims_size(w->kernel + dim + 1, w->n - dim - 1);
  tn_window_taps(w, dim, o[dim], &lo, &hi);
  int64_t start = o[dim] * w->stride[dim] - w->pad_lo[dim];
  double sum = 0;
  for (int64_t t = lo; t < hi; t++)
    sum += window_sum(w, dim + 1, o, x + (start + t * w->dilation[dim]) * x_step, k + t * k_step);
  return sum;
}

tn_status conv_any_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage, (void)worker;
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  const double *x = call->inputs[0]->data, *w = call->inputs[1]->data;
  const double *bias = call->inputs[2] ? call->inputs[2]->data : NULL;
  double *y = call->outputs[0]->data;
  int64_t depth = c.channels / c.groups, out_group = c.filters / c.groups;
  for (int64_t item = begin; item < end; item++) {
    int64_t o[TN_MAX_SPATIAL], m = item / c.out_size % c.filters,
                               image = item / c.out_size / c.filters;
    tn_unravel(item % c.out_size, c.w.out, c.w.n, o);
    double sum = bias ? bias[m] : 0;
    for (int64_t k = 0; k < depth; k++)
      sum +=
          window_sum(&c.w, 0, o, x + (image * c.channels + m / out_group * depth + k) * c.in_size,
                     w + (m * depth + k) * c.taps);
    y[item] = sum;
  }
  return TN_OK;
}
