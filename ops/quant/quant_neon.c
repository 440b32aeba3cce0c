/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear for NEON. */
#include "quant_simd.h"
