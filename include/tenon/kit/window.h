/* Sliding windows of convolutions and pools: strides, dilations and pads from a node's attributes,
 * output sizes, and which taps of a window lie inside the input.
 *
 *   window[k] = dilation[k]*(kernel[k]-1) + 1
 *   out[k] = floor-or-ceil((in[k] + pad_lo[k] + pad_hi[k] - window[k]) / stride[k]) + 1
 *
 * auto_pad SAME_UPPER and SAME_LOWER give out = ceil(in / stride). */
#ifndef TN_KIT_WINDOW_H
#define TN_KIT_WINDOW_H

#include "tenon/kit/checked.h"
#include "tenon/kit/text.h"

enum { TN_MAX_SPATIAL = TN_MAX_RANK - 2 };

typedef struct tn_window {
  int32_t n; /* spatial dims */
  int64_t in[TN_MAX_SPATIAL], out[TN_MAX_SPATIAL], kernel[TN_MAX_SPATIAL], stride[TN_MAX_SPATIAL],
      dilation[TN_MAX_SPATIAL];
  int64_t pad_lo[TN_MAX_SPATIAL], pad_hi[TN_MAX_SPATIAL];
} tn_window;

/* What a node says; lists may be empty (all ones, or no pads). */
typedef struct tn_window_attrs {
  tn_str auto_pad; /* "", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER" */
  tn_ints dilations, kernel_shape, pads, strides;
  int64_t ceil_mode;
} tn_window_attrs;

TN_KIT_FN tn_status tn_window_list(const tn_call *call, const char *name, tn_ints list,
                                   int64_t want, int64_t least);

/* Sizes from which no sum or product of a window's numbers can overflow: attributes fit 32 bits. */
TN_KIT_FN tn_status tn_window_check(const tn_call *call, const tn_window *w, int32_t k);

/* Product of spatial dims, of which one or another may be 0. */
TN_KIT_FN tn_status tn_window_product(const tn_call *call, const int64_t *dims, int32_t n,
                                      int64_t *out);

/* dims: the spatial dims of the input. kernel: NULL: attrs->kernel_shape. Errors are said through
 * the call's host. */
TN_KIT_FN tn_status tn_window_make(const tn_call *call, const tn_window_attrs *a, int32_t n,
                                   const int64_t *dims, const int64_t *kernel, tn_window *out);

/* Taps of the window at output position o of dim k that lie inside the input: [*lo, *hi). */
static inline void tn_window_taps(const tn_window *w, int32_t k, int64_t o, int64_t *lo,
                                  int64_t *hi) {
  int64_t start = o * w->stride[k] - w->pad_lo[k], d = w->dilation[k];
  *lo = start < 0 ? (-start + d - 1) / d : 0;
  if (start + (w->kernel[k] - 1) * d < w->in[k]) /* all others: no division */
    *hi = w->kernel[k];
  else
    *hi = start < w->in[k] ? (w->in[k] - start + d - 1) / d : 0;
  if (*hi < *lo) *hi = *lo;
}

/* How many outputs from o on have the same taps [lo, hi) as o, by tn_window_taps. */
static inline int64_t tn_window_run(const tn_window *w, int32_t k, int64_t o, int64_t lo,
                                    int64_t hi) {
  const int64_t start = o * w->stride[k] - w->pad_lo[k], d = w->dilation[k];
  int64_t n = w->out[k] - o;
  if (lo > 0) n = tn_min_i64(n, tn_ceil_div(-(lo - 1) * d - start, w->stride[k]));
  if (hi > lo) n = tn_min_i64(n, (w->in[k] - 1 - (hi - 1) * d - start) / w->stride[k] + 1);
  return n;
}

/* Outputs whose windows have tap t of dim k inside the input: [*lo, *hi). */
static inline void tn_window_reach(const tn_window *w, int32_t k, int64_t t, int64_t *lo,
                                   int64_t *hi) {
  const int64_t offset = t * w->dilation[k] - w->pad_lo[k], room = w->in[k] - offset;
  *lo = offset < 0 ? tn_ceil_div(-offset, w->stride[k]) : 0;
  *hi = room > 0 ? tn_min_i64(w->out[k], tn_ceil_div(room, w->stride[k])) : 0;
  if (*hi < *lo) *hi = *lo;
}

/* The same window with dims of one element in front, so that there are n: one set of loops serves
 * all numbers of dims up to n. */
TN_KIT_FN tn_window tn_window_padded(const tn_window *w, int32_t n);
/* The same, and the model's own dims in which nothing moves (one element, one tap, no pads) come in
 * front, too: where W is 1, inner loops run along H. */
TN_KIT_FN tn_window tn_window_inner(const tn_window *w, int32_t n);

#ifdef TN_KIT_BODIES

TN_KIT_FN tn_status tn_window_list(const tn_call *call, const char *name, tn_ints list,
                                   int64_t want, int64_t least) {
  if (list.size && list.size != want)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute '%s' has %lld values, not %lld",
                            name, (long long)list.size, (long long)want);
  for (int64_t k = 0; k < list.size; k++)
    if (list.data[k] < least || list.data[k] > INT32_MAX)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute '%s' has the value %lld", name,
                              (long long)list.data[k]);
  return TN_OK;
}

TN_KIT_FN tn_status tn_window_check(const tn_call *call, const tn_window *w, int32_t k) {
  if (w->kernel[k] < 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the window has no taps in spatial dim %d", k);
  if (w->kernel[k] > INT32_MAX || w->in[k] > TN_MAX_ELEMENTS)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "the input (%lld) or the window (%lld) is too large in spatial dim %d",
                            (long long)w->in[k], (long long)w->kernel[k], k);
  return TN_OK;
}

