/* The activation family's float kernels, vectorised by the compiler for each instruction set. */
#include "tenon/kit/isa.h"

#define ACTIVATION_RUN(op) TN_SIMD_NAME(op##_float)
#include "activation_f32.h"
