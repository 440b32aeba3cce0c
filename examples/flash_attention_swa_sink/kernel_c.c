/* The kernels for any machine: vectors of 16 bytes. */
#define LANES 4
#define KEYS 4
#define FLASH_NAME flash_attention_c
#define PAGED_NAME paged_attention_c
#include "kernel.h"
