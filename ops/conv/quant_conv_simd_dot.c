/* QuantConv with integer dot products: the files quant_*_simd.h. */
#include "quant_conv_simd.h"
#include "quant_depthwise_simd.h"
