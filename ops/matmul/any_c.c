/* Products of f64 and of integers, portable. */
#define ANY_NAME(x) x##_c
#include "any_simd.h"
