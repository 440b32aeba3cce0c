/* QuantConv for NEON with dot products: the files quant_*_simd.h, compiled with its flags. */
#include "quant_conv_simd.h"
#include "quant_depthwise_simd.h"
