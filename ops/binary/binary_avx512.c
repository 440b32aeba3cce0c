/* The binary family's float kernels, vectorised by the compiler for AVX-512. */
#define BINARY_RUN(op) op##_float_avx512
#include "binary_f32.h"
