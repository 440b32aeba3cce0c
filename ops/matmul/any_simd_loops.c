/* Products of f64 and of integers, for each instruction set. */
#include "tenon/kit/simd.h"

#define FMA_f64(a, b, c) tn_vd_fma(a, b, c)
#include "any_simd.h"
