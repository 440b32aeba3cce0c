/* Ordering elements of any dtype. */
#include "order.h"
#include "tenon/kit/element.h"

uint64_t order_key(uint32_t dtype, const void *data, int64_t index) {
  const tn_dtype_info *info = tn_dtype(dtype);
  if (!tn_dtype_exact_i64(dtype)) return order_key_f64(tn_load_f64(dtype, data, index));
  uint64_t x = (uint64_t)tn_load_i64(dtype, data, index);
  return info->is_signed ? x ^ UINT64_C(1) << 63 : x;
}

static int compare_keys(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int compare_strings(tn_str a, tn_str b) {
  int64_t n = a.size < b.size ? a.size : b.size;
  int order = n ? memcmp(a.data, b.data, (size_t)n) : 0;
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_complex(const tn_tensor *t, int64_t a, int64_t b) {
  uint32_t part = t->dtype == TN_C64 ? TN_F32 : TN_F64;
  int order = compare_keys(order_key(part, t->data, 2 * a), order_key(part, t->data, 2 * b));
  return order ? order
               : compare_keys(order_key(part, t->data, 2 * a + 1),
                              order_key(part, t->data, 2 * b + 1));
}

int order_compare(const tn_tensor *t, int64_t a, int64_t b) {
  if (t->dtype == TN_STRING)
    return compare_strings(((const tn_str *)t->data)[a], ((const tn_str *)t->data)[b]);
  if (tn_dtype(t->dtype)->is_complex) return compare_complex(t, a, b);
  return compare_keys(order_key(t->dtype, t->data, a), order_key(t->dtype, t->data, b));
}
