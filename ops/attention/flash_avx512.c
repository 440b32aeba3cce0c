/* Tiled attention and rotary embeddings with AVX-512. */
#include "flash_kernel.h"
#include "rotary.h"
#include "rotate_simd.h"

FLASH_KERNEL(attention_flash_f32_avx512)
FLASH_KERNEL(attention_flash_half_avx512)

ROTARY_RUN(float)
ROTARY_KERNEL(rotary_embedding_f32_avx512, float)
