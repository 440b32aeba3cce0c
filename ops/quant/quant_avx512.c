/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear for AVX-512. */
#include "quant_simd.h"
