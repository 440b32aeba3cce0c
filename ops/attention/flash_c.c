/* Tiled attention for any machine, with vectors of four. */
#define LANES 4
#define LANES_FMA(a, b, c) ((a) * (b) + (c))
#define LANES_ALL(x) ((flash_lanes){(x), (x), (x), (x)})
#define FLASH_PLAN attention_flash_f32_c_plan
#define FLASH_RUN attention_flash_f32_c
#include "flash_f32.h"
