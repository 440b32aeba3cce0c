/* The binary family's float kernels, vectorised by the compiler for AVX2. */
#define BINARY_RUN(op) op##_float_avx2
#include "binary_f32.h"
