/* Multipliers and shifts in integers, as the built-in kernels compute them: values of 16 bits,
 * whose zero points are 0, and roots. */
#include <math.h>

#include "lower.h"

enum { MAX_CHANNELS = 1 << 20 };

bool tfl_is_wide(const tn_lowering *t, uint32_t k) {
  const tn_tensor *x = tn_low_type(t, k);
  return !tn_low_for_onnx(t) && tn_low_floats(t, "scales").size && x && x->dtype == TN_I16;
}

void tfl_split_scale(double scale, int64_t *out_multiplier, int64_t *out_shift) {
  int shift;
  const double m = frexp(isfinite(scale) ? scale : 0, &shift);
  *out_multiplier = (int64_t)floor(ldexp(m, 31) + 0.5);
  if (*out_multiplier == INT64_C(1) << 31) *out_multiplier /= 2, shift++;
  if (shift < -31) *out_multiplier = shift = 0;
  *out_shift = shift;
}

int32_t tfl_fixed_scale(const tn_lowering *t, int32_t x, const double *scales, int64_t n,
                        int64_t before, uint32_t dtype) {
  if (n < 1 || n > MAX_CHANNELS) return tn_low_unsupported(t, "so many channels");
  int64_t lo = INT32_MIN, hi = INT32_MAX, *m;
  if (dtype != TN_I32) tfl_code_bounds(t, dtype, &lo, &hi);
  m = t->call->host->alloc(t->call->ctx, (uint64_t)n * 2 * sizeof *m);
  if (!m) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++) tfl_split_scale(scales[k], &m[k], &m[n + k]);
  const tn_attr attrs[] = {tn_attr_ints("multipliers", (tn_ints){m, n}),
                           tn_attr_ints("shifts", (tn_ints){m + n, n}),
                           tn_attr_int("before", before),
                           tn_attr_int("zero", dtype == TN_I32 ? 0 : tfl_zero(t, tfl_y(t))),
                           tn_attr_int("lo", lo),
                           tn_attr_int("hi", hi),
                           tn_attr_int("y_dtype", dtype)};
  const int32_t y = tn_low_emit(t, "tenon::FixedScale", &x, 1, attrs, 7);
  t->call->host->free(t->call->ctx, m);
  return y;
}

/* Both inputs in steps of half of 2^-15 of the larger scale, then in those of the output. */
int32_t tfl_fixed_sum(const tn_lowering *t, const char *op) {
  enum { BEFORE = 15 };
  const double a = tfl_scale(t, 0), b = tfl_scale(t, 1), most = 2 * fmax(a, b);
  const double parts[] = {a / most, b / most, most / (ldexp(1, BEFORE) * tfl_scale(t, tfl_y(t)))};
  int32_t in[2];
  for (uint32_t k = 0; k < 2; k++)
    in[k] =
        tfl_fixed_scale(t, tn_low_cast(t, tn_low_in(t, k), TN_I32), &parts[k], 1, BEFORE, TN_I32);
  return tfl_fixed_scale(t, tn_low_2(t, op, in[0], in[1]), &parts[2], 1, 0, TN_I16);
}

int32_t tfl_fixed_product(const tn_lowering *t) {
  const double scale = tfl_scale(t, 0) * tfl_scale(t, 1) / tfl_scale(t, tfl_y(t));
  const int32_t a = tn_low_cast(t, tn_low_in(t, 0), TN_I32),
                b = tn_low_cast(t, tn_low_in(t, 1), TN_I32);
  return tfl_fixed_scale(t, tn_low_2(t, "Mul", a, b), &scale, 1, 0, TN_I16);
}

/* x for x >= 0, alpha * x below, each with a multiplier of its own, made in f32. A multiplier is
 * not negative; x changes its sign instead. */
int32_t tfl_fixed_leaky_relu(const tn_lowering *t, double alpha) {
  const float x_scale = (float)tfl_scale(t, 0), y_scale = (float)tfl_scale(t, tfl_y(t));
  const double scale = (double)(x_scale / y_scale),
               below = (double)(x_scale * (float)alpha / y_scale);
  const double size = fabs(below);
  const int32_t x = tn_low_cast(t, tn_low_in(t, 0), TN_I32);
  const int32_t negative = tn_low_2(t, "Less", x, tn_low_number(t, TN_I32, 0));
  const int32_t signed_x = below < 0 ? tn_low_1(t, "Neg", x) : x;
  return tn_low_3(t, "Where", negative, tfl_fixed_scale(t, signed_x, &size, 1, 0, TN_I16),
                  tfl_fixed_scale(t, x, &scale, 1, 0, TN_I16));
}

