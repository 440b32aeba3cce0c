/* Functions of 16-bit codes: like the built-in kernels, which interpolate between the entries of
 * short tables. Here a table has the answers to all 65536 codes, and is looked up. */
#include <math.h>

#include "lower.h"
#include "wide.h"

enum { CODES = 1 << 16 };

int32_t tfl_code_answers(const tn_lowering *t, int16_t (*answer)(const void *numbers, int64_t code),
                         const void *numbers) {
  const int64_t n = CODES;
  int16_t *codes = t->call->host->alloc(t->call->ctx, (uint64_t)n * sizeof *codes);
  if (!codes) return TN_ERR_MEMORY;
  for (int64_t q = INT16_MIN; q <= INT16_MAX; q++) codes[(uint16_t)q] = answer(numbers, q);
  const tn_tensor table = tn_tensor_make(TN_I16, 1, &n, codes);
  const int32_t value = tn_emit_const(t->call, t->graph, &table);
  t->call->host->free(t->call->ctx, codes);
  return value;
}

/* Input 0 by such a table: Gather counts from the end where places are negative. */
static int32_t looked_up(const tn_lowering *t, int16_t (*answer)(const void *numbers, int64_t code),
                         const void *numbers) {
  return tn_low_2(t, "Gather", tfl_code_answers(t, answer, numbers),
                  tn_low_cast(t, tn_low_in(t, 0), TN_I32));
}

/* ---- Sigmoid and Tanh ---- */

/* Entry k is 2^16 times the sigmoid of k / 24. x: a code as 512ths of an entry; of Tanh, whose
 * argument is doubled, as 256ths. */
enum { ENTRIES = 256, STEPS = 24, BITS_OF_X = 9 };

typedef struct curve {
  int64_t entries[ENTRIES], multiplier, shift;
} curve;

/* Entries that LiteRT has one above the rounded number (found by reading them all from Tanh). */
static const uint8_t one_above[] = {4,  8,  12, 14, 15, 16, 17, 19, 20,  21,  22,  25,  27,  28, 29,
                                    30, 31, 33, 34, 35, 37, 39, 40, 41,  43,  44,  45,  46,  49, 50,
                                    54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255};

static void curve_make(double x_scale, curve *out) {
  for (int64_t k = 0; k < ENTRIES; k++)
    out->entries[k] = (int64_t)round(CODES / (1 + exp(-(double)k / STEPS)));
  for (size_t k = 0; k < sizeof one_above; k++) out->entries[one_above[k]]++;
  double multiplier = x_scale * (STEPS << BITS_OF_X);
  for (out->shift = 0; multiplier <= INT16_MAX / 2.0 && out->shift <= 30; out->shift++)
    multiplier *= 2;
  out->multiplier = (int64_t)multiplier;
}

/* |x| among the entries, with `bits` bits behind the point of what is `most` at last. */
static int64_t curve_at(const curve *c, int64_t x, int64_t bits, int64_t most) {
  const int64_t size = x < 0 ? -x : x, k = size >> bits;
  if (k >= ENTRIES - 1) return most;
  return (c->entries[k] << bits) + (size & ((1 << bits) - 1)) * (c->entries[k + 1] - c->entries[k]);
}

static int64_t curve_x(const curve *c, int64_t code) {
  return (code * c->multiplier + (c->shift ? INT64_C(1) << (c->shift - 1) : 0)) >> c->shift;
}

/* Of 25 bits, rounded to 15; what is below 0 is 1 less the other. */
static int16_t sigmoid_of(const void *numbers, int64_t code) {
  enum { HALF = 1 << 9, ONE = 1 << 25, MOST = INT16_MAX << 10 };
  const int64_t x = curve_x(numbers, code), y = curve_at(numbers, x, BITS_OF_X, MOST);
  return (int16_t)(((x < 0 ? ONE - y - 1 : y) + HALF) >> 10);
}

