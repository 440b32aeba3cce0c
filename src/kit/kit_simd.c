/* Tenon's copies, one per instruction set, of what kernels share: see tenon/kit/linkage.h. */
#define TN_KIT_ISA_BODIES
#include "tenon/kit/elementwise.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/gemm_simd.h"
