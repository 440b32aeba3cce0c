/* Tiled attention with AVX2 and FMA. */
#include <immintrin.h>
#define LANES 8
#define LANES_FMA(a, b, c) ((flash_lanes)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define LANES_ALL(x) ((flash_lanes)_mm256_set1_ps(x))
#define FLASH_PLAN attention_flash_f32_avx2_plan
#define FLASH_RUN attention_flash_f32_avx2
#include "flash_f32.h"
