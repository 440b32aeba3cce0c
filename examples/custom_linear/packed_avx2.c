/* The packed kernel for AVX2. */
#define PACKED custom_linear_packed_avx2
#include "packed.h"
