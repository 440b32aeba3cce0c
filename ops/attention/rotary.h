/* RotaryEmbedding: sizes, and where rows lie. */
#ifndef TN_OPS_ATTENTION_ROTARY_H
#define TN_OPS_ATTENTION_ROTARY_H

#include <stdbool.h>

#include "attention.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/vmath.h"

typedef struct rotary {
  int64_t batch, n, heads, size, half; /* n: positions; half: pairs that are rotated */
  int64_t step_batch, step_row, step_head;
  bool interleaved;
} rotary;

tn_status rotary_make(const tn_call *call, rotary *out);

/* Row of the tables for position i of batch b, item = b * n + i; negative if there is none. */
int64_t rotary_table_row(const tn_call *call, int64_t item);
tn_status rotary_bad_position(const tn_call *call);

/* Of two arrays that are one, or do not overlap. */
#define ROTARY_RUN(T)                                                                           \
  static void rotate_##T(const rotary *r, const T *x, const T *cosines, const T *sines, T *y) { \
    const int64_t half = r->half, size = r->size;                                               \
    if (r->interleaved) {                                                                       \
      TN_IVDEP for (int64_t k = 0; k < half; k++) {                                             \
        const T x1 = x[2 * k], x2 = x[2 * k + 1];                                               \
        y[2 * k] = cosines[k] * x1 - sines[k] * x2;                                             \
        y[2 * k + 1] = sines[k] * x1 + cosines[k] * x2;                                         \
      }                                                                                         \
    } else {                                                                                    \
      TN_IVDEP for (int64_t k = 0; k < half; k++) {                                             \
        const T x1 = x[k], x2 = x[k + half];                                                    \
        y[k] = cosines[k] * x1 - sines[k] * x2;                                                 \
        y[k + half] = sines[k] * x1 + cosines[k] * x2;                                          \
      }                                                                                         \
    }                                                                                           \
    TN_IVDEP for (int64_t k = 2 * half; k < size; k++) y[k] = x[k];                             \
  }                                                                                             \
  static tn_status run_##T(const tn_call *call, int64_t begin, int64_t end) {                   \
    rotary r;                                                                                   \
    tn_status s = rotary_make(call, &r);                                                        \
    for (int64_t item = begin; !s && item < end; item++) {                                      \
      const int64_t row = rotary_table_row(call, item),                                         \
                    base = item / r.n * r.step_batch + item % r.n * r.step_row;                 \
      if (row < 0) return rotary_bad_position(call);                                            \
      const T *cosines = (const T *)call->inputs[1]->data + row * r.half;                       \
      const T *sines = (const T *)call->inputs[2]->data + row * r.half;                         \
      for (int64_t h = 0; h < r.heads; h++) {                                                   \
        const int64_t at = base + h * r.step_head;                                              \
        rotate_##T(&r, (const T *)call->inputs[0]->data + at, cosines, sines,                   \
                   (T *)call->outputs[0]->data + at);                                           \
      }                                                                                         \
    }                                                                                           \
    return s;                                                                                   \
  }

#define ROTARY_KERNEL(name, T)                                                    \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                    \
    return run_##T(call, begin, end);                                             \
  }

#endif
