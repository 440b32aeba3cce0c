/* The unary family's float kernels, vectorised by the compiler for AVX-512. */
#define UNARY_RUN(op) op##_float_avx512
#include "unary_f32.h"
