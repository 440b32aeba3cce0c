/* QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, tenon::QuantAdd for AVX-512. */
#include "quant_add_simd.h"
#include "quant_simd.h"
