/* tenon::QuantMatMul for NEON: quant_matmul_simd.h, compiled with its flags. */
#include "quant_matmul_simd.h"
