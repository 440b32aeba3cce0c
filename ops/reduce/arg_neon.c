/* ArgMax and ArgMin of f32 for NEON. */
#include "arg_simd.h"
