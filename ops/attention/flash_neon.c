/* Tiled attention and rotary embeddings with NEON. Vectors of attention are of four, which the
 * compiler keeps in registers as they are. */
#include "flash_kernel.h"
#include "rotary.h"
#include "rotate_simd.h"

FLASH_KERNEL(attention_flash_f32_neon)
FLASH_KERNEL(attention_flash_half_neon)

ROTARY_RUN(float)
ROTARY_KERNEL(rotary_embedding_f32_neon, float)
