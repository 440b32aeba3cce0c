/* ArgMax and ArgMin of f32 for AVX2. */
#include "arg_simd.h"
