/* The packed kernel for AVX-512. */
#define PACKED custom_linear_packed_avx512
#include "packed.h"
