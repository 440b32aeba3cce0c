/* Epilogues in registers, for kernels in blocked layout: what most of them are (a residual, then a
 * clip, Relu or hard-swish) is done to accumulators just before they are stored. What else there is
 * remains for tn_epilogue_block_f32(), behind the kernel.
 *
 *   tn_finish f = tn_finish_make(call);
 *   ... TN_FINISH_VECTORS(&f, y - first element of output 0, row, acc[j], rows, n) ... store ...
 *   if (f.rest) tn_epilogue_block_f32(...); */
#ifndef TN_KIT_EPILOGUE_SIMD_H
#define TN_KIT_EPILOGUE_SIMD_H

#include <float.h>
#include <math.h>

#include "tenon/kit/epilogue.h"
#include "tenon/kit/simd.h"

typedef struct tn_finish {
  const float *add; /* the residual's first element, stored as the output is; NULL: none */
  uint32_t kind;    /* TN_EPILOGUE_NONE, _CLIP or _HARD_SWISH */
  float lo, hi;     /* of the clip */
  bool rest;        /* nothing is done here: the epilogue is for tn_epilogue_block_f32() */
} tn_finish;

static inline bool tn_finish_unary(const tn_epilogue *e, tn_finish *out) {
  const bool relu = e->kind == TN_EPILOGUE_RELU;
  out->kind = relu ? (uint32_t)TN_EPILOGUE_CLIP : e->kind;
  out->lo = relu ? 0 : (float)e->a;
  out->hi = relu ? INFINITY : (float)e->b;
  return out->kind == TN_EPILOGUE_CLIP || out->kind == TN_EPILOGUE_HARD_SWISH;
}

/* Of a call that tn_epilogue_refuse_f32() lets through. */
static inline tn_finish tn_finish_make(const tn_call *call) {
  const tn_finish none = TN_KIT_ZERO;
  tn_finish f = none;
  uint32_t k = 0;
  if (k < call->n_epilogue && call->epilogue[k]->kind == TN_EPILOGUE_ADD) {
    const tn_tensor *t = call->inputs[call->epilogue[k]->input];
    if (tn_epilogue_is_full(t, call->outputs[0])) f.add = (const float *)t->data, k++;
  }
  if (k < call->n_epilogue && tn_finish_unary(call->epilogue[k], &f)) k++;
  if (k == call->n_epilogue) return f;
  f = none;
  f.rest = true;
  return f;
}

static inline tn_vf tn_finish_hard_swish(tn_vf x) {
  const tn_vf gate = tn_vf_add(tn_vf_mul(x, tn_vf_set1(1.0f / 6.0f)), tn_vf_set1(0.5f));
  return tn_vf_mul(x, tn_vf_min(tn_vf_set1(1), tn_vf_max(tn_vf_set1(0), gate)));
}

/* On vectors v, an expression of j < ROWS * N: N that are neighbours in each of ROWS rows, `row`
 * floats apart; the first is element `at` of the output. NaN stays NaN: of two operands min and max
 * give the second if they cannot be compared. A macro, for loops over accumulators must have
 * numbers for bounds when compilers first see them: else the accumulators end up in memory. */
#define TN_FINISH_VECTORS(f, at, row, v, ROWS, N)                                                 \
  do {                                                                                            \
    if ((f)->add) {                                                                               \
      const float *tn_t = (f)->add + (at);                                                        \
      TN_UNROLL for (int j = 0; j < (ROWS) * (N); j++) v =                                        \
          tn_vf_add(v, tn_vf_load(tn_t + j / (N) * (row) + j % (N)*TN_VF_LANES));                 \
    }                                                                                             \
    if ((f)->kind == TN_EPILOGUE_CLIP) {                                                          \
      const tn_vf tn_lo = tn_vf_set1((f)->lo), tn_hi = tn_vf_set1((f)->hi);                       \
      TN_UNROLL for (int j = 0; j < (ROWS) * (N); j++) v = tn_vf_min(tn_hi, tn_vf_max(tn_lo, v)); \
    } else if ((f)->kind == TN_EPILOGUE_HARD_SWISH) {                                             \
      TN_UNROLL for (int j = 0; j < (ROWS) * (N); j++) v = tn_finish_hard_swish(v);               \
    }                                                                                             \
  } while (0)

#endif
