/* Tiled attention and rotary embeddings with vectors. */
#include "flash_kernel.h"
#include "rotary.h"
#include "rotate_simd.h"

FLASH_KERNEL(attention_flash_f32)
FLASH_KERNEL(attention_flash_half)
ROTARY_RUN(float)
ROTARY_KERNEL(TN_SIMD_NAME(rotary_embedding_f32), float)
