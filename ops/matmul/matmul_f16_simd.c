/* HalfMatMul with weights of f16. */
#define MATMUL_F16
#include "matmul_simd.h"
