/* Region and Reorder for AVX2. */
#include "turn_simd.h"
