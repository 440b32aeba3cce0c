/* The vector functions against the C library in double, over the bit patterns of all exponents,
 * and at special values; block conversions of half types against the scalar ones; the shared
 * epilogue steps. */
#include "tenon/kit/narrow.h"
#include "tenon/kit/vmath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/kit/elementwise.h"
#include "tenon/kit/epilogue.h"

/* |got - want| in units of the last place of want as an f32. */
static double ulps(float got, double want) {
  if (isnan(want)) return isnan(got) ? 0 : (double)INFINITY;
  const float nearest = (float)want;
  if (isinf(nearest))
    return got == nearest || (double)fabsf(got) >= 3.402823e38 ? 0 : (double)INFINITY;
  int exponent;
  frexp(want, &exponent);
  return fabs((double)got - want) / ldexp(1, exponent < -125 ? -149 : exponent - 24);
}

typedef float (*fast_fn)(float);
typedef double (*exact_fn)(double);

static void check_one(const char *name, fast_fn fast, exact_fn exact, float x, double bound) {
  const double error = ulps(fast(x), exact((double)x));
  if (!(error <= bound))
    fail_msg("%s(%.9g) is %.9g: %g ULP", name, (double)x, (double)fast(x), error);
}

/* Of the arguments below. Sanitizers have seen all code before that. */
enum { EACH = TN_FLAVOUR_SANITIZER ? 15 : 1 };

