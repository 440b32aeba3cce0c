/* Tiled attention and rotary embeddings with AVX-512. */
#include "flash_kernel.h"
#include "rotate_simd.h"

FLASH_KERNEL(attention_flash_f32_avx512)
FLASH_KERNEL(attention_flash_half_avx512)
