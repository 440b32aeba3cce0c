/* CDist for AVX2: c_dist_simd.h, compiled with its flags. */
#include "c_dist_simd.h"