/* Everywhere, and closer where errors are not rounded away: from 1/32 to 128. */
static void check_all(const char *name, fast_fn fast, exact_fn exact, float limit, double bound) {
  for (uint64_t u = 0; u <= UINT32_MAX; u += 9973 * EACH) {
    const float x = tn_f32_of_bits((uint32_t)u);
    if (!(fabsf(x) > limit)) check_one(name, fast, exact, x, bound);
  }
  const uint32_t from = tn_bits_of_f32(0x1p-5f), to = tn_bits_of_f32(0x1p7f);
  for (uint32_t u = from; u < to; u += 61 * EACH) {
    check_one(name, fast, exact, tn_f32_of_bits(u), bound);
    check_one(name, fast, exact, -tn_f32_of_bits(u), bound);
  }
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double mish(double x) { return x * tanh(softplus(x)); }
static double silu(double x) { return x * sigmoid(x); }

static void accuracy(void **state) {
  (void)state;
  check_all("exp", tn_exp_f32, exp, INFINITY, 1.1);
  check_all("expm1", tn_expm1_f32, expm1, INFINITY, 2);
  check_all("log", tn_log_f32, log, INFINITY, 1);
  check_all("sigmoid", tn_sigmoid_f32, sigmoid, INFINITY, 3);
  check_all("tanh", tn_tanh_f32, tanh, INFINITY, 2);
  check_all("erf", tn_erf_f32, erf, INFINITY, 2);
  check_all("softplus", tn_softplus_f32, softplus, INFINITY, 3);
  check_all("mish", tn_mish_f32, mish, 3e38f, 5);
  check_all("silu", tn_silu_f32, silu, 3e38f, 4);
  check_all("sinh", tn_sinh_f32, sinh, INFINITY, 2);
  check_all("cosh", tn_cosh_f32, cosh, INFINITY, 2);
  check_all("asinh", tn_asinh_f32, asinh, INFINITY, 2.5);
  check_all("acosh", tn_acosh_f32, acosh, INFINITY, 3);
  check_all("atanh", tn_atanh_f32, atanh, INFINITY, 2);
  check_all("atan", tn_atan_f32, atan, INFINITY, 2);
  check_all("asin", tn_asin_f32, asin, INFINITY, 2.1);
  check_all("acos", tn_acos_f32, acos, INFINITY, 2);
  check_all("tan", tn_tan_f32, tan, TN_SIN_MAX, 1);
  check_all("sin", tn_sin_f32, sin, TN_SIN_MAX, 1);
  check_all("cos", tn_cos_f32, cos, TN_SIN_MAX, 1);
}

static void gelu(void **state) {
  (void)state;
  for (int i = -60000; i <= 60000; i++) {
    const float x = (float)i * 1e-4f;
    const double d = (double)x, scale = fabs(d) * 0x1p-23;
    const double by_tanh = d / 2 * (1 + tanh(0.79788456080286535588 * (d + 0.044715 * d * d * d)));
    assert_true(fabs((double)tn_gelu_f32(x) - d / 2 * erfc(-d / sqrt(2))) <= 2 * scale);
    assert_true(fabs((double)tn_gelu_tanh_f32(x) - by_tanh) <= 2 * scale);
  }
}

static void special_values(void **state) {
  (void)state;
  const fast_fn all[] = {tn_exp_f32,  tn_expm1_f32,      tn_log_f32,       tn_sigmoid_f32,
                         tn_tanh_f32, tn_erf_f32,        tn_softplus_f32,  tn_silu_f32,
                         tn_mish_f32, tn_gelu_f32,       tn_gelu_tanh_f32, tn_sin_f32,
                         tn_cos_f32,  tn_hard_swish_f32, tn_tan_f32,       tn_sinh_f32,
                         tn_cosh_f32, tn_asinh_f32,      tn_acosh_f32,     tn_atanh_f32,
                         tn_asin_f32, tn_acos_f32,       tn_atan_f32};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) assert_true(isnan(all[k](NAN)));
  assert_true(isinf(tn_exp_f32(INFINITY)) && tn_exp_f32(-INFINITY) == 0.0f &&
              tn_exp_f32(0.0f) == 1.0f);
  assert_true(tn_expm1_f32(-INFINITY) == -1.0f && isinf(tn_expm1_f32(INFINITY)));
  assert_true(tn_log_f32(0.0f) == -INFINITY && tn_log_f32(-0.0f) == -INFINITY &&
              isnan(tn_log_f32(-1.0f)));
  assert_true(tn_log_f32(INFINITY) == INFINITY && tn_log_f32(1.0f) == 0.0f &&
              isnan(tn_log_f32(-INFINITY)));
  assert_true(tn_sigmoid_f32(INFINITY) == 1.0f && tn_sigmoid_f32(-INFINITY) == 0.0f &&
              tn_sigmoid_f32(0.0f) == 0.5f);
  assert_true(tn_tanh_f32(INFINITY) == 1.0f && tn_tanh_f32(-INFINITY) == -1.0f);
  assert_true(tn_erf_f32(INFINITY) == 1.0f && tn_erf_f32(-INFINITY) == -1.0f);
  assert_true(tn_softplus_f32(INFINITY) == INFINITY && tn_softplus_f32(-INFINITY) == 0.0f);
  assert_true(isnan(tn_sin_f32(INFINITY)) && isnan(tn_cos_f32(-INFINITY)));
  assert_true(tn_sinh_f32(-INFINITY) == -INFINITY && tn_cosh_f32(-INFINITY) == INFINITY);
  assert_true(tn_asinh_f32(-INFINITY) == -INFINITY && tn_acosh_f32(INFINITY) == INFINITY);
  assert_true(tn_acosh_f32(1.0f) == 0.0f && isnan(tn_acosh_f32(0.99f)) &&
              isnan(tn_acosh_f32(-INFINITY)));
  assert_true(tn_atanh_f32(1.0f) == INFINITY && tn_atanh_f32(-1.0f) == -INFINITY &&
              isnan(tn_atanh_f32(1.01f)) && isnan(tn_atanh_f32(INFINITY)));
  assert_true(isnan(tn_asin_f32(-1.01f)) && isnan(tn_acos_f32(INFINITY)) &&
              tn_acos_f32(1.0f) == 0.0f);
  const fast_fn odd[] = {tn_expm1_f32, tn_tanh_f32,  tn_erf_f32,   tn_sin_f32,  tn_tan_f32,
                         tn_sinh_f32,  tn_asinh_f32, tn_atanh_f32, tn_asin_f32, tn_atan_f32};
  for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
    assert_true(odd[k](-0.0f) == 0.0f && signbit(odd[k](-0.0f)));
    assert_true(odd[k](1e-45f) == 1e-45f);
  }
  const fast_fn weighted[] = {tn_silu_f32, tn_mish_f32, tn_gelu_f32, tn_gelu_tanh_f32,
                              tn_hard_swish_f32};
  for (size_t k = 0; k < sizeof weighted / sizeof *weighted; k++) {
    assert_true(isnan(weighted[k](-INFINITY)) && weighted[k](INFINITY) == INFINITY);
    assert_true(weighted[k](-3e38f) == 0.0f && signbit(weighted[k](-3e38f)));
  }
}

