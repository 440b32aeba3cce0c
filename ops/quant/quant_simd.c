/* QuantizeLinear and its relatives with vectors: quant_simd.h and quant_add_simd.h. */
#include "quant_add_simd.h"
