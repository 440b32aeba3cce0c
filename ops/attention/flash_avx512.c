/* Tiled attention with AVX-512. */
#include <immintrin.h>
#define LANES 16
#define LANES_FMA(a, b, c) ((flash_lanes)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define LANES_ALL(x) ((flash_lanes)_mm512_set1_ps(x))
#define FLASH_PLAN attention_flash_f32_avx512_plan
#define FLASH_RUN attention_flash_f32_avx512
#include "flash_f32.h"
