/* QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, tenon::QuantAdd for NEON. */
#include "quant_add_simd.h"
#include "quant_simd.h"
