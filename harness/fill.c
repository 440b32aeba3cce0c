/* Elements of inputs. Deterministic: they depend on the case and the argument alone. */
#include <math.h>
#include <string.h>

#include "harness/harness.h"

/* SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t check_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static double unit(uint64_t *state) { return (double)(check_random(state) >> 11) * 0x1p-53; }

static void put(tn_tensor *t, int64_t k, double value) {
  if (tn_dtype(t->dtype)->is_complex) { /* the imaginary part follows the real one */
    const uint32_t part = t->dtype == TN_C64 ? TN_F32 : TN_F64;
    tn_store_f64(part, t->data, 2 * k, value);
    tn_store_f64(part, t->data, 2 * k + 1, -0.5 * value);
  } else if (tn_dtype_exact_i64(t->dtype)) {
    tn_store_i64(t->dtype, t->data, k, (int64_t)value);
  } else {
    tn_store_f64(t->dtype, t->data, k, value);
  }
}

/* Small values of both signs: every eighth is zero, every eighth equals the one before it. */
static void designed(tn_tensor *t, int64_t n, uint64_t seed) {
  const tn_dtype_info *info = tn_dtype(t->dtype);
  const bool unsigned_int = info->is_int && !info->is_signed;
  const double reach =
      info->is_int ? (info->bits < 8 ? (double)(1 << (info->bits - 1)) : 9.0) : 2.0;
  double last = 1;
  for (int64_t k = 0; k < n; k++) {
    const uint64_t kind = check_random(&seed) % 8;
    double value = (2 * unit(&seed) - 1) * reach;
    if (info->is_int) value = floor(unsigned_int ? fabs(value) : value);
    if (t->dtype == TN_BOOL) value = value > 0;
    if (kind == 0) value = 0;
    if (kind == 1) value = last;
    put(t, k, last = value);
  }
}

static void uniform(const check_spec *s, tn_tensor *t, int64_t n, uint64_t seed) {
  for (int64_t k = 0; k < n; k++) {
    if (s->fill == FILL_INTS)
      put(t, k, s->low + floor(unit(&seed) * (s->high - s->low + 1)));
    else
      put(t, k, s->low + unit(&seed) * (s->high - s->low));
  }
}

static void elements(const check_spec *s, tn_tensor *t, int64_t n) {
  for (int64_t k = 0; k < n && s->n_elements; k++) {
    const int64_t from = k % s->n_elements;
    if (tn_dtype_exact_i64(t->dtype))
      tn_store_i64(t->dtype, t->data, k, s->ints[from]);
    else
      put(t, k, s->numbers[from]);
  }
}

/* A shuffled 0 .. n-1, centred for types with a sign. */
static void unique(tn_tensor *t, int64_t n, uint64_t seed) {
  const tn_dtype_info *info = tn_dtype(t->dtype);
  int64_t *order = check_need(tn_alloc(tn_default_allocator(), (uint64_t)n * sizeof *order));
  for (int64_t k = 0; k < n; k++) {
    const int64_t at = (int64_t)(check_random(&seed) % (uint64_t)(k + 1));
    order[k] = order[at];
    order[at] = k;
  }
  const int64_t shift = info->is_float || info->is_signed ? n / 2 : 0;
  for (int64_t k = 0; k < n; k++) put(t, k, (double)(order[k] - shift));
  tn_free(tn_default_allocator(), order, (uint64_t)n * sizeof *order);
}

static double largest(uint32_t dtype) {
  switch (dtype) {
    case TN_F16: return 65504;
    case TN_BF16: return 0x1.fep127;
    case TN_F64:
    case TN_C128: return 0x1.fffffffffffffp1023;
    default: return 0x1.fffffep127;
  }
}

static double smallest(uint32_t dtype) { /* subnormal */
  switch (dtype) {
    case TN_F16: return 0x1p-24;
    case TN_BF16: return 0x1p-133;
    case TN_F64:
    case TN_C128: return 0x1p-1074;
    default: return 0x1p-149;
  }
}

static double edge_float(uint32_t dtype, int64_t k) {
  const double normal = dtype == TN_F16 ? 0x1p-14 : dtype == TN_F64 ? 0x1p-1022 : 0x1p-126;
  const double all[] = {0.0,
                        -0.0,
                        INFINITY,
                        -INFINITY,
                        NAN,
                        largest(dtype),
                        -largest(dtype),
                        smallest(dtype),
                        -smallest(dtype),
                        normal,
                        -normal,
                        normal / 2,
                        1,
                        -1,
                        0.5,
                        -0.5,
                        1.5,
                        -1.5,
                        2.5,
                        -2.5,
                        100.25,
                        -100.25,
                        88.5,
                        -88.5,
                        709.5,
                        -709.5,
                        1e-3,
                        -1e-3,
                        3.14159265358979,
                        -3.14159265358979};
  return all[(uint64_t)k % (sizeof all / sizeof *all)];
}

static int64_t edge_int(const tn_dtype_info *info, int64_t k) {
  const int64_t high =
      info->is_signed ? (int64_t)((UINT64_C(1) << (info->bits - 1)) - 1)
                      : (int64_t)(info->bits == 64 ? UINT64_MAX : (UINT64_C(1) << info->bits) - 1);
  const int64_t low = info->is_signed ? -high - 1 : 0;
  const int64_t all[] = {
      0, 1, low, high, info->is_signed ? -1 : 2, (int64_t)((uint64_t)high - 1), low + 1, 3};
  return all[(uint64_t)k % (sizeof all / sizeof *all)];
}

static void edge(tn_tensor *t, int64_t n) {
  const tn_dtype_info *info = tn_dtype(t->dtype);
  for (int64_t k = 0; k < n; k++) {
    if (info->is_int)
      tn_store_i64(t->dtype, t->data, k, edge_int(info, k));
    else if (t->dtype == TN_BOOL)
      put(t, k, (double)(k & 1));
    else
      put(t, k, edge_float(t->dtype, k));
  }
}

static void strings(const check_spec *s, tn_tensor *t, int64_t n, uint64_t seed) {
  static const tn_str some[] = {
      {"", 0},         {"a", 1},     {"b", 1}, {"ab", 2},
      {"\xc3\xa4", 2}, {"a b c", 5}, {"A", 1}, {"a string longer than a pointer", 30}};
  tn_str *to = t->data;
  for (int64_t k = 0; k < n; k++) {
    if (s->fill == FILL_STRINGS)
      to[k] = s->strings[k % s->n_elements];
    else
      to[k] = some[check_random(&seed) % (sizeof some / sizeof *some)];
  }
}

void check_fill(const check_spec *s, tn_tensor *t, uint64_t seed) {
  const int64_t n = tn_tensor_elements(t);
  if (t->dtype == TN_STRING) {
    strings(s, t, n, seed);
    return;
  }
  switch (s->fill) {
    case FILL_UNIFORM:
    case FILL_INTS: uniform(s, t, n, seed); break;
    case FILL_ELEMENTS: elements(s, t, n); break;
    case FILL_RANGE:
      for (int64_t k = 0; k < n; k++) put(t, k, (double)k);
      break;
    case FILL_EDGE: edge(t, n); break;
    case FILL_UNIQUE: unique(t, n, seed); break;
    default: designed(t, n, seed); break;
  }
}
