/* CDist for NEON: c_dist_simd.h, compiled with its flags. */
#include "c_dist_simd.h"
