/* Tiled attention and rotary embeddings with AVX2 and FMA. */
#include "flash_kernel.h"
#include "rotary.h"
#include "rotate_simd.h"

FLASH_KERNEL(attention_flash_f32_avx2)
FLASH_KERNEL(attention_flash_half_avx2)

ROTARY_RUN(float)
ROTARY_KERNEL(rotary_embedding_f32_avx2, float)
