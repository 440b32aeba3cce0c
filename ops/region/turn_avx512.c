/* Region and Reorder for AVX-512. */
#include "turn_simd.h"
