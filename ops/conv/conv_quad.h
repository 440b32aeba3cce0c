/* What kernels of conv_quad_gpu.h do on the host: places of what is packed, and its weights. */
#ifndef TN_OPS_CONV_QUAD_H
#define TN_OPS_CONV_QUAD_H

#include <string.h>

#include "conv_gpu.h"
#include "tenon/kit/element.h"

enum { CONV_QUAD_EIGHT = 8 };

/* What elements of u8 count less by. */
static inline int32_t conv_quad_less(const tn_tensor *t) { return t->dtype == TN_U8 ? 128 : 0; }

/* May they, once that is done, have zero points? */
static inline bool conv_quad_has_zeros(const tn_tensor *w, const tn_tensor *zero) {
  if (!zero) return w->dtype == TN_U8;
  for (int64_t k = 0; zero->data && k < tn_elements(zero); k++)
    if (tn_load_i64(zero->dtype, zero->data, k) != conv_quad_less(w)) return true;
  return !zero->data;
}

static inline int64_t conv_quads(const conv_shape *c) {
  return tn_ceil_div(c->channels / c->groups, 4);
}

static inline int64_t conv_quad_blocks(const conv_shape *c) {
  return tn_ceil_div(c->filters / c->groups, CONV_QUAD_EIGHT);
}

/* NULL: shapes whose sums, and what zero points take from them, fit. */
static inline const char *conv_quad_refuse(const tn_call *call, const conv_shape *c) {
  if (c->w.n > 2) return "takes one or two spatial dims";
  if (c->filters / c->groups < CONV_QUAD_EIGHT / 2) return "takes four or more filters a group";
  if (c->channels / c->groups * c->taps > INT32_MAX / 65536) return "its sums may exceed 32 bits";
  if (c->batch * c->groups * conv_quads(c) > UINT16_MAX)
    return "takes batches times channels in fours to 65535";
  return conv_gpu_refuse_rounds(call, c, false);
}

static inline int64_t conv_quad_places(const conv_shape *c) {
  int64_t n = 1;
  for (int32_t k = 0; k < c->w.n; k++) n *= c->w.in[k];
  return n;
}

static inline uint64_t conv_quad_x_bytes(const conv_shape *c) {
  return (uint64_t)(c->batch * c->groups * conv_quads(c) * conv_quad_places(c)) * sizeof(int32_t);
}

/* Words of packed weights, before the sums. */
static inline int64_t conv_quad_w_words(const conv_shape *c) {
  return c->groups * conv_quad_blocks(c) * c->taps * conv_quads(c) * CONV_QUAD_EIGHT;
}

static inline uint64_t conv_quad_w_bytes(const conv_shape *c) {
  return (uint64_t)(conv_quad_w_words(c) + c->filters) * sizeof(int32_t);
}

/* X is packed in scratch, W by prepare() in the state. */
static inline void conv_quad_plan(const conv_shape *c, tn_kernel_plan *out) {
  out->state_bytes = conv_quad_w_bytes(c);
  out->scratch_bytes = conv_quad_x_bytes(c);
}

/* W [filters][channels of a group][taps] of filter m: word [tap][quad][8], and the sum. */
static inline void conv_quad_pack_filter(const conv_shape *c, const tn_tensor *w, int64_t m,
                                         int32_t *to, int32_t *out_sum) {
  const int64_t channels = c->channels / c->groups;
  for (int64_t k = 0; k < channels; k++)
    for (int64_t t = 0; t < c->taps; t++) {
      const int64_t at = (m * channels + k) * c->taps + t;
      const int32_t one = (int32_t)tn_load_i64(w->dtype, w->data, at) - conv_quad_less(w);
      int32_t *const word = &to[(t * conv_quads(c) + k / 4) * CONV_QUAD_EIGHT];
      *word = (int32_t)((uint32_t)*word | (uint32_t)(one & 255) << k % 4 * 8);
      *out_sum += one;
    }
}

static inline void conv_quad_pack_w(const conv_shape *c, const tn_tensor *w, int32_t *to) {
  const int64_t filters = c->filters / c->groups;
  int32_t *const sums = to + conv_quad_w_words(c);
  memset(to, 0, (size_t)conv_quad_w_bytes(c));
  for (int64_t m = 0; m < c->filters; m++) {
    const int64_t f = m % filters, block = m / filters * conv_quad_blocks(c) + f / CONV_QUAD_EIGHT;
    int32_t *const panel = to + block * c->taps * conv_quads(c) * CONV_QUAD_EIGHT;
    conv_quad_pack_filter(c, w, m, panel + f % CONV_QUAD_EIGHT, &sums[m]);
  }
}

/* Packed X lies in scratch, from its beginning on. */
static inline void conv_quad_add_x(tn_gpu *g, const conv_shape *c) {
  tn_gpu_buffer(g, TN_BIND_SCRATCH, 0, TN_I32, 0, conv_quad_x_bytes(c));
}

/* By the program of QUAD_PACK_X. */
static inline tn_status conv_quad_pack_x(const tn_call *call, tn_recorder *r, int32_t program,
                                         const conv_shape *c, int32_t x) {
  const int64_t places = conv_quad_places(c);
  tn_gpu g;
  if (tn_elements(call->outputs[0]) == 0 || conv_quad_x_bytes(c) == 0) return TN_OK;
  tn_gpu_begin(&g, call, program);
  tn_gpu_in(&g, x);
  conv_quad_add_x(&g, c);
  tn_gpu_int(&g, c->channels / c->groups);
  tn_gpu_int(&g, places);
  tn_gpu_int(&g, conv_quad_less(call->inputs[x]));
  return tn_gpu_run(&g, r, tn_gpu_groups(places, 64),
                    (uint32_t)(c->batch * c->groups * conv_quads(c)), 1);
}

static inline tn_status conv_quad_run(tn_gpu *g, tn_recorder *r, const conv_shape *c) {
  return tn_gpu_run(g, r, tn_gpu_groups(c->out_size, 128),
                    (uint32_t)(c->groups * conv_quad_blocks(c)), (uint32_t)c->batch);
}

#endif
