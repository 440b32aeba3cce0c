/* The binary family's float kernels, vectorised by the compiler for each instruction set. */
#include "tenon/kit/isa.h"

#define BINARY_RUN(op) TN_SIMD_NAME(op##_float)
#include "binary_f32.h"