/* Of 24 bits, twice the sigmoid less 1. */
static int16_t tanh_of(const void *numbers, int64_t code) {
  enum { HALF = 1 << 7, ONE = 1 << 23, MOST = UINT16_MAX << 8 };
  const int64_t x = curve_x(numbers, code), y = curve_at(numbers, x, BITS_OF_X - 1, MOST) - ONE;
  return (int16_t)(((x < 0 ? -y - 1 : y) + HALF) >> 8);
}

/* LiteRT takes no others. */
static bool is_curve(const tn_lowering *t) {
  const double x_scale = tfl_scale(t, 0);
  return tfl_is_wide(t, 0) && x_scale > 0 && x_scale < 1 && tfl_scale(t, 1) == ldexp(1, -15) &&
         !tfl_zero(t, 0) && !tfl_zero(t, 1);
}

bool tfl_has_wide_sigmoid(const tn_lowering *t) { return is_curve(t); }
bool tfl_has_wide_tanh(const tn_lowering *t) { return is_curve(t); }

int32_t tfl_wide_sigmoid(const tn_lowering *t) {
  curve c;
  if (tfl_scale(t, 0) == ldexp(1, -12)) return looked_up(t, tfl_sigmoid_of_power, NULL);
  curve_make(tfl_scale(t, 0), &c);
  return looked_up(t, sigmoid_of, &c);
}

int32_t tfl_wide_tanh(const tn_lowering *t) {
  curve c;
  for (int shift = 0; shift < 2; shift++)
    if (tfl_scale(t, 0) == ldexp(1, shift - 12)) return looked_up(t, tfl_tanh_of_power, &shift);
  curve_make(tfl_scale(t, 0), &c);
  return looked_up(t, tanh_of, &c);
}

/* ---- Exp, Log, Gelu, and 1 / Sqrt ---- */

/* 512 pieces of 128 codes. Each begins half of what the middle of a straight line would be off by
 * beside the function. */
enum { PIECES = 512, PIECE_BITS = 7 };

static int64_t as_code(double v) { return (int64_t)fmin(fmax(v, INT16_MIN), INT16_MAX); }

typedef struct straights {
  double x_scale, y_scale;
  int64_t x_zero;
  double (*function)(double x, double most, double least); /* what the last codes are */
} straights;

/* Numbers of type T, which is float for functions of one value, and double for Softmax. */
#define PIECES_MAKE(name, T)                                                                   \
  static void name(const straights *s, int64_t *out) {                                         \
    const T x_scale = (T)s->x_scale, y_scale = (T)s->y_scale;                                  \
    const T from = x_scale * (T)(INT16_MIN - s->x_zero),                                       \
            to = x_scale * (T)(INT16_MAX - s->x_zero);                                         \
    const T step = (to - from) / PIECES, half = step / 2;                                      \
    const T inverse = CODES / (y_scale * INT16_MAX - y_scale * INT16_MIN);                     \
    const double most = (double)(y_scale * INT16_MAX), least = (double)(y_scale * INT16_MIN);  \
    for (int64_t k = 0; k < PIECES; k++) {                                                     \
      const T x = from + (T)k * step, next = from + (T)(k + 1) * step, mid = x + half;         \
      const T begin = (T)round((double)((T)s->function((double)x, most, least) * inverse)),    \
              end = (T)s->function((double)next, most, least) * inverse;                       \
      const T straight = (T)round((double)((end + begin) / 2)),                                \
              middle = (T)round((double)((T)s->function((double)mid, most, least) * inverse)); \
      out[k] = as_code((double)(begin - (T)round((double)((straight - middle) / 2))));         \
    }                                                                                          \
    out[PIECES] = as_code(round((double)((T)s->function((double)to, most, least) * inverse))); \
  }
PIECES_MAKE(pieces_make_f32, float)
PIECES_MAKE(pieces_make_f64, double)
#undef PIECES_MAKE

