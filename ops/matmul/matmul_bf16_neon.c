/* HalfMatMul with weights of bf16 for NEON: matmul_simd.h, compiled with its flags. */
#define MATMUL_BF16
#include "matmul_simd.h"
