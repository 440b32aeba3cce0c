/* HalfMatMul with weights of bf16. */
#define MATMUL_BF16
#include "matmul_simd.h"