/* ---- 8 bits ---- */

/* Codes of input k less their zero point. */
static int32_t centred(const tn_lowering *t, uint32_t k) {
  return tn_low_2(t, "Sub", tn_low_cast(t, tn_low_in(t, k), TN_I32),
                  tn_low_number(t, TN_I32, (double)tfl_zero(t, k)));
}

/* x for x >= 0, slope * x below, each with a multiplier of its own. */
int32_t tfl_fixed_prelu(const tn_lowering *t) {
  const float x_scale = (float)tfl_scale(t, 0), a_scale = (float)tfl_scale(t, 1),
              y_scale = (float)tfl_scale(t, tfl_y(t));
  const double above = (double)x_scale / (double)y_scale,
               below = (double)(x_scale * a_scale) / (double)y_scale;
  const uint32_t dtype = tn_low_type(t, 0)->dtype;
  const int32_t x = centred(t, 0);
  const int32_t negative = tn_low_2(t, "Less", x, tn_low_number(t, TN_I32, 0));
  const int32_t product = tn_low_2(t, "Mul", x, centred(t, 1));
  return tn_low_3(t, "Where", negative, tfl_fixed_scale(t, product, &below, 1, 0, dtype),
                  tfl_fixed_scale(t, x, &above, 1, 0, dtype));
}

/* What f makes of each code, as a table; f answers codes that may overflow. */
static int32_t code_table(const tn_lowering *t, uint32_t dtype,
                          int64_t (*f)(const tn_lowering *t, int64_t code)) {
  uint8_t codes[256];
  const int64_t n = sizeof codes, from = tn_low_type(t, 0)->dtype == TN_I8 ? -128 : 0;
  int64_t lo, hi;
  tfl_code_bounds(t, dtype, &lo, &hi);
  for (int64_t q = from; q < from + n; q++)
    codes[(uint8_t)q] = (uint8_t)tn_max_i64(lo, tn_min_i64(f(t, q), hi));
  const tn_tensor table = tn_tensor_make(dtype, 1, &n, codes);
  return tn_low_2(t, "tenon::QuantTable", tn_low_in(t, 0),
                  tn_emit_const(t->call, t->graph, &table));
}

/* (x - zero) * scale + zero, of the 8 bits behind the point that XNNPACK has for a scale. */
static int64_t in_256ths(const tn_lowering *t, int64_t code, double scale) {
  const int64_t sum = (code - tfl_zero(t, 0)) * (int64_t)nearbyint(256 * scale) + 128;
  return (int64_t)floor((double)sum / 256) + tfl_zero(t, tfl_y(t));
}

static int64_t requantised(const tn_lowering *t, int64_t code) {
  return in_256ths(t, code, (double)((float)tfl_scale(t, 0) / (float)tfl_scale(t, tfl_y(t))));
}

bool tfl_has_256ths(double ratio) { return ratio >= 1.0 / 256 && ratio <= 128; }

int32_t tfl_requantised(const tn_lowering *t, uint32_t dtype) {
  return code_table(t, dtype, requantised);
}

static int64_t leaky(const tn_lowering *t, int64_t code) {
  const float ratio = (float)tfl_scale(t, 0) / (float)tfl_scale(t, tfl_y(t));
  const bool below = code < tfl_zero(t, 0);
  return in_256ths(t, code, (double)(below ? ratio * (float)tn_low_float(t, "alpha", 0) : ratio));
}

int32_t tfl_leaky_relu(const tn_lowering *t) {
  return code_table(t, tn_low_type(t, 0)->dtype, leaky);
}

/* ---- hard swish: x * relu6(x + 3) / 6 of codes, as gemmlowp multiplies 16 bits ---- */

/* A scale as a multiplier of 16 bits and a shift. */
typedef struct factor {
  int64_t multiplier, shift;
} factor;

static int64_t as_16_bits(int64_t x) { return tn_max_i64(INT16_MIN, tn_min_i64(x, INT16_MAX)); }

static factor factor_of(float scale) {
  factor f;
  tfl_split_scale((double)scale, &f.multiplier, &f.shift);
  f.multiplier = as_16_bits((f.multiplier + (1 << 15)) >> 16);
  return f;
}

/* a * b * 2^-15, of which the fraction goes; `half` rounds, away from 0. */
static int64_t product_16(int64_t a, int64_t b, int64_t half) {
  const int64_t ab = a * b;
  return as_16_bits((ab + (ab < 0 ? half ? 1 - half : 0 : half)) / (1 << 15));
}

