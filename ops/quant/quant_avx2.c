/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear for AVX2. */
#include "quant_simd.h"
