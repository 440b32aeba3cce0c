/* Tiled attention for any machine, with vectors of four. */
#include "flash_kernel.h"

FLASH_KERNEL(attention_flash_f32_c)
FLASH_KERNEL(attention_flash_half_c)
