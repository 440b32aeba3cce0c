/* The functions that models as C call, for WebAssembly without a C library: its own instructions. */
#ifndef MATH_H
#define MATH_H

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define signbit(x) __builtin_signbit(x)

static inline float fabsf(float x) { return __builtin_fabsf(x); }
static inline float sqrtf(float x) { return __builtin_sqrtf(x); }
static inline float ceilf(float x) { return __builtin_ceilf(x); }
static inline float floorf(float x) { return __builtin_floorf(x); }
static inline float rintf(float x) { return __builtin_rintf(x); }
static inline double fabs(double x) { return __builtin_fabs(x); }
static inline double sqrt(double x) { return __builtin_sqrt(x); }
static inline double rint(double x) { return __builtin_rint(x); }
static inline double nearbyint(double x) { return __builtin_rint(x); }

#endif
