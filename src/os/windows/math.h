/* Infinity and NaN of f32, and what looks for them without a conversion. */
#pragma GCC system_header
#include_next <math.h>
#ifndef TN_OS_MATH_H
#define TN_OS_MATH_H

#undef INFINITY
#define INFINITY __builtin_inff()
#undef NAN
#define NAN __builtin_nanf("")

#undef signbit
#define signbit(x) __builtin_signbit(x)
#undef isnan
#define isnan(x) __builtin_isnan(x)
#undef isinf
#define isinf(x) __builtin_isinf_sign(x)
#undef isfinite
#define isfinite(x) __builtin_isfinite(x)

#endif