/* Blocks of halves equal the scalar conversions: all 65536 patterns widened, many f32 narrowed. */
static void halves(void **state) {
  (void)state;
  static uint16_t h[65536];
  static float f[65536];
  for (uint32_t u = 0; u < 65536; u++) h[u] = (uint16_t)u;
  tn_widen_f16(h, f, 65536);
  for (uint32_t u = 0; u < 65536; u++) {
    const float want = tn_f16_to_f32((uint16_t)u);
    assert_true(isnan(want) ? isnan(f[u]) : tn_bits_of_f32(f[u]) == tn_bits_of_f32(want));
  }
  for (uint64_t base = 0; base <= UINT32_MAX; base += 65536 * 61 * EACH) {
    for (uint32_t u = 0; u < 65536; u++) f[u] = tn_f32_of_bits((uint32_t)(base + u * 61));
    tn_narrow_f16(f, h, 65536);
    for (uint32_t u = 0; u < 65536; u++) {
      if (isnan(f[u]))
        assert_true((h[u] & 0x7fff) > 0x7c00);
      else
        assert_int_equal(h[u], tn_f32_to_f16(f[u]));
    }
    tn_narrow_bf16(f, h, 65536);
    for (uint32_t u = 0; u < 65536; u++) {
      if (isnan(f[u]))
        assert_true((h[u] & 0x7fff) > 0x7f80);
      else
        assert_int_equal(h[u], tn_f32_to_bf16(f[u]));
    }
  }
}

/* relu(y + bias of the channel) * full, on a run of pixels and on a run of channels. */
static void epilogues(void **state) {
  (void)state;
  float bias[3] = {1, -10, 0.5f}, full[12], y[12];
  const int64_t dims[] = {1, 3, 2, 2}, channel[] = {3, 1, 1};
  for (int i = 0; i < 12; i++) full[i] = (float)i;
  tn_tensor out = tn_tensor_make(TN_F32, 4, dims, y), t1 = tn_tensor_make(TN_F32, 3, channel, bias);
  tn_tensor t2 = tn_tensor_make(TN_F32, 4, dims, full), *outputs[] = {&out};
  const tn_tensor *inputs[] = {&t1, &t2};
  const tn_epilogue add = {.head = TN_HEAD(tn_epilogue), .kind = TN_EPILOGUE_ADD, .input = 0};
  const tn_epilogue relu = {.head = TN_HEAD(tn_epilogue), .kind = TN_EPILOGUE_RELU, .input = -1};
  const tn_epilogue mul = {.head = TN_HEAD(tn_epilogue), .kind = TN_EPILOGUE_MUL, .input = 1};
  const tn_epilogue *list[] = {&add, &relu, &mul};
  const tn_call call = {.inputs = inputs,
                        .n_inputs = 2,
                        .outputs = outputs,
                        .n_outputs = 1,
                        .epilogue = list,
                        .n_epilogue = 3};
  assert_null(tn_epilogue_refuse_f32(&call, 1));
  for (int c = 0; c < 3; c++) {
    for (int i = 0; i < 4; i++) y[4 * c + i] = 2.0f;
    tn_epilogue_f32(&call, y + 4 * c, 4, 4 * c, c, 0);
  }
  for (int i = 0; i < 12; i++) assert_true(y[i] == fmaxf(2.0f + bias[i / 4], 0.0f) * (float)i);
  out.layout = t2.layout = TN_CHANNELS_LAST;
  for (int i = 0; i < 12; i++) y[i] = 2.0f;
  for (int pixel = 0; pixel < 4; pixel++) tn_epilogue_f32(&call, y + 3 * pixel, 3, 3 * pixel, 0, 1);
  for (int i = 0; i < 12; i++) assert_true(y[i] == fmaxf(2.0f + bias[i % 3], 0.0f) * (float)i);
  t2.layout = TN_PLAIN;
  assert_non_null(tn_epilogue_refuse_f32(&call, 1));
}

/* Pad lanes are zeroed, all else stays, whatever the range. */
static void pads(void **state) {
  (void)state;
  const int64_t dims[] = {2, 5, 3};
  uint16_t y[48];
  tn_tensor t = tn_tensor_make(TN_F16, 3, dims, y);
  t.layout = TN_BLOCKED(4);
  for (int64_t begin = 0; begin <= 48; begin++) {
    for (int64_t end = begin; end <= 48; end++) {
      memset(y, 1, sizeof y);
      tn_pads_zero(&t, begin, end);
      for (int64_t i = 0; i < 48; i++) {
        const bool pad = i % 24 >= 12 && i % 4 >= 1;
        assert_int_equal(y[i], pad && i >= begin && i < end ? 0 : 0x0101);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(accuracy),       cmocka_unit_test(gelu),
                                     cmocka_unit_test(special_values), cmocka_unit_test(halves),
                                     cmocka_unit_test(epilogues),      cmocka_unit_test(pads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
