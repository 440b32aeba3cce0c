/* Arithmetic on sizes that notices overflow. Each answers 0, or TN_ERR_OVERFLOW with *out
 * unchanged. */
#ifndef TN_BASE_CHECKED_H
#define TN_BASE_CHECKED_H

#include <stdint.h>

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

/* Product of dims; dims must be >= 0 (TN_ERR_INVALID). The empty product is 1. */
static inline tn_status tn_dims_product(const int64_t *dims, int32_t n, int64_t *out) {
  int64_t r = 1;
  for (int32_t k = 0; k < n; k++) {
    if (dims[k] < 0) return TN_ERR_INVALID;
    if (tn_mul_i64(r, dims[k], &r)) return TN_ERR_OVERFLOW;
  }
  *out = r;
  return TN_OK;
}

/* a >= 0, b > 0 */
static inline int64_t tn_ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }
static inline int64_t tn_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tn_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
/* x + unit must not overflow. */
static inline uint64_t tn_round_up(uint64_t x, uint64_t unit) {
  return (x + unit - 1) / unit * unit;
}

#endif
