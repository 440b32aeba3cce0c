/* Fused element-wise steps on f32: what kernels with TN_KERNEL_EPILOGUE call on each run of output
 * elements that they have just computed, while it is in the cache.
 *
 *   refuse():  if ((why = tn_epilogue_refuse_f32(call, 1))) return why;
 *   run():     ... y[0 .. n) of output 0 is done ...
 *              tn_epilogue_f32(call, y, n, offset, channel, step);
 *
 * Steps in call->epilogue are applied in order. NaN stays NaN in all of them. */
#ifndef TN_KIT_EPILOGUE_H
#define TN_KIT_EPILOGUE_H

#include <stdbool.h>

#include "tenon/kit/checked.h"
#include "tenon/kit/isa.h"
#include "tenon/kit/tensor.h"
#include "tenon/kit/vmath.h"

/* t of an ADD or MUL has the output's shape (and must then have its layout); else it is one
 * value per channel. */
static inline bool tn_epilogue_is_full(const tn_tensor *t, const tn_tensor *y) {
  bool same = t->rank == y->rank;
  for (int32_t k = 0; same && k < y->rank; k++) same = t->shape[k] == y->shape[k];
  return same;
}

/* NULL if tn_epilogue_f32 can apply all steps of call->epilogue to output 0, whose channels the
 * kernel counts along dim `channel` (1 for images, the last one for rows), else why not. */
TN_KIT_FN const char *tn_epilogue_refuse_f32(const tn_call *call, int32_t channel);

#if defined(TN_KIT_SHARED)
#define tn_epilogue_f32 TN_KIT_ISA_NAME(tn_epilogue_f32)
#define tn_epilogue_block_f32 TN_KIT_ISA_NAME(tn_epilogue_block_f32)
#endif

/* Applies call->epilogue to y[0 .. n), n elements next to each other in the storage of output 0:
 *   offset   index of y[0] in that storage (operands of the output's shape are read from there)
 *   channel  index along dim 1 of y[0]
 *   step     1: y[i] is of channel + i (a row of NHWC, of a matrix, or of a block);
 *            0: all n are of the same channel (pixels of a plane)
 * In blocked layouts n must stop at the last true channel: pad lanes are the caller's to zero. */
TN_KIT_ISA_FN void tn_epilogue_f32(const tn_call *call, float *y, int64_t n, int64_t offset,
                                   int64_t channel, int64_t step);

/* The same for n pixels of one block of a blocked layout, of `lanes` channels each, the first of
 * which is `channel`. Steps with an operand per channel go pixel by pixel, all others through all
 * pixels at once. Pad lanes are zero in the end. */
TN_KIT_ISA_FN void tn_epilogue_block_f32(const tn_call *call, float *y, int64_t n, int64_t offset,
                                         int64_t channel, int64_t lanes);

#if defined(TN_KIT_ISA_BODIES)

/* y[i] += t[i], or *=, for i < n; step 0: t[0] for all i. */
static inline void tn_epilogue_binary_f32(uint32_t kind, float *y, int64_t n, const float *t,
                                          int64_t step) {
  if (kind == TN_EPILOGUE_ADD && step) {
    TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] += t[i];
  } else if (kind == TN_EPILOGUE_ADD) {
    const float c = t[0];
    TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] += c;
  } else if (step) {
    TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] *= t[i];
  } else {
    const float c = t[0];
    TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] *= c;
  }
}

/* One step without an operand on y[0 .. n). */
static inline void tn_epilogue_unary_f32(const tn_epilogue *e, float *y, int64_t n) {
  const float a = (float)e->a, b = (float)e->b;
#define TN_EPILOGUE_LOOP(value)              \
  TN_IVDEP for (int64_t i = 0; i < n; i++) { \
    const float x = y[i];                    \
    y[i] = (value);                          \
  }                                          \
  break
  switch (e->kind) {
    case TN_EPILOGUE_RELU: TN_EPILOGUE_LOOP(x < 0.0f ? 0.0f : x);
    case TN_EPILOGUE_CLIP: TN_EPILOGUE_LOOP(tn_clamp_f32(x, a, b));
    case TN_EPILOGUE_LEAKY_RELU: TN_EPILOGUE_LOOP(x < 0.0f ? a * x : x);
    case TN_EPILOGUE_SIGMOID: TN_EPILOGUE_LOOP(tn_sigmoid_f32(x));
    case TN_EPILOGUE_TANH: TN_EPILOGUE_LOOP(tn_tanh_f32(x));
    case TN_EPILOGUE_HARD_SIGMOID: TN_EPILOGUE_LOOP(tn_clamp_f32(a * x + b, 0.0f, 1.0f));
    case TN_EPILOGUE_HARD_SWISH: TN_EPILOGUE_LOOP(tn_hard_swish_f32(x));
    case TN_EPILOGUE_SILU: TN_EPILOGUE_LOOP(tn_silu_f32(x));
    case TN_EPILOGUE_GELU: TN_EPILOGUE_LOOP(tn_gelu_f32(x));
    case TN_EPILOGUE_GELU_TANH: TN_EPILOGUE_LOOP(tn_gelu_tanh_f32(x));
    default: break;
  }
#undef TN_EPILOGUE_LOOP
}

