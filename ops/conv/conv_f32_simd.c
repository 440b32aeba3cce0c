/* Conv and ConvTranspose in f32 with vectors: the files *_simd.h. */
#include "conv_blocked_simd.h"
#include "conv_depthwise_blocked_simd.h"
#include "conv_depthwise_simd.h"
#include "conv_simd.h"
#include "conv_transpose_gemm_simd.h"
#include "conv_transpose_simd.h"
#include "conv_winograd_simd.h"
#include "inverted_simd.h"
