/* Cast among f32, f16 and bf16 with AVX-512. */
#define CAST_RUN cast_float_avx512
#include "cast_float.h"