TN_KIT_FN tn_status tn_window_product(const tn_call *call, const int64_t *dims, int32_t n,
                                      int64_t *out) {
  if (tn_dims_product(dims, n, out) == TN_OK) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                          "the sizes of the spatial dims overflow when multiplied");
}

static inline void tn_window_auto_pad(tn_window *w, int32_t k, bool upper) {
  w->out[k] = tn_ceil_div(w->in[k], w->stride[k]);
  int64_t span = w->dilation[k] * (w->kernel[k] - 1) + 1;
  int64_t pad = tn_max_i64((w->out[k] - 1) * w->stride[k] + span - w->in[k], 0);
  w->pad_lo[k] = upper ? pad / 2 : pad - pad / 2;
  w->pad_hi[k] = pad - w->pad_lo[k];
}

static inline tn_status tn_window_size(const tn_call *call, tn_window *w, int32_t k,
                                       bool ceil_mode) {
  int64_t room = w->in[k] + w->pad_lo[k] + w->pad_hi[k] - (w->dilation[k] * (w->kernel[k] - 1) + 1);
  if (room < 0 && (!ceil_mode || room <= -w->stride[k])) /* rounded up, that is a window */
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the window (%lld taps, dilation %lld) is larger than the padded input "
                            "(%lld) in spatial dim %d",
                            (long long)w->kernel[k], (long long)w->dilation[k],
                            (long long)(w->in[k] + w->pad_lo[k] + w->pad_hi[k]), k);
  w->out[k] = (ceil_mode ? tn_ceil_div(room, w->stride[k]) : room / w->stride[k]) + 1;
  /* with ceil the last window must begin inside the input or its left pad */
  if (ceil_mode && (w->out[k] - 1) * w->stride[k] >= w->in[k] + w->pad_lo[k]) w->out[k]--;
  return TN_OK;
}

TN_KIT_FN tn_status tn_window_make(const tn_call *call, const tn_window_attrs *a, int32_t n,
                                   const int64_t *dims, const int64_t *kernel, tn_window *out) {
  tn_window w = TN_KIT_ZERO;
  w.n = n;
  if (n < 0 || n > TN_MAX_SPATIAL)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: %d spatial dims", n);
  tn_status s = tn_window_list(call, "dilations", a->dilations, n, 1);
  if (!s) s = tn_window_list(call, "strides", a->strides, n, 1);
  if (!s) s = tn_window_list(call, "pads", a->pads, 2 * (int64_t)n, 0);
  if (!s) s = tn_window_list(call, "kernel_shape", a->kernel_shape, n, 1);
  if (s) return s;
  bool same = tn_str_is(a->auto_pad, "SAME_UPPER") || tn_str_is(a->auto_pad, "SAME_LOWER");
  bool valid = tn_str_is(a->auto_pad, "VALID");
  if (!same && !valid && a->auto_pad.size && !tn_str_is(a->auto_pad, "NOTSET"))
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'auto_pad' is '%.*s'",
                            (int)a->auto_pad.size, a->auto_pad.data);
  for (int32_t k = 0; k < n; k++) {
    w.in[k] = dims[k];
    w.kernel[k] = kernel ? kernel[k] : a->kernel_shape.size ? a->kernel_shape.data[k] : 1;
    if (kernel && a->kernel_shape.size && a->kernel_shape.data[k] != kernel[k])
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "attribute 'kernel_shape' has %lld in dim %d, the weights have %lld",
                              (long long)a->kernel_shape.data[k], k, (long long)kernel[k]);
    w.stride[k] = a->strides.size ? a->strides.data[k] : 1;
    w.dilation[k] = a->dilations.size ? a->dilations.data[k] : 1;
    if (!same && !valid && a->pads.size)
      w.pad_lo[k] = a->pads.data[k], w.pad_hi[k] = a->pads.data[n + k];
    if ((s = tn_window_check(call, &w, k))) return s;
    if (same)
      tn_window_auto_pad(&w, k, tn_str_is(a->auto_pad, "SAME_UPPER"));
    else if ((s = tn_window_size(call, &w, k, a->ceil_mode != 0)))
      return s;
  }
  *out = w;
  return TN_OK;
}

/* Dims of w from the last one on, without those that are left out, stand at the end of the n. */
static inline tn_window tn_window_last(const tn_window *w, int32_t n, bool leaves_idle) {
  tn_window r = TN_KIT_ZERO;
  r.n = n;
  for (int32_t k = 0; k < n; k++)
    r.in[k] = r.out[k] = r.kernel[k] = r.stride[k] = r.dilation[k] = 1;
  for (int32_t from = w->n - 1, k = n - 1; from >= 0 && k >= 0; from--) {
    const bool is_idle = w->in[from] == 1 && w->out[from] == 1 && w->kernel[from] == 1 &&
                         !w->pad_lo[from] && !w->pad_hi[from];
    if (is_idle && leaves_idle) continue;
    r.in[k] = w->in[from], r.out[k] = w->out[from], r.kernel[k] = w->kernel[from];
    r.stride[k] = w->stride[from], r.dilation[k] = w->dilation[from];
    r.pad_lo[k] = w->pad_lo[from], r.pad_hi[k] = w->pad_hi[from];
    k--;
  }
  return r;
}

TN_KIT_FN tn_window tn_window_padded(const tn_window *w, int32_t n) {
  return tn_window_last(w, n, false);
}

TN_KIT_FN tn_window tn_window_inner(const tn_window *w, int32_t n) {
  return tn_window_last(w, n, true);
}

#endif

#endif
