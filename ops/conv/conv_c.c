/* Portable convolution kernels.
 *
 * conv_f32_c: for a block of output pixels the inputs under their windows are gathered into panels (im2col, one block at a
 * time, in worker scratch) and multiplied by the weights as they stand, [M][C*taps] row-major. 1 to 3 spatial dims.
 * conv_depthwise_f32_c: one input channel per group, row by row. conv_any_c: any rank, f64, plain loops. */
#include "base/epilogue.h"
#include "base/gemm.h"
#include "conv_geometry.h"

enum { PIXELS = 64 }; /* output pixels per block: 8 panels */

/* The window padded to three spatial dims in front, so that one set of loops serves 1-D to 3-D. */
typedef struct window3 { int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3]; } window3;

static window3 to_window3(const tn_window *w) {
  window3 r;
  for (int32_t k = 0; k < 3; k++) {
    int32_t from = k - (3 - w->n);
    bool there = from >= 0;
    r.in[k] = there ? w->in[from] : 1;
    r.out[k] = there ? w->out[from] : 1;
    r.kernel[k] = there ? w->kernel[from] : 1;
    r.stride[k] = there ? w->stride[from] : 1;
    r.dilation[k] = there ? w->dilation[from] : 1;
    r.pad[k] = there ? w->pad_lo[from] : 0;
  }
  return r;
}

/* ---- through the matrix tile ---- */

typedef struct blocks { int64_t pixels, filters, filter_step; } blocks; /* blocks of pixels and of filters per image and group */

static blocks split(const conv_shape *c, uint32_t n_workers) {
  blocks b = {.pixels = tn_ceil_div(c->out_size, PIXELS), .filters = 1};
  int64_t per_group = c->filters / c->groups, images = c->batch * c->groups;
  /* few pixels: split the filters, too, so that every thread has work; gathering is then done once per filter block */
  while (b.pixels * images * b.filters < 3 * (int64_t)n_workers && per_group / (b.filters + 1) >= 32) b.filters++;
  if (n_workers == 1) b.filters = 1;
  b.filter_step = tn_ceil_div(tn_ceil_div(per_group, b.filters), TN_GEMM_MR) * TN_GEMM_MR;
  b.filters = per_group ? tn_ceil_div(per_group, b.filter_step) : 0;
  return b;
}

const char *conv_gemm_refuse(const tn_call *call) {
  if (call->inputs[0]->rank < 3 || call->inputs[0]->rank > 5) return "takes 1 to 3 spatial dims";
  return tn_epilogue_refuse_f32(call);
}

tn_status conv_f32_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  blocks b = split(&c, call->n_workers);
  out->items[0] = c.batch * c.groups * b.pixels * b.filters;
  out->worker_scratch_bytes = PIXELS * TN_GEMM_KC * sizeof(float);
  double flops = 0;
  s = conv_flops(call, &flops);
  out->cost_ns = flops / 20 + 1000;
  return s;
}

/* Row k of the gathered matrix (input channel, tap) for pixels [p, p + n) goes into lane p%8 of the panels. */
static void gather_row(const window3 *w, const float *x, const int64_t *tap, int64_t p, int64_t n, float *panels, int64_t kc) {
  for (int64_t at = 0; at < n;) {
    int64_t pixel = p + at, ow = pixel % w->out[2], oh = pixel / w->out[2] % w->out[1], od = pixel / w->out[2] / w->out[1];
    int64_t run = tn_min_i64(n - at, w->out[2] - ow);
    int64_t id = od * w->stride[0] - w->pad[0] + tap[0] * w->dilation[0];
    int64_t ih = oh * w->stride[1] - w->pad[1] + tap[1] * w->dilation[1];
    int64_t iw = ow * w->stride[2] - w->pad[2] + tap[2] * w->dilation[2];
    bool inside = id >= 0 && id < w->in[0] && ih >= 0 && ih < w->in[1];
    const float *row = inside ? x + (id * w->in[1] + ih) * w->in[2] : NULL;
    for (int64_t e = at + run; at < e; at++, iw += w->stride[2])
      panels[at / TN_GEMM_NR * kc * TN_GEMM_NR + at % TN_GEMM_NR] = row && iw >= 0 && iw < w->in[2] ? row[iw] : 0;
  }
}

/* The same where a tap is one run of memory for all pixels: 1x1 windows of stride 1 without pads. */
static void copy_row(const float *x, int64_t n, float *panels, int64_t kc) {
  int64_t at = 0;
  for (; at + TN_GEMM_NR <= n; at += TN_GEMM_NR, panels += kc * TN_GEMM_NR) memcpy(panels, x + at, TN_GEMM_NR * sizeof *x);
  for (int64_t j = 0; at + j < n; j++) panels[j] = x[at + j];
}

