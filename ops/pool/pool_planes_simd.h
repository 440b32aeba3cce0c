/* MaxPool of f32 in plain layout with steps of one over planes that fit in scratch: a plane is
 * copied to where its pads lie around it, those between two rows shared by both, and is folded down
 * and then along as if it were one row. Behind pool_plain_simd.h. */
#ifndef TN_OPS_POOL_PLANES_SIMD_H
#define TN_OPS_POOL_PLANES_SIMD_H

#include "pool_plain_simd.h"

enum { PLANE_MOST = 1 << 14 }; /* floats of scratch for a plane with its pads */

typedef struct planes {
  pool_shape p;
  int64_t gap, pitch; /* of a row with pads: floats before it, all */
  int64_t padded;     /* floats of a plane with its pads, and a vector behind */
  int64_t folded;     /* the same after folding down */
} planes;

/* false: it is for another kernel. */
static bool planes_make(const pool_shape *p, planes *out) {
  const tn_window *w = &p->w;
  planes k = {.p = *p};
  if (w->n != 2) return false;
  for (int32_t d = 0; d < 2; d++) {
    const int64_t extent = (w->kernel[d] - 1) * w->dilation[d];
    if (w->stride[d] != 1 || w->in[d] > PLANE_MOST || extent > PLANE_MOST ||
        w->pad_lo[d] > extent || w->pad_hi[d] > extent || w->out[d] < 1 ||
        w->out[d] != w->in[d] + w->pad_lo[d] + w->pad_hi[d] - extent)
      return false;
  }
  k.gap = tn_max_i64(w->pad_lo[1], w->pad_hi[1]);
  k.pitch = w->in[1] + k.gap;
  k.padded = (w->in[0] + w->pad_lo[0] + w->pad_hi[0]) * k.pitch + k.gap + TN_VF_LANES;
  k.folded = w->out[0] * k.pitch + k.gap + TN_VF_LANES;
  k.padded = tn_ceil_div(k.padded, TN_VF_LANES) * TN_VF_LANES;
  k.folded = tn_ceil_div(k.folded, TN_VF_LANES) * TN_VF_LANES;
  *out = k;
  return k.padded <= PLANE_MOST;
}

/* The largest of `n_taps` elements, `step` apart, for n neighbours from x on. */
POOL_INLINE void planes_fold(const float *x, int64_t n_taps, int64_t step, int64_t n, float *y) {
  for (int64_t o = 0; o < n; o += TN_VF_LANES) {
    tn_vf most = tn_vf_set1(-INFINITY);
    for (int64_t t = 0; t < n_taps; t++) most = tn_vf_max(tn_vf_load(x + o + t * step), most);
    tn_vf_store_mask(y + o, tn_vf_mask_first(tn_min_i64(TN_VF_LANES, n - o)), most);
  }
}

POOL_INLINE void planes_fold_taps(const float *x, int64_t n_taps, int64_t step, int64_t n,
                                  float *y) {
  switch (n_taps) {
    case 3: planes_fold(x, 3, step, n, y); break;
    case 5: planes_fold(x, 5, step, n, y); break;
    default: planes_fold(x, n_taps, step, n, y);
  }
}

static void planes_copy(const planes *k, const float *x, float *padded) {
  const tn_window *w = &k->p.w;
  padded += w->pad_lo[0] * k->pitch + k->gap;
  for (int64_t row = 0; row < w->in[0]; row++, x += w->in[1], padded += k->pitch)
    for (int64_t c = 0; c < w->in[1]; c += TN_VF_LANES) {
      const tn_vf_mask has = tn_vf_mask_first(tn_min_i64(TN_VF_LANES, w->in[1] - c));
      tn_vf_store_mask(padded + c, has, tn_vf_load_mask(has, x + c));
    }
}

const char *TN_SIMD_NAME(max_pool_planes_refuse)(const tn_call *call) {
  pool_shape p;
  planes k;
  return max_pool_shape(call, &p) || !planes_make(&p, &k)
             ? "takes 2 spatial dims, steps of one, and planes that fit in scratch"
             : NULL;
}

tn_status TN_SIMD_NAME(max_pool_planes_plan)(const tn_call *call, tn_kernel_plan *out) {
  pool_shape p;
  planes k = {0};
  const tn_status s = max_pool_shape(call, &p);
  if (s) return s;
  planes_make(&p, &k);
  const tn_window *w = &k.p.w;
  const double across = (double)(w->out[0] * tn_ceil_div(w->out[1], TN_VF_LANES)),
               plane = 20 + across * (1 + 0.25 * (double)w->kernel[1]) +
                       (double)(k.folded / TN_VF_LANES) * (0.5 + 0.2 * (double)w->kernel[0]);
  out->items[0] = p.channels;
  out->elements_per_item = p.out_size;
  out->cost_ns = (double)p.channels * plane + 300;
  out->grain[0] = tn_grain(TN_THREAD_NS, plane);
  out->worker_scratch_bytes = (uint64_t)(k.padded + k.folded) * sizeof(float);
  return TN_OK;
}

/* An item is a plane. */
tn_status TN_SIMD_NAME(max_pool_planes)(const tn_call *call, uint32_t stage, int64_t begin,
                                        int64_t end, uint32_t worker) {
  float *padded =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  pool_shape p;
  planes k = {0};
  const tn_status s = max_pool_shape(call, &p);
  (void)stage;
  if (s) return s;
  planes_make(&p, &k);
  const tn_window *w = &k.p.w;
  float *folded = padded + k.padded;
  for (int64_t o = 0; o < k.padded; o += TN_VF_LANES)
    tn_vf_store(padded + o, tn_vf_set1(-INFINITY));
  for (int64_t item = begin; item < end; item++) {
    const float *first = folded + k.gap - w->pad_lo[1];
    float *y = (float *)call->outputs[0]->data + item * p.out_size;
    planes_copy(&k, (const float *)call->inputs[0]->data + item * p.in_size, padded);
    planes_fold_taps(padded, w->kernel[0], w->dilation[0] * k.pitch, w->out[0] * k.pitch + k.gap,
                     folded);
    for (int64_t row = 0; row < w->out[0]; row++)
      planes_fold_taps(first + row * k.pitch, w->kernel[1], w->dilation[1], w->out[1],
                       y + row * w->out[1]);
  }
  return TN_OK;
}

#endif