static int16_t straight_of(const void *numbers, int64_t code) {
  const int64_t *piece = (const int64_t *)numbers + ((code - INT16_MIN) >> PIECE_BITS),
                at = (code - INT16_MIN) & ((1 << PIECE_BITS) - 1);
  const int64_t rise = (piece[1] - piece[0]) * at + (1 << (PIECE_BITS - 1));
  return (int16_t)(piece[0] + (rise >> PIECE_BITS));
}

bool tfl_has_wide_exp(const tn_lowering *t) {
  return tfl_is_wide(t, 0) && tfl_scale(t, 0) > 0 && tfl_scale(t, 1) > 0 && !tfl_zero(t, 0) &&
         !tfl_zero(t, 1);
}

static int32_t straight_answers(const tn_lowering *t, double (*function)(double, double, double)) {
  const straights s = {tfl_scale(t, 0), tfl_scale(t, 1), 0, function};
  int64_t pieces[PIECES + 1];
  pieces_make_f32(&s, pieces);
  return looked_up(t, straight_of, pieces);
}

static double exp_of_f32(double x, double most, double least) {
  return (void)most, (void)least, (double)expf((float)x);
}
int32_t tfl_wide_exp(const tn_lowering *t) { return straight_answers(t, exp_of_f32); }

/* Of what has no root, too, there is an answer. */
static double one_over_root(double x, double most, double least) {
  return (void)least, x > 0 ? (double)(1 / sqrtf((float)x)) : most;
}
int32_t tfl_wide_rsqrt(const tn_lowering *t) { return straight_answers(t, one_over_root); }

static double log_of(double x, double most, double least) {
  return (void)most, x > 0 ? (double)logf((float)x) : least;
}
bool tfl_has_wide_log(const tn_lowering *t) { return tfl_has_wide_exp(t); }
int32_t tfl_wide_log(const tn_lowering *t) { return straight_answers(t, log_of); }

static double gelu_by_erf(double x, double most, double least) {
  return (void)most, (void)least, 0.5 * x * (1 + erf(x * sqrt(0.5)));
}
static double gelu_by_tanh(double x, double most, double least) {
  const double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x); /* sqrt(2 / pi) */
  return (void)most, (void)least, 0.5 * x * (1 + tanh(inner));
}
int32_t tfl_wide_gelu(const tn_lowering *t, bool by_tanh) {
  return straight_answers(t, by_tanh ? gelu_by_tanh : gelu_by_erf);
}

/* ---- Softmax ---- */

static double exp_of(double x, double most, double least) {
  return (void)most, (void)least, exp(x);
}
static double one_over_one_plus(double x, double most, double least) {
  return (void)most, (void)least, 1 / (1 + x);
}

static int32_t straight_table(const tn_lowering *t, straights s) {
  int64_t pieces[PIECES + 1];
  pieces_make_f64(&s, pieces);
  return tfl_code_answers(t, straight_of, pieces);
}

bool tfl_has_wide_softmax(const tn_lowering *t) {
  return tfl_has_wide_exp(t) && tfl_scale(t, 1) == ldexp(1, -15) && tn_low_type(t, 0)->rank > 0;
}

/* Exponentials of -10 .. 0, and 1 / (1 + x) of 0 .. 1, both of which numbers of 0 .. 1 are. */
int32_t tfl_wide_softmax(const tn_lowering *t) {
  enum { RANGE = CODES - 1 };
  const double beta = (double)(float)tn_low_float(t, "beta", 1);
  const double unit = 2.0 / RANGE;
  int64_t multiplier, shift;
  tfl_split_scale(tfl_scale(t, 0) * beta / (10.0 / RANGE), &multiplier, &shift);
  const int32_t in[] = {
      tn_low_in(t, 0), straight_table(t, (straights){10.0 / RANGE, unit, INT16_MAX, exp_of}),
      straight_table(t, (straights){1.0 / RANGE, unit, INT16_MIN, one_over_one_plus})};
  const tn_attr attrs[] = {tn_attr_int("multiplier", multiplier), tn_attr_int("shift", shift)};
  return tn_low_emit(t, "tenon::FixedSoftmax", in, 3, attrs, 2);
}
