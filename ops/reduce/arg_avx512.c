/* ArgMax and ArgMin of f32 for AVX-512. */
#include "arg_simd.h"