static int64_t shifted_right(int64_t x, int64_t bits) {
  const int64_t mask = (INT64_C(1) << bits) - 1, left = x < 0 ? -(-x >> bits) : x >> bits,
                rest = (x < 0 ? -x : x) & mask;
  return rest > mask >> 1 ? left + (x < 0 ? -1 : 1) : left;
}

static factor swish_factor(const tn_lowering *t, float step) {
  return factor_of((float)tfl_scale(t, 0) * (1.0f / 128) / step);
}

bool tfl_has_fixed_hard_swish(const tn_lowering *t) {
  const tn_tensor *x = tn_low_type(t, 0);
  if (!tfl_counts_steps(t) || (x->dtype != TN_I8 && x->dtype != TN_U8)) return false;
  const int64_t zero = tfl_zero(t, 0);
  return zero >= -128 && zero <= 255 && swish_factor(t, (float)tfl_scale(t, tfl_y(t))).shift <= 0;
}

/* relu6(x + 3) / 6 in parts of 2^15; x in parts of a 128th of its step. */
static int64_t swish_gate(int64_t x, factor f) {
  enum { HALF = 1 << 14 };
  if (f.shift > 0) x = as_16_bits(x * (INT64_C(1) << tn_min_i64(f.shift - 1, 16)));
  x = product_16(x, f.multiplier, HALF);
  if (f.shift > 0) x = as_16_bits(2 * x);
  if (f.shift < 0) x = shifted_right(x, -f.shift);
  return (x + (1 << 15)) >> 1;
}

static int64_t hard_swish(const tn_lowering *t, int64_t code) {
  enum { HALF = 1 << 14 };
  const factor out = swish_factor(t, (float)tfl_scale(t, tfl_y(t))),
               gate = swish_factor(t, 3.0f / 32768);
  const int64_t x = as_16_bits((code - tfl_zero(t, 0)) * 128);
  const int64_t y = product_16(swish_gate(x, gate), product_16(x, out.multiplier, HALF), 0);
  return shifted_right(y, -out.shift) + tfl_zero(t, tfl_y(t));
}

int32_t tfl_fixed_hard_swish(const tn_lowering *t) {
  return code_table(t, tn_low_type(t, 0)->dtype, hard_swish);
}

/* ---- roots ---- */

/* x * multiplier * 2^(shift - 31), x and multiplier not negative: rounded to whole numbers before
 * shifting right, and after. */
static int64_t scaled(int64_t x, int64_t multiplier, int64_t shift) {
  const int64_t left = shift > 0 ? shift : 0, right = shift < 0 ? -shift : 0;
  const int64_t whole = (((x << left) * multiplier) + (INT64_C(1) << 30)) >> 31;
  return right ? (whole + (INT64_C(1) << (right - 1))) >> right : whole;
}

/* By codes as numbers of 0 .. 255. Roots have 20 bits behind the point; 0 has the largest code, and
 * so has what is below it, of which there is no root. */
static void rsqrt_codes(const tn_lowering *t, int8_t *codes) {
  enum { BITS = 20, MOST_SHIFT = BITS + 11 };
  const int64_t x_zero = tfl_zero(t, 0), y_zero = tfl_zero(t, tfl_y(t));
  const float scale = 1 / (sqrtf((float)tfl_scale(t, 0)) * (float)tfl_scale(t, tfl_y(t)));
  int64_t multiplier, shift;
  tfl_split_scale((double)scale, &multiplier, &shift);
  for (int64_t q = -128; q < 128; q++) {
    const double steps = (double)(q - x_zero);
    int64_t y = 127;
    if (steps > 0 && shift <= MOST_SHIFT)
      y = scaled((int64_t)floor(ldexp(1, BITS) / sqrt(steps) + 0.5), multiplier, shift - BITS) +
          y_zero;
    codes[(uint8_t)q] = (int8_t)tn_max_i64(-128, tn_min_i64(y, 127));
  }
}

int32_t tfl_fixed_rsqrt(const tn_lowering *t) {
  int8_t codes[256];
  const int64_t n = sizeof codes, x_zero = tfl_zero(t, 0), y_zero = tfl_zero(t, tfl_y(t));
  if (x_zero < -128 || x_zero > 127 || y_zero < -128 || y_zero > 127)
    return tn_low_unsupported(t, "zero points that are no code");
  rsqrt_codes(t, codes);
  const tn_tensor table = tn_tensor_make(TN_I8, 1, &n, codes);
  return tn_low_2(t, "tenon::QuantTable", tn_low_in(t, 0),
                  tn_emit_const(t->call, t->graph, &table));
}
