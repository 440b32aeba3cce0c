/* The same of integer dot products. */
#define TN_KIT_ISA_BODIES
#include "tenon/kit/dot_simd.h"
