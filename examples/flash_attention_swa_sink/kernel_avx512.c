/* The kernels for avx512. */
#define LANES 16
#define KEYS 8
#define FLASH_NAME flash_attention_avx512
#define PAGED_NAME paged_attention_avx512
#include "kernel.h"
