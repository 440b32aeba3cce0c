/* What the kernels of Attention on GPUs share. */
#ifndef TN_OPS_ATTENTION_ATTENTION_GPU_H
#define TN_OPS_ATTENTION_ATTENTION_GPU_H

#include "attention.h"
#include "tenon/experimental/gpu.h"

/* A dispatch that is being made: where its keys and values lie. */
typedef struct attention_gpu {
  const attention *a;
  attention_steps k, v;
} attention_gpu;

/* present_key and present_value: of the cache, then the new ones. */
tn_status attention_gpu_present(const tn_call *call, tn_recorder *r, const attention *a);
/* Buffers Q, K, V and MASK; keys and values are those of present_key and _value if there is a
 * cache. */
attention_gpu attention_gpu_begin(tn_gpu *g, const tn_call *call, const attention *a,
                                  int32_t program);
/* HAS_MASK, IS_BOOL, CAUSAL */
void attention_gpu_mask_consts(tn_gpu *g, const tn_call *call, const attention *a);
/* The n sizes, then the params from columns to softcap. */
void attention_gpu_params(tn_gpu *g, const attention_gpu *d, const int64_t *sizes, int32_t n);
static inline int64_t attention_gpu_sharing(const attention *a) {
  return a->kv_heads ? a->heads / a->kv_heads : 1;
}

#endif
