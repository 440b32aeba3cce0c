/* What element-wise kernels share: plans, f16 and bf16 by way of f32 in blocks, pad lanes of
 * blocked layouts.
 *
 * All is inline, or there once for each instruction set, so that a file compiled for AVX2 gets AVX2
 * code. Items of these kernels are
 * elements of the storage of output 0; pad lanes count, and are zeroed again after each range. */
#ifndef TN_KIT_ELEMENTWISE_H
#define TN_KIT_ELEMENTWISE_H

#include <string.h>

#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/isa.h"
#include "tenon/kit/tensor.h"
#include "tenon/kit/vmath.h"

enum { TN_MAP_BLOCK = 512 }; /* f32 elements per block: input and output stay in L1 */

#if defined(TN_KIT_SHARED)
#define tn_widen_f16 TN_KIT_ISA_NAME(tn_widen_f16)
#define tn_narrow_f16 TN_KIT_ISA_NAME(tn_narrow_f16)
#define tn_widen_bf16 TN_KIT_ISA_NAME(tn_widen_bf16)
#define tn_narrow_bf16 TN_KIT_ISA_NAME(tn_narrow_bf16)
#endif

/* y[i] = x[i] as f32. Exact. */
TN_KIT_ISA_FN void tn_widen_f16(const uint16_t *x, float *y, int64_t n);
TN_KIT_ISA_FN void tn_widen_bf16(const uint16_t *x, float *y, int64_t n);

/* y[i] = x[i] rounded to nearest, ties to even; too large: inf. */
TN_KIT_ISA_FN void tn_narrow_f16(const float *x, uint16_t *y, int64_t n);
TN_KIT_ISA_FN void tn_narrow_bf16(const float *x, uint16_t *y, int64_t n);

static inline void tn_widen_half(uint32_t dtype, const uint16_t *x, float *y, int64_t n) {
  if (dtype == TN_F16)
    tn_widen_f16(x, y, n);
  else
    tn_widen_bf16(x, y, n);
}

/* n elements from `index` of an f32, f16 or bf16 storage as f32: where they stand, or in block. */
static inline const float *tn_load_block_f32(uint32_t dtype, const void *data, int64_t index,
                                             int64_t n, float *block) {
  if (dtype == TN_F32) return (const float *)data + index;
  tn_widen_half(dtype, (const uint16_t *)data + index, block, n);
  return block;
}

/* And back; values == the elements themselves: nothing to do. */
static inline void tn_store_block_f32(uint32_t dtype, void *data, int64_t index, int64_t n,
                                      const float *values) {
  if (dtype == TN_F16)
    tn_narrow_f16(values, (uint16_t *)data + index, n);
  else if (dtype == TN_BF16)
    tn_narrow_bf16(values, (uint16_t *)data + index, n);
}

/* n elements of `bytes` bytes of an operand from `offset` as an array: where they stand (step
 * 1), or the one element repeated in block (step 0), which has room for n elements. */
static inline const void *tn_expand_block(const void *data, int64_t bytes, int64_t offset,
                                          int64_t step, int64_t n, void *block) {
  const char *from = (const char *)data + offset * bytes;
  if (step) return from;
  if (bytes == 1) {
    memset(block, *from, (size_t)n);
    return block;
  }
  char *to = (char *)block;
  memcpy(to, from, (size_t)bytes);
  for (int64_t done = 1; done < n; done *= 2) {
    memcpy(to + done * bytes, to, (size_t)(tn_min_i64(done, n - done) * bytes));
  }
  return block;
}

/* What of an operand is repeated, from one block of up to TN_MAP_BLOCK elements of at most 16 bytes
 * to the next: `n` times the element at `offset`. n is 0 at first. */
typedef struct tn_repeated {
  int64_t offset, n;
  uint64_t block[2 * TN_MAP_BLOCK];
} tn_repeated;

/* tn_expand_block for one block after the other of the same operand. */
static inline const void *tn_expand_next(const void *data, int64_t bytes, int64_t offset,
                                         int64_t step, int64_t n, tn_repeated *is) {
  if (!step && n <= is->n && is->offset == offset) return is->block;
  is->offset = offset;
  is->n = step ? 0 : n;
  return tn_expand_block(data, bytes, offset, step, n, is->block);
}

/* y[i] = f(x[i]) for i < n; x == y is allowed. arg: the node's attributes, or what the kernel
 * made of them. */
typedef void (*tn_map_f32)(const float *x, float *y, int64_t n, const void *arg);

/* Zeroes the pad lanes among elements [begin, end) of the storage of y. */
TN_KIT_FN void tn_pads_zero(const tn_tensor *y, int64_t begin, int64_t end);

