/* The unary family's float kernels, vectorised by the compiler for AVX2 with FMA. */
#define UNARY_RUN(op) op##_float_avx2
#include "unary_f32.h"
