/* The activation family's float kernels, vectorised by the compiler for AVX-512. */
#define ACTIVATION_RUN(op) op##_float_avx512
#include "activation_f32.h"