/* Output 0 = f(input 0) on storage elements [begin, end); both f32, f16 or bf16. */
static inline tn_status tn_map_run_f32(const tn_call *call, int64_t begin, int64_t end,
                                       tn_map_f32 f, const void *arg) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  if (x->dtype == TN_F32 && y->dtype == TN_F32) {
    f((const float *)x->data + begin, (float *)y->data + begin, end - begin, arg);
  } else {
    float in[TN_MAP_BLOCK], out[TN_MAP_BLOCK];
    for (int64_t i = begin; i < end; i += TN_MAP_BLOCK) {
      const int64_t n = tn_min_i64(end - i, TN_MAP_BLOCK);
      f(tn_load_block_f32(x->dtype, x->data, i, n, in), out, n, arg);
      tn_store_block_f32(y->dtype, y->data, i, n, out);
    }
  }
  tn_pads_zero(y, begin, end);
  return TN_OK;
}

/* One item per storage element; ns: time of one element on one thread, data in the cache. Output
 * 0 may lie on input 0 if their elements have the same size. */
TN_KIT_FN tn_status tn_plan_elementwise(const tn_call *call, tn_kernel_plan *plan, double ns);

#if defined(TN_KIT_ISA_BODIES)

TN_KIT_ISA_FN void tn_widen_f16(const uint16_t *x, float *y, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(y + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(x + i))));
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
#elif defined(__aarch64__)
  for (; i + 4 <= n; i += 4) vst1q_f32(y + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(x + i))));
#endif
  TN_IVDEP for (; i < n; i++) {
    uint32_t h = x[i], m = (h & 0x7fffu) << 13;
    float f =
        tn_f32_of_bits(m) * 5.192296858534828e+33f; /* 2^112: moves the exponent, subnormals too */
    uint32_t u = m >= (0x7c00u << 13) ? m | 0x7f800000u : tn_bits_of_f32(f);
    y[i] = tn_f32_of_bits(u | (h & 0x8000u) << 16);
  }
}

TN_KIT_ISA_FN void tn_narrow_f16(const float *x, uint16_t *y, int64_t n) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256((__m256i *)(y + i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i *)(y + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__aarch64__)
  for (; i + 4 <= n; i += 4) vst1_u16(y + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
#endif
  TN_IVDEP for (; i < n; i++) {
    uint32_t u = tn_bits_of_f32(x[i]), a = u & 0x7fffffffu;
    uint32_t normal = (a + 0xfffu + (a >> 13 & 1u) - (112u << 23)) >> 13;
    /* adding 0.5 puts the bits that a subnormal keeps at the low end, rounded */
    uint32_t tiny = tn_bits_of_f32(tn_f32_of_bits(a) + 0.5f) - 0x3f000000u;
    uint32_t r = a < (113u << 23) ? tiny : normal;
    r = a >= (143u << 23) ? 0x7c00u : r;
    r = a > 0x7f800000u ? 0x7e00u : r;
    y[i] = (uint16_t)(r | (u >> 16 & 0x8000u));
  }
}

TN_KIT_ISA_FN void tn_widen_bf16(const uint16_t *x, float *y, int64_t n) {
  TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] = tn_f32_of_bits((uint32_t)x[i] << 16);
}

TN_KIT_ISA_FN void tn_narrow_bf16(const float *x, uint16_t *y, int64_t n) {
  TN_IVDEP for (int64_t i = 0; i < n; i++) {
    uint32_t u = tn_bits_of_f32(x[i]);
    uint32_t r = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    y[i] = (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? u >> 16 | 0x40u : r);
  }
}

#endif

#ifdef TN_KIT_BODIES

TN_KIT_FN void tn_pads_zero(const tn_tensor *y, int64_t begin, int64_t end) {
  const int64_t b = TN_LAYOUT_BLOCK(y->layout);
  if (y->layout == TN_PLAIN || y->layout == TN_CHANNELS_LAST || b == 0 || y->shape[1] % b == 0)
    return;
  const int64_t used = y->shape[1] % b, bytes = tn_dtype(y->dtype)->bits / 8;
  int64_t plane = b; /* elements of one block of channels */
  for (int32_t k = 2; k < y->rank; k++) plane *= y->shape[k];
  const int64_t per_image = plane * tn_ceil_div(y->shape[1], b);
  if (per_image == 0) return;
  for (int64_t image = begin / per_image * per_image; image < end; image += per_image) {
    for (int64_t block = image + per_image - plane; block < image + per_image; block += b) {
      const int64_t from = tn_max_i64(block + used, begin), to = tn_min_i64(block + b, end);
      if (from < to) memset((char *)y->data + from * bytes, 0, (size_t)((to - from) * bytes));
    }
  }
}

TN_KIT_FN tn_status tn_plan_elementwise(const tn_call *call, tn_kernel_plan *plan, double ns) {
  const tn_tensor *y = call->outputs[0];
  const int64_t n = tn_storage_elements(y);
  plan->items[0] = n;
  plan->grain[0] = (int64_t)(5000.0 / ns) + 1;
  plan->flags |= TN_PLAN_ELEMENTWISE;
  plan->elements_per_item = 1;
  plan->cost_ns = 20.0 + ns * (double)n;
  if (call->inputs[0] && tn_dtype(call->inputs[0]->dtype)->bits == tn_dtype(y->dtype)->bits &&
      tn_storage_elements(call->inputs[0]) == n) {
    plan->in_place[0] = 0;
  }
  return TN_OK;
}

#endif

#endif
