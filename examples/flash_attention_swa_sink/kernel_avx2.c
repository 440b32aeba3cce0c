/* The kernels for avx2. */
#define LANES 8
#define KEYS 4
#define FLASH_NAME flash_attention_avx2
#define PAGED_NAME paged_attention_avx2
#include "kernel.h"
