/* tenon::QuantMatMul for NEON with dot products: quant_matmul_simd.h, compiled with its flags. */
#include "quant_matmul_simd.h"
