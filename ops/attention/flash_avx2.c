/* Tiled attention and rotary embeddings with AVX2 and FMA. */
#include "base/gemm_simd.h"
#include "base/simd_math.h"

#define LANES 8
#define LANES_FMA(a, b, c) ((flash_lanes)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define LANES_ALL(x) ((flash_lanes)_mm256_set1_ps(x))
#define LANES_MAX(a, b) ((flash_lanes)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define LANES_REDUCE_MAX(v) tn_vf_top((__m256)(v))
#define LANES_REDUCE_SUM(v) tn_vf_sum((__m256)(v))
#define LANES_EXP(v) ((flash_lanes)tn_vf_exp_weight((__m256)(v)))
#define FLASH_PACK_ROWS(rows, step, n, size, to) tn_pack_rows(rows, step, n, size, FLASH_NR, to)
#define FLASH_PLAN attention_flash_f32_avx2_plan
#define FLASH_RUN attention_flash_f32_avx2
#include "flash_f32.h"
#include "rotate_simd.h"
