/* The unary family's float kernels, vectorised by the compiler for each instruction set. */
#include "tenon/kit/isa.h"

#define UNARY_RUN(op) TN_SIMD_NAME(op##_float)
#include "unary_f32.h"
