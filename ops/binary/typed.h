/* Driver of the binary kernels that work on any type: operands are brought into blocks of one
 * type, then two arrays are combined. f16 and bf16 become f32 for that. */
#ifndef TN_OPS_BINARY_TYPED_H
#define TN_OPS_BINARY_TYPED_H

#include "tenon/kit/broadcast.h"
#include "tenon/kit/elementwise.h"

/* y[i] = f(a[i], b[i]); the types are those of the table's entry. y may be a or b. */
typedef void (*typed_loop)(const void *a, const void *b, void *y, int64_t n);

#define TYPED_LOOP(name, T, value)                                        \
  static void name(const void *va, const void *vb, void *vy, int64_t n) { \
    const T *pa = va, *pb = vb;                                           \
    T *y = vy;                                                            \
    TN_IVDEP for (int64_t i = 0; i < n; i++) {                            \
      const T a = pa[i], b = pb[i];                                       \
      y[i] = (T)(value);                                                  \
    }                                                                     \
  }

static inline bool typed_is_half(uint32_t dtype) { return dtype == TN_F16 || dtype == TN_BF16; }

/* n <= TN_MAP_BLOCK elements of t as the loops want them: where they stand, or in `is`, which is
 * that of this operand from block to block. */
static inline const void *typed_load(const tn_tensor *t, int64_t offset, int64_t step, int64_t n,
                                     tn_repeated *is) {
  if (!typed_is_half(t->dtype))
    return tn_expand_next(t->data, tn_dtype(t->dtype)->bits / 8, offset, step, n, is);
  float *block = (float *)(void *)is->block;
  tn_load_block_f32(t->dtype, t->data, offset, step ? n : 1, block);
  return step ? block : tn_expand_block(block, 4, 0, 0, n, block);
}

/* Storage elements [begin, end) of output 0 = loop(input 0, input 1). loops: by dtype of input
 * 0. */
static inline tn_status typed_run(const tn_call *call, int64_t begin, int64_t end,
                                  const typed_loop *loops) {
  tn_repeated a, b;
  float narrow[TN_MAP_BLOCK];
  tn_tensor *y = call->outputs[0];
  const uint32_t dtype = call->inputs[0]->dtype;
  const typed_loop loop = loops[typed_is_half(dtype) ? TN_F32 : dtype];
  const int64_t bytes = tn_dtype(y->dtype)->bits / 8;
  tn_broadcast plan;
  tn_status status = loop ? tn_broadcast_init(&plan, y, 2, call->inputs) : TN_ERR_INTERNAL;
  if (status) return status;
  a.n = b.n = 0;
  tn_runs r = tn_runs_begin(&plan, begin, end);
  while (tn_runs_next(&r)) {
    for (int64_t i = 0; i < r.length; i += TN_MAP_BLOCK) {
      const int64_t n = tn_min_i64(r.length - i, TN_MAP_BLOCK), sa = r.stride[0], sb = r.stride[1];
      const void *pa = typed_load(call->inputs[0], r.offset[0] + i * sa, sa, n, &a);
      const void *pb = typed_load(call->inputs[1], r.offset[1] + i * sb, sb, n, &b);
      void *to = typed_is_half(y->dtype) ? (void *)narrow
                                         : (void *)((char *)y->data + (r.index + i) * bytes);
      loop(pa, pb, to, n);
      if (typed_is_half(y->dtype)) tn_store_block_f32(y->dtype, y->data, r.index + i, n, narrow);
    }
  }
  return TN_OK;
}

#endif