typedef struct gather {
  window3 w;
  const float *x;
  int64_t in_size, taps, pixel, n;
  bool is_pointwise;
} gather;

static void gather_block(const gather *g, int64_t k0, int64_t kc, float *panels) {
  int64_t last = g->n / TN_GEMM_NR * TN_GEMM_NR;
  if (last < g->n) memset(panels + last * kc, 0, (size_t)(kc * TN_GEMM_NR) * sizeof *panels);
  for (int64_t k = 0; k < kc; k++, panels += TN_GEMM_NR) {
    int64_t channel = (k0 + k) / g->taps, t = (k0 + k) % g->taps;
    const float *x = g->x + channel * g->in_size;
    if (g->is_pointwise) {
      copy_row(x + g->pixel, g->n, panels, kc);
      continue;
    }
    int64_t tap[3] = {t / g->w.kernel[2] / g->w.kernel[1], t / g->w.kernel[2] % g->w.kernel[1], t % g->w.kernel[2]};
    gather_row(&g->w, x, tap, g->pixel, g->n, panels, kc);
  }
}

static bool is_pointwise(const tn_window *w) {
  for (int32_t k = 0; k < w->n; k++)
    if (w->kernel[k] != 1 || w->stride[k] != 1 || w->pad_lo[k] || w->pad_hi[k]) return false;
  return true;
}

/* Fused steps on rows [first, first + n) of the output, one row per filter, as soon as they are complete. */
static void finish_rows(const tn_call *call, const conv_shape *c, int64_t image, int64_t first, int64_t n, int64_t pixel, int64_t n_pixels) {
  float *y = call->outputs[0]->data;
  for (int64_t m = first; call->n_epilogue && m < first + n; m++) {
    int64_t at = (image * c->filters + m) * c->out_size + pixel;
    tn_epilogue_f32(call, y + at, n_pixels, at, m, 0);
  }
}

static void gemm_item(const tn_call *call, const conv_shape *c, const blocks *b, int64_t item, float *panels) {
  int64_t filter = item % b->filters * b->filter_step, block = item / b->filters % b->pixels;
  int64_t group = item / b->filters / b->pixels % c->groups, image = item / b->filters / b->pixels / c->groups;
  int64_t in_group = c->channels / c->groups, out_group = c->filters / c->groups, depth = in_group * c->taps;
  gather g = {.w = to_window3(&c->w), .in_size = c->in_size, .taps = c->taps, .pixel = block * PIXELS};
  g.n = tn_min_i64(PIXELS, c->out_size - g.pixel);
  g.is_pointwise = is_pointwise(&c->w);
  g.x = (const float *)call->inputs[0]->data + (image * c->channels + group * in_group) * c->in_size;
  int64_t first = group * out_group + filter, n_filters = tn_min_i64(b->filter_step, out_group - filter);
  const float *w = call->inputs[1]->data, *bias = call->n_inputs > 2 && call->inputs[2] ? call->inputs[2]->data : NULL;
  tn_gemm m = {.b = panels, .lda = depth, .ldc = c->out_size, .m = n_filters, .n = g.n, .bias = bias ? bias + first : NULL};
  m.c = (float *)call->outputs[0]->data + (image * c->filters + first) * c->out_size + g.pixel;
  m.first = true;
  for (int64_t k0 = 0; k0 == 0 || k0 < depth; k0 += TN_GEMM_KC, m.first = false) {
    m.k = tn_min_i64(TN_GEMM_KC, depth - k0);
    gather_block(&g, k0, m.k, panels);
    m.a = w + first * depth + k0;
    m.b_panel = m.k * TN_GEMM_NR;
    tn_gemm_run(&m);
  }
  finish_rows(call, c, image, first, n_filters, g.pixel, g.n);
}

tn_status conv_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage;
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  blocks b = split(&c, call->n_workers);
  float *panels = (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t item = begin; item < end; item++) gemm_item(call, &c, &b, item, panels);
  return TN_OK;
}

/* ---- depthwise ---- */

const char *conv_depthwise_refuse(const tn_call *call) {
  const tn_conv_attrs *a = call->attrs;
  if (call->inputs[0]->rank != 4) return "takes two spatial dims";
  if (a->group != call->inputs[0]->shape[1] || a->group < 2) return "takes one input channel per group";
  return tn_epilogue_refuse_f32(call);
}

