/* Cast among f32, f16 and bf16 with F16C and AVX2. */
#define CAST_RUN cast_float_avx2
#include "cast_float.h"
