/* exp, log, tanh, erf, sin, atan ... of f32 for kernels: branch-free portable C that compilers turn
 * into vector code at any width, because every function is a straight line of arithmetic and
 * selections. tests/unit/base_vmath_test.c holds them to the bounds below over all exponents;
 * docs/accuracy.md lists these. ULP: units in the last place of the exact result rounded to f32;
 * results that are subnormal are within 1 ULP too. NaN in, NaN out; infinities and signed zeros as
 * in C's <math.h>.
 *
 * Methods: reduction by Cody and Waite ("Software Manual for the Elementary Functions", 1980);
 * polynomials are minimax fits (least maximal relative error on Chebyshev nodes) made for Tenon.
 * TN_FMA is one rounding where the machine has it, two elsewhere: the bounds hold for both. */
#ifndef TN_KIT_VMATH_H
#define TN_KIT_VMATH_H

#include <math.h>
#include <stdint.h>

#if defined(TN_FMA) /* whoever includes this has said which */
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen)
#define TN_FMA(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define TN_FMA(a, b, c) ((a) * (b) + (c))
#endif

/* Before a loop whose iterations do not depend on each other: output and input are the same
 * array or do not overlap. */
#if defined(__clang__)
#pragma clang diagnostic ignored \
    "-Wpass-failed" /* a loop that cannot be vectorised for this machine is no error */
#define TN_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TN_IVDEP _Pragma("GCC ivdep")
#else
#define TN_IVDEP
#endif

typedef union tn_f32_bits {
  float f;
  uint32_t u;
} tn_f32_bits;
static inline uint32_t tn_bits_of_f32(float f) {
  tn_f32_bits v;
  v.f = f;
  return v.u;
}
static inline float tn_f32_of_bits(uint32_t u) {
  tn_f32_bits v;
  v.u = u;
  return v.f;
}

static inline float tn_abs_f32(float x) { return tn_f32_of_bits(tn_bits_of_f32(x) & 0x7fffffffu); }
/* |x| with the sign of s. */
static inline float tn_sign_f32(float x, float s) {
  return tn_f32_of_bits((tn_bits_of_f32(x) & 0x7fffffffu) | (tn_bits_of_f32(s) & 0x80000000u));
}