TN_KIT_ISA_FN void tn_epilogue_f32(const tn_call *call, float *y, int64_t n, int64_t offset,
                                   int64_t channel, int64_t step) {
  for (uint32_t k = 0; k < call->n_epilogue; k++) {
    const tn_epilogue *e = call->epilogue[k];
    if (e->kind != TN_EPILOGUE_ADD && e->kind != TN_EPILOGUE_MUL) {
      tn_epilogue_unary_f32(e, y, n);
      continue;
    }
    const tn_tensor *t = call->inputs[e->input];
    const bool full = tn_epilogue_is_full(t, call->outputs[0]);
    tn_epilogue_binary_f32(e->kind, y, n, (const float *)t->data + (full ? offset : channel),
                           full ? 1 : step);
  }
}

TN_KIT_ISA_FN void tn_epilogue_block_f32(const tn_call *call, float *y, int64_t n, int64_t offset,
                                         int64_t channel, int64_t lanes) {
  const tn_tensor *out = call->outputs[0];
  const int64_t live = tn_min_i64(lanes, out->shape[1] - channel);
  bool at_once = live == lanes;
  for (uint32_t k = 0; at_once && k < call->n_epilogue; k++) {
    const int32_t input = call->epilogue[k]->input;
    at_once = input < 0 || tn_epilogue_is_full(call->inputs[input], out);
  }
  if (at_once) {
    tn_epilogue_f32(call, y, n * lanes, offset, channel, 1);
    return;
  }
  for (int64_t p = 0; p < n; p++, y += lanes, offset += lanes) {
    tn_epilogue_f32(call, y, live, offset, channel, 1);
    for (int64_t k = live; k < lanes; k++) y[k] = 0;
  }
}

#endif

#ifdef TN_KIT_BODIES

/* The dim of y that t has one value per index of; -1: none (t has one value), -2: t is of no such
 * shape. */
static inline int32_t tn_epilogue_dim(const tn_tensor *t, const tn_tensor *y) {
  int32_t dim = -1;
  for (int32_t k = 0; k < t->rank; k++) {
    const int32_t at = k + y->rank - t->rank;
    if (t->shape[k] == 1) continue;
    if (dim >= 0 || at < 0 || t->shape[k] != y->shape[at]) return -2;
    dim = at;
  }
  return dim;
}

/* Why tn_epilogue_f32 cannot use t for y, where the caller counts channels along dim `channel`;
 * NULL: it can. */
static inline const char *tn_epilogue_refuse_operand(const tn_tensor *t, const tn_tensor *y,
                                                     int32_t channel) {
  if (t->dtype != TN_F32) return "the epilogue's operand is not f32";
  if (tn_epilogue_is_full(t, y))
    return t->layout == y->layout ? NULL
                                  : "the epilogue's operand is in another layout than the output";
  const int32_t dim = tn_epilogue_dim(t, y);
  if (channel < 0 || channel >= y->rank ||
      (dim != channel && (dim != -1 || y->shape[channel] != 1)))
    return "the epilogue's operand is neither of the output's shape nor one value per channel";
  if (t->layout != TN_PLAIN && tn_storage_elements(t) < y->shape[channel])
    return "the epilogue's operand is in a layout that cannot be read by channel";
  return NULL;
}

TN_KIT_FN const char *tn_epilogue_refuse_f32(const tn_call *call, int32_t channel) {
  const tn_tensor *y = call->outputs[0];
  for (uint32_t k = 0; k < call->n_epilogue; k++) {
    const tn_epilogue *e = call->epilogue[k];
    if (e->kind == TN_EPILOGUE_NONE || e->kind >= TN_EPILOGUE_COUNT)
      return "unknown kind of epilogue";
    if (y->dtype != TN_F32) return "the epilogue needs an f32 output";
    if (e->kind != TN_EPILOGUE_ADD && e->kind != TN_EPILOGUE_MUL) continue;
    if (e->input < 0 || (uint32_t)e->input >= call->n_inputs || !call->inputs[e->input])
      return "the epilogue's operand is missing";
    const char *why = tn_epilogue_refuse_operand(call->inputs[e->input], y, channel);
    if (why) return why;
  }
  return NULL;
}

#endif

#endif