tn_status conv_depthwise_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  out->items[0] = c.batch * c.filters;
  out->grain[0] = 1 + 10000 / (1 + c.out_size * c.taps);
  out->elements_per_item = c.out_size;
  out->cost_ns = (double)(c.batch * c.filters * c.out_size) * (double)c.taps / 4;
  return TN_OK;
}

/* y[ow] += k * x[ow*stride + offset] for the pixels whose tap is inside the row. */
static void add_tap(const tn_window *w, float k, const float *x, int64_t tap, float *y) {
  int64_t offset = tap * w->dilation[1] - w->pad_lo[1], stride = w->stride[1];
  int64_t lo = offset < 0 ? tn_ceil_div(-offset, stride) : 0;
  int64_t hi = w->in[1] - offset <= 0 ? 0 : tn_min_i64(w->out[1], tn_ceil_div(w->in[1] - offset, stride));
  if (stride == 1)
    for (int64_t o = lo; o < hi; o++) y[o] += k * x[o + offset];
  else
    for (int64_t o = lo; o < hi; o++) y[o] += k * x[o * stride + offset];
}

static void depthwise_channel(const conv_shape *c, const float *x, const float *k, float bias, float *y) {
  const tn_window *w = &c->w;
  for (int64_t oh = 0; oh < w->out[0]; oh++, y += w->out[1]) {
    int64_t lo, hi;
    for (int64_t ow = 0; ow < w->out[1]; ow++) y[ow] = bias;
    tn_window_taps(w, 0, oh, &lo, &hi);
    for (int64_t th = lo; th < hi; th++) {
      const float *row = x + (oh * w->stride[0] - w->pad_lo[0] + th * w->dilation[0]) * w->in[1];
      for (int64_t tw = 0; tw < w->kernel[1]; tw++) add_tap(w, k[th * w->kernel[1] + tw], row, tw, y);
    }
  }
}

tn_status conv_depthwise_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  const float *x = call->inputs[0]->data, *w = call->inputs[1]->data;
  const float *bias = call->n_inputs > 2 && call->inputs[2] ? call->inputs[2]->data : NULL;
  float *y = call->outputs[0]->data;
  int64_t multiplier = c.filters / c.groups;
  for (int64_t item = begin; item < end; item++) {
    int64_t image = item / c.filters, m = item % c.filters;
    depthwise_channel(&c, x + (image * c.channels + m / multiplier) * c.in_size, w + m * c.taps, bias ? bias[m] : 0, y + item * c.out_size);
    if (call->n_epilogue) tn_epilogue_f32(call, y + item * c.out_size, c.out_size, item * c.out_size, m, 0);
  }
  return TN_OK;
}

/* ---- any rank, f64 ---- */

tn_status conv_any_plan(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  out->items[0] = c.batch * c.filters * c.out_size;
  out->grain[0] = 1 + 5000 / (1 + c.taps * (c.channels / c.groups));
  return TN_OK;
}

/* Sum over the taps inside the input, innermost dim by recursion over dims. */
static double window_sum(const tn_window *w, int32_t dim, const int64_t *o, const double *x, const double *k) {
  if (dim == w->n) return *x * *k;
  int64_t lo, hi, x_step = conv_product(w->in + dim + 1, w->n - dim - 1), k_step = conv_product(w->kernel + dim + 1, w->n - dim - 1);
  tn_window_taps(w, dim, o[dim], &lo, &hi);
  int64_t start = o[dim] * w->stride[dim] - w->pad_lo[dim];
  double sum = 0;
  for (int64_t t = lo; t < hi; t++) sum += window_sum(w, dim + 1, o, x + (start + t * w->dilation[dim]) * x_step, k + t * k_step);
  return sum;
}

tn_status conv_any_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  const double *x = call->inputs[0]->data, *w = call->inputs[1]->data;
  const double *bias = call->n_inputs > 2 && call->inputs[2] ? call->inputs[2]->data : NULL;
  double *y = call->outputs[0]->data;
  int64_t depth = c.channels / c.groups, out_group = c.filters / c.groups;
  for (int64_t item = begin; item < end; item++) {
    int64_t o[TN_MAX_SPATIAL], rest = item % c.out_size, m = item / c.out_size % c.filters, image = item / c.out_size / c.filters;
    for (int32_t k = c.w.n - 1; k >= 0; k--) o[k] = rest % c.w.out[k], rest /= c.w.out[k];
    double sum = bias ? bias[m] : 0;
    for (int64_t k = 0; k < depth; k++)
      sum += window_sum(&c.w, 0, o, x + (image * c.channels + m / out_group * depth + k) * c.in_size, w + (m * depth + k) * c.taps);
    y[item] = sum;
  }
  return TN_OK;
}
