/* Tiled attention and rotary embeddings with NEON. Vectors of attention are of four, which the
 * compiler keeps in registers as they are. */
#include "base/gemm_simd.h"

#define LANES 4
#define LANES_FMA(a, b, c) \
  ((flash_lanes)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define LANES_ALL(x) ((flash_lanes)vdupq_n_f32(x))
#define FLASH_MR 8 /* 16 accumulators */
#define FLASH_PACK_ROWS(rows, step, n, size, to) tn_pack_rows(rows, step, n, size, FLASH_NR, to)
#define FLASH_PLAN attention_flash_f32_neon_plan
#define FLASH_RUN attention_flash_f32_neon
#include "flash_f32.h"
#include "rotate_simd.h"