/* min(max(x, lo), hi), as Clip does: NaN stays NaN, hi wins where hi < lo. */
static inline float tn_clamp_f32(float x, float lo, float hi) {
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

/* exp(x) = 2^n (1 + p): p = expm1(r) with |r| <= ln(2)/2. x in [-120, 89] or NaN. */
typedef struct tn_exp_reduced {
  float p;
  uint32_t n; /* modulo 2^32; of NaN: anything */
} tn_exp_reduced;
static inline tn_exp_reduced tn_exp_reduce(float x) {
  const float magic =
      12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer and leaves that in the low bits */
  float m = TN_FMA(x, 1.44269504f, magic), n = m - magic;
  float r = TN_FMA(n, -0.693359375f, x);
  r = TN_FMA(n, 2.12194440e-4f, r);
  float q = TN_FMA(r, 0.0013882506173104048f, 0.008366580121219158f);
  q = TN_FMA(q, r, 0.04166720062494278f);
  q = TN_FMA(q, r, 0.1666654348373413f);
  q = TN_FMA(q, r, 0.5f);
  tn_exp_reduced e;
  e.p = TN_FMA(q * r, r, r);
  e.n = tn_bits_of_f32(m) - tn_bits_of_f32(magic);
  return e;
}

/* 2^n as the product of s and t. */
typedef struct tn_exp_parts {
  float p, s, t;
} tn_exp_parts;
static inline tn_exp_parts tn_exp_split(float x) {
  const tn_exp_reduced reduced = tn_exp_reduce(x);
  /* n + 256 > 0, halved without a signed shift; two factors, so that 2^-150 and 2^128 can be had */
  uint32_t k = reduced.n + 256u, half = k >> 1;
  tn_exp_parts e;
  e.p = reduced.p;
  e.s = tn_f32_of_bits((half - 1u) << 23);
  e.t = tn_f32_of_bits((k - half - 1u) << 23);
  return e;
}

/* e^x, 1.1 ULP, for x in [-87, 88] or NaN only, where 2^n is one normal number. */
static inline float tn_exp_near_f32(float x) {
  const tn_exp_reduced e = tn_exp_reduce(x);
  const float s = tn_f32_of_bits((e.n + 127u) << 23);
  return TN_FMA(e.p, s, s);
}

/* e^x, 1.1 ULP, for x <= 0 or NaN only. Underflow: 0. 2^n is written as 2^(n + 64), which is
 * normal, times 2^-64, so that a subnormal result is rounded once. */
static inline float tn_exp_below_f32(float x) {
  const tn_exp_reduced e = tn_exp_reduce(x < -104.0f ? -104.0f : x);
  const float s = tn_f32_of_bits((e.n + 127u + 64u) << 23);
  return TN_FMA(e.p, s, s) * 0x1p-64f;
}

/* e^x, 1.1 ULP. Overflow: inf; underflow: 0. As above; 2^128 is 2^127 times 2. */
static inline float tn_exp_f32(float x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const tn_exp_reduced e = tn_exp_reduce(x);
  const float s = tn_f32_of_bits((e.n + (x < 0.0f ? 127u + 64u : 127u - 1u)) << 23);
  return TN_FMA(e.p, s, s) * (x < 0.0f ? 0x1p-64f : 2.0f);
}

/* e^x - 1, 2 ULP. */
static inline float tn_expm1_f32(float x) {
  float c = x < -20.0f ? -20.0f : x;
  c = c > 89.0f ? 89.0f : c;
  tn_exp_parts e = tn_exp_split(c);
  float big = (e.p * e.s + e.s) * e.t - 1.0f;
  float y = TN_FMA(e.p, e.s * e.t, e.s * e.t - 1.0f);
  y = c > 64.0f ? big : y; /* there 2^n itself may overflow, and the 1 does not count */
  return x == 0.0f ? x : y;
}

/* ln x, 1 ULP. x < 0: NaN; 0: -inf. */
static inline float tn_log_f32(float x) {
  const uint32_t root_half = 0x3f3504f3u; /* bits of sqrt(1/2) */
  float small = x < 1.17549435e-38f ? 1.0f : 0.0f;
  float scaled = x * (1.0f + small * 8388607.0f); /* subnormals become normal: times 2^23 */
  uint32_t u = tn_bits_of_f32(scaled) - root_half + 0x3f800000u;
  float e = (float)(int32_t)(u >> 23) - 127.0f - 23.0f * small;
  float f =
      tn_f32_of_bits((u & 0x007fffffu) + root_half) - 1.0f; /* in sqrt(1/2)-1 .. sqrt(2)-1, exact */
  float q = TN_FMA(f, -0.0763450413942337f, 0.1276157945394516f);
  q = TN_FMA(q, f, -0.13160179555416107f);
  q = TN_FMA(q, f, 0.14201757311820984f);
  q = TN_FMA(q, f, -0.16623356938362122f);
  q = TN_FMA(q, f, 0.20001226663589478f);
  q = TN_FMA(q, f, -0.2500081956386566f);
  q = TN_FMA(q, f, 0.3333333134651184f);
  float ff = f * f;
  float y = TN_FMA(e, -2.12194440e-4f, ff * (q * f));
  y = TN_FMA(ff, -0.5f, y) + f;
  y = TN_FMA(e, 0.693359375f, y);
  y = x == INFINITY ? x : y;
  y = x > 0.0f ? y : NAN;
  return x == 0.0f ? -INFINITY : y;
}

/* 1 / (1 + e^-x), 3 ULP. */
static inline float tn_sigmoid_f32(float x) {
  /* never overflows, so that the far negative end keeps its digits */
  float z = tn_exp_below_f32(-tn_abs_f32(x));
  float y = 1.0f / (1.0f + z);
  return x < 0.0f ? z * y : y;
}

/* 2 ULP. */
static inline float tn_tanh_f32(float x) {
  float a = tn_abs_f32(x), s = x * x;
  float q = TN_FMA(s, -0.005704993382096291f, 0.020639093592762947f);
  q = TN_FMA(q, s, -0.05373971536755562f);
  q = TN_FMA(q, s, 0.13331441581249237f);
  q = TN_FMA(q, s, -0.3333328068256378f);
  float small = TN_FMA(q * s, a, a);
  float t = a > 10.0f ? 10.0f : a; /* from 9.02 on, tanh is 1 in f32 */
  float big = 1.0f - 2.0f / (tn_exp_near_f32(2.0f * t) + 1.0f);
  return tn_sign_f32(a < 0.625f ? small : big, x);
}

/* sinh(x), 2 ULP: with h = e^|x| / 2, it is h - 1 / (4 h). */
static inline float tn_sinh_f32(float x) {
  const float a = tn_abs_f32(x), q = x * x;
  float p = TN_FMA(q, 2.7822131869470468e-06f, 0.00019842895562760532f);
  p = TN_FMA(p, q, 0.00833331048488617f);
  p = TN_FMA(p, q, 0.1666666716337204f);
  const float small = TN_FMA(p * q, a, a);
  const tn_exp_parts e = tn_exp_split(a > 91.0f ? 91.0f : a);
  const float h = TN_FMA(e.p, e.s, e.s) * 0.5f * e.t, big = h - 0.25f / h;
  return tn_sign_f32(a < 1.0f ? small : big, x);
}

/* cosh(x), 2 ULP. */
static inline float tn_cosh_f32(float x) {
  const float a = tn_abs_f32(x);
  const tn_exp_parts e = tn_exp_split(a > 91.0f ? 91.0f : a);
  const float h = TN_FMA(e.p, e.s, e.s) * 0.5f * e.t;
  return h + 0.25f / h;
}

/* ln(1 + z) for z > -1/2 that is not infinite, with what 1 + z rounds away given back. */
static inline float tn_log1p_near_f32(float z) {
  const float u = 1.0f + z;
  return tn_log_f32(u) + (z - (u - 1.0f)) / u;
}

/* asinh(x), 2.5 ULP. */
static inline float tn_asinh_f32(float x) {
  const float a = tn_abs_f32(x), q = x * x;
  float p = TN_FMA(q, 0.0006739852833561599f, -0.0038384394720196724f);
  p = TN_FMA(p, q, 0.010430843569338322f);
  p = TN_FMA(p, q, -0.01918206736445427f);
  p = TN_FMA(p, q, 0.029456287622451782f);
  p = TN_FMA(p, q, -0.04448787868022919f);
  p = TN_FMA(p, q, 0.07498715817928314f);
  p = TN_FMA(p, q, -0.16666629910469055f);
  const float small = TN_FMA(p * q, a, a);
  const float far = a > 1e9f ? 1.0f : 0.0f; /* there asinh(a) is ln(2 a), and a^2 may overflow */
  const float near = a + sqrtf(TN_FMA(a, a, 1.0f));
  const float big = TN_FMA(far, 0.693147181f, tn_log_f32(far > 0.0f ? a : near));
  return tn_sign_f32(a < 1.0f ? small : big, x);
}

/* acosh(x), 3 ULP. x < 1: NaN. */
static inline float tn_acosh_f32(float x) {
  const float far = x > 1e9f ? 1.0f : 0.0f, t = x - 1.0f;
  const float near = tn_log1p_near_f32(far > 0.0f ? t : t + sqrtf(TN_FMA(t, t, 2.0f * t)));
  const float y = x == INFINITY ? x : TN_FMA(far, 0.693147181f, near);
  return x >= 1.0f ? y : NAN;
}

/* atanh(x), 2 ULP. |x| > 1: NaN. */
static inline float tn_atanh_f32(float x) {
  const float a = tn_abs_f32(x), q = x * x;
  float p = TN_FMA(q, 0.17639920115470886f, 0.05158964917063713f);
  p = TN_FMA(p, q, 0.11816761642694473f);
  p = TN_FMA(p, q, 0.14223745465278625f);
  p = TN_FMA(p, q, 0.2000245451927185f);
  p = TN_FMA(p, q, 0.33333301544189453f);
  const float small = TN_FMA(p * q, a, a);
  const float big = 0.5f * tn_log_f32((1.0f + a) / (1.0f - a));
  return tn_sign_f32(a < 0.5f ? small : big, x);
}

/* atan(x), 2 ULP: of 1/x where |x| > 1. */
static inline float tn_atan_f32(float x) {
  const float a = tn_abs_f32(x), inverse = 1.0f / a, t = a > 1.0f ? inverse : a, q = t * t;
  float p = TN_FMA(q, 0.002919756341725588f, -0.016364237293601036f);
  p = TN_FMA(p, q, 0.043205972760915756f);
  p = TN_FMA(p, q, -0.07551728934049606f);
  p = TN_FMA(p, q, 0.10665786266326904f);
  p = TN_FMA(p, q, -0.14211003482341766f);
  p = TN_FMA(p, q, 0.19993767142295837f);
  p = TN_FMA(p, q, -0.33333152532577515f);
  const float y = TN_FMA(p * q, t, t);
  const float rest = 1.57079637f - (y + 4.37113883e-8f); /* pi/2 in two parts */
  return tn_sign_f32(a > 1.0f ? rest : y, x);
}

/* asin(t) - t for t in [0, 1/2]; z = t^2. */
static inline float tn_asin_beyond_f32(float t, float z) {
  float p = TN_FMA(z, 0.042158305644989014f, 0.024184778332710266f);
  p = TN_FMA(p, z, 0.04546914994716644f);
  p = TN_FMA(p, z, 0.074953094124794f);
  p = TN_FMA(p, z, 0.16666752099990845f);
  return p * z * t;
}

/* asin(x), 2.1 ULP: near 1, pi/2 - 2 asin(sqrt((1 - x) / 2)). |x| > 1: NaN. */
static inline float tn_asin_f32(float x) {
  const float a = tn_abs_f32(x), half = 0.5f * (1.0f - a), root = sqrtf(half);
  const float t = a > 0.5f ? root : a, c = tn_asin_beyond_f32(t, a > 0.5f ? half : a * a);
  const float rest = TN_FMA(-2.0f, t, 1.57079637f) - TN_FMA(2.0f, c, 4.37113883e-8f);
  return tn_sign_f32(a > 0.5f ? rest : t + c, x);
}

/* acos(x), 2 ULP. |x| > 1: NaN. */
static inline float tn_acos_f32(float x) {
  const float a = tn_abs_f32(x), half = 0.5f * (1.0f - a), root = sqrtf(half);
  const float t = a > 0.5f ? root : a, y = t + tn_asin_beyond_f32(t, a > 0.5f ? half : a * a);
  const float near = 1.57079637f - (tn_sign_f32(y, x) + 4.37113883e-8f);
  const float far = x < 0.0f ? 3.14159274f - TN_FMA(2.0f, y, 8.74227766e-8f) : 2.0f * y;
  return a > 0.5f ? far : near;
}

/* erf(x), 2 ULP. */
static inline float tn_erf_f32(float x) {
  float a = tn_abs_f32(x), s = x * x;
  float p = TN_FMA(s, -0.0006090360111556947f, 0.005011962726712227f);
  p = TN_FMA(p, s, -0.02677890844643116f);
  p = TN_FMA(p, s, 0.11282140761613846f);
  p = TN_FMA(p, s, -0.3761252462863922f);
  p = TN_FMA(p, s,
             0.1283791065216064f); /* erf(a)/a - 1: the 1 is added last, where it costs no digits */
  float t = a > 4.0f ? 4.0f : a;   /* from 3.92 on, erf is 1 in f32 */
  float q = TN_FMA(t, -0.00019821894238702953f, 0.003065483644604683f);
  q = TN_FMA(q, t, -0.022315187379717827f);
  q = TN_FMA(q, t, 0.1041136309504509f);
  q = TN_FMA(q, t, 0.6369761228561401f);
  q = TN_FMA(q, t, 1.127797245979309f);
  q = TN_FMA(q, t, 0.00016645470168441534f);               /* -ln(1 - erf(t)) */
  float big = 1.0f - tn_exp_near_f32(-q);                  /* q is below 17 */
  return tn_sign_f32(a < 0.9f ? TN_FMA(p, a, a) : big, x); /* NaN: big, by way of exp */
}

/* ln(1 + e^x), 3 ULP. */
static inline float tn_softplus_f32(float x) {
  float z = tn_exp_below_f32(-tn_abs_f32(x)), u = 1.0f + z;
  float y = tn_log_f32(u) + (z - (u - 1.0f)) / u; /* ln(1+z), with what u lost of z given back */
  return x > 0.0f ? x + y : y;
}

/* x sigmoid(x), 4 ULP. -inf: NaN, as infinity times 0 is; so do all that follow. */
static inline float tn_silu_f32(float x) {
  tn_exp_parts e = tn_exp_split(tn_clamp_f32(-tn_abs_f32(x), -120.0f, 0.0f));
  float m = e.p * e.s + e.s, z = m * e.t, d = 1.0f / (1.0f + z);
  float y = x * (x < 0.0f ? z * d : d);
  y = x < -20.0f ? x * m * e.t
                 : y; /* there sigmoid(x) is e^x; as a product it is rounded to a subnormal once */
  return x < -120.0f ? x * 0.0f : y;
}

/* x min(max(x/6 + 1/2, 0), 1). */
static inline float tn_hard_swish_f32(float x) {
  return x * tn_clamp_f32(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f);
}
/* x tanh(ln(1 + e^x)), 5 ULP: tanh(ln u) = (u^2 - 1) / (u^2 + 1). */
static inline float tn_mish_f32(float x) {
  tn_exp_parts e = tn_exp_split(tn_clamp_f32(x, -120.0f, 20.0f));
  float m = e.p * e.s + e.s, z = m * e.t, n = z * (z + 2.0f);
  float y = x * (n / (n + 2.0f));
  y = x > 20.0f ? x : y;
  y = x < -20.0f ? x * m * e.t : y; /* as in silu */
  return x < -120.0f ? x * 0.0f : y;
}
/* x (1 + erf(x / sqrt 2)) / 2, and its approximation by tanh; absolute error 2 ULP of |x|.
 * erf(x / sqrt 2) is x times a polynomial in x^2, from 16/3 on it is 1. */
static inline float tn_gelu_f32(float x) {
  float u = TN_FMA(x * x, 0.0703125f, -1.0f); /* -1 .. 1 */
  float p = TN_FMA(u, 0.00063142163f, -0.00168117532f);
  p = TN_FMA(p, u, 0.00155941118f);
  p = TN_FMA(p, u, -0.00228844979f);
  p = TN_FMA(p, u, 0.00661089085f);
  p = TN_FMA(p, u, -0.01222088f);
  p = TN_FMA(p, u, 0.0181972608f);
  p = TN_FMA(p, u, -0.0269253347f);
  p = TN_FMA(p, u, 0.0383531339f);
  p = TN_FMA(p, u, -0.0509073436f);
  p = TN_FMA(p, u, 0.0641991496f);
  p = TN_FMA(p, u, -0.0789333954f);
  p = TN_FMA(p, u, 0.098018907f);
  p = TN_FMA(p, u, -0.132235572f);
  p = TN_FMA(p, u, 0.265121967f);
  float e = tn_abs_f32(x) < 5.333333f ? x * p : tn_sign_f32(1.0f, x);
  float h = 0.5f * x;
  return tn_sign_f32(TN_FMA(h, e, h), x);
}
static inline float tn_gelu_tanh_f32(float x) {
  float u =
      x * TN_FMA(x * x, 0.0713548162f,
                 1.59576912f); /* 2 sqrt(2/pi) (x + 0.044715 x^3): (1 + tanh(u/2))/2 = sigmoid(u) */
  return x * tn_sigmoid_f32(u);
}

/* Sine and cosine of x and how many quarter turns were taken off, for |x| <= TN_SIN_MAX. Done in
 * f64: reduction by pi/2 in two parts of which the first times any n < 2^20 is exact. */
#define TN_SIN_MAX 1.0e6f
typedef struct tn_angle {
  double sine, cosine; /* of the rest, within pi/4 */
  uint64_t quadrant;   /* its low two bits */
} tn_angle;
static inline tn_angle tn_angle_of(float x, double quadrant) {
  const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
  union {
    double f;
    uint64_t u;
  } m;
  double d = (double)x;
  m.f = d * 0.63661977236758134308 + magic;
  double n = m.f - magic;
  double r = d - n * 1.57079632673412561417e+00;
  r = r - n * 6.07710050650619224932e-11;
  m.f += quadrant;
  double s = r * r;
  double sine = 2.7180840994943656e-06;
  sine = sine * s - 0.00019839308349072036;
  sine = sine * s + 0.008333329292708183;
  sine = sine * s - 0.16666666640692884;
  double cosine = 2.44327854917891e-05;
  cosine = cosine * s - 0.001388731306590401;
  cosine = cosine * s + 0.041666645618857294;
  return (tn_angle){r + r * s * sine, 1.0 - 0.5 * s + s * s * cosine, m.u};
}
/* sin(x) for quadrant 0, cos(x) for quadrant 1; 1 ULP for |x| <= TN_SIN_MAX, NaN for NaN and
 * infinities. Beyond, use sinf and cosf. */
static inline float tn_sin_quadrant_f32(float x, double quadrant) {
  const tn_angle a = tn_angle_of(x, quadrant);
  double y = (a.quadrant & 1u) ? a.cosine : a.sine;
  return (float)((a.quadrant & 2u) ? -y : y);
}
static inline float tn_sin_f32(float x) {
  float y = tn_sin_quadrant_f32(x, 0.0);
  return x == 0.0f ? x : y;
}
static inline float tn_cos_f32(float x) { return tn_sin_quadrant_f32(x, 1.0); }
/* tan(x), 1 ULP for |x| <= TN_SIN_MAX. Beyond, use tanf. */
static inline float tn_tan_f32(float x) {
  const tn_angle a = tn_angle_of(x, 0.0);
  const double over = (a.quadrant & 1u) ? a.cosine : a.sine;
  const double under = (a.quadrant & 1u) ? -a.sine : a.cosine;
  return x == 0.0f ? x : (float)(over / under);
}

#endif
