/* Tiled attention for any machine, with vectors of four. */
#include "flash_kernel.h"

FLASH_KERNEL(attention_flash_f32)
FLASH_KERNEL(attention_flash_half)
