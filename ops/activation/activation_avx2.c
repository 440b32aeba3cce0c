/* The activation family's float kernels, vectorised by the compiler for AVX2 with FMA. */
#define ACTIVATION_RUN(op) op##_float_avx2
#include "activation_f32.h"
