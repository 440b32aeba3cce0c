/* tenon::QuantMatMul for AVX-512 VNNI: quant_matmul_simd.h, compiled with its flags. */
#include "quant_matmul_simd.h"
