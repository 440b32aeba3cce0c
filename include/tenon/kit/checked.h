/* Arithmetic on sizes that notices overflow. Each answers 0, or TN_ERR_OVERFLOW with *out
 * unchanged. */
#ifndef TN_KIT_CHECKED_H
#define TN_KIT_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "tenon/kit/linkage.h"
#include "tenon/plugin.h"

static inline tn_status tn_add_i64(int64_t a, int64_t b, int64_t *out) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return TN_ERR_OVERFLOW;
  *out = r;
  return TN_OK;
}

static inline tn_status tn_mul_i64(int64_t a, int64_t b, int64_t *out) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return TN_ERR_OVERFLOW;
  *out = r;
  return TN_OK;
}

static inline tn_status tn_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
  uint64_t r;
  if (__builtin_add_overflow(a, b, &r)) return TN_ERR_OVERFLOW;
  *out = r;
  return TN_OK;
}

static inline tn_status tn_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
  uint64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return TN_ERR_OVERFLOW;
  *out = r;
  return TN_OK;
}

/* No tensor has more elements: sizes in bytes, rounded up to blocks, then fit 64 bits. */
#define TN_MAX_ELEMENTS (INT64_C(1) << 56)

/* Product of dims; dims must be >= 0 (TN_ERR_INVALID). The empty product is 1. The product of the
 * dims that are not 0 has the limit TN_MAX_ELEMENTS, too: no product of some dims overflows. */
TN_KIT_FN tn_status tn_dims_product(const int64_t *dims, int32_t n, int64_t *out);

/* The same for dims whose product is known not to overflow: those of a tensor. */
static inline int64_t tn_dims_size(const int64_t *dims, int32_t n) {
  int64_t r = 1;
  for (int32_t k = 0; k < n; k++) r *= dims[k];
  return r;
}

/* a >= 0, b > 0 */
static inline int64_t tn_ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }
static inline int64_t tn_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tn_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
/* True if whole is n_parts > 0 equal parts, none of them empty: numbers of heads come
 * from attributes, and 2^60 heads of nothing would be 2^60 items of work. */
static inline bool tn_divides(int64_t n_parts, int64_t whole) {
  return n_parts > 0 && n_parts <= whole && whole % n_parts == 0;
}
/* Splits a row-major index over dims, none of which is 0. */
static inline void tn_unravel(int64_t index, const int64_t *dims, int32_t n, int64_t *out) {
  for (int32_t k = n - 1; k >= 0; k--) {
    out[k] = index % dims[k];
    index /= dims[k];
  }
}

/* Nanoseconds of work that a thread should get at once: twice what handing them over takes. */
enum { TN_THREAD_NS = 1000 };

/* How many work items of about `each` steps a thread should take at once, to have `least` steps
 * to do; each may be anything, huge as well. */
static inline int64_t tn_grain(double least, double each) {
  return 1 + (each > 0 ? (int64_t)(least / (1 + each)) : (int64_t)least);
}
/* x + unit must not overflow. */
static inline uint64_t tn_round_up(uint64_t x, uint64_t unit) {
  return (x + unit - 1) / unit * unit;
}

#ifdef TN_KIT_BODIES

TN_KIT_FN tn_status tn_dims_product(const int64_t *dims, int32_t n, int64_t *out) {
  int64_t r = 1;
  bool is_empty = false;
  for (int32_t k = 0; k < n; k++) {
    if (dims[k] < 0) return TN_ERR_INVALID;
    if (dims[k] == 0)
      is_empty = true;
    else if (tn_mul_i64(r, dims[k], &r) || r > TN_MAX_ELEMENTS)
      return TN_ERR_OVERFLOW;
  }
  *out = is_empty ? 0 : r;
  return TN_OK;
}

#endif

#endif
