/* Conv in f32 for AVX-512: conv_simd.h and conv_depthwise_simd.h, compiled with its flags. */
#include "conv_depthwise_simd.h"
#include "conv_simd.h"
