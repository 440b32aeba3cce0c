/* Tiled attention and rotary embeddings with AVX-512. */
#include "base/gemm_simd.h"
#include "base/simd_math.h"

#define LANES 16
#define LANES_FMA(a, b, c) ((flash_lanes)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define LANES_ALL(x) ((flash_lanes)_mm512_set1_ps(x))
#define LANES_MAX(a, b) ((flash_lanes)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define LANES_REDUCE_MAX(v) _mm512_reduce_max_ps((__m512)(v))
#define LANES_REDUCE_SUM(v) tn_vf_sum((__m512)(v))
#define LANES_EXP(v) ((flash_lanes)tn_vf_exp_weight((__m512)(v)))
#define FLASH_PACK_ROWS(rows, step, n, size, to) tn_pack_rows(rows, step, n, size, FLASH_NR, to)
#define FLASH_PLAN attention_flash_f32_avx512_plan
#define FLASH_RUN attention_flash_f32_avx512
#include "flash_f32.h"
#include "rotate_simd.h"
