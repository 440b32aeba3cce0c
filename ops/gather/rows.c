/* Runs of strings and of types below a byte, messages about indices, and the moves of references.
 */
#include "rows.h"

tn_status rows_copy_odd(const rows *r, int64_t to, const tn_tensor *in, int64_t from, int64_t n) {
  const tn_tensor *out = r->call->outputs[r->output];
  tn_status s = TN_OK;
  if (out->dtype == TN_STRING) {
    const tn_str empty = {"", 0};
    for (int64_t k = 0; k < n && !s; k++) {
      tn_str text = in ? ((const tn_str *)in->data)[from + k] : empty;
      s = r->call->host->string_set(r->call->ctx, r->output, to + k, text.data, text.size);
    }
    return s;
  }
  int64_t bits = tn_dtype(out->dtype)->bits;
  uint8_t *dst = out->data;
  for (int64_t k = 0; k < n; k++) {
    int64_t a = (to + k) * bits, b = (from + k) * bits;
    int mask = (1 << bits) - 1, field = in ? ((const uint8_t *)in->data)[b / 8] >> b % 8 & mask : 0;
    dst[a / 8] = (uint8_t)((dst[a / 8] & ~(mask << a % 8)) | field << a % 8);
  }
  return TN_OK;
}

tn_status index_fail(const tn_call *call, uint32_t input, int64_t k, int64_t value, int32_t axis,
                     int64_t bound) {
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "input %u, element %lld: index %lld is outside %lld .. %lld of axis %d",
                          (unsigned)input, (long long)k, (long long)value, (long long)-bound,
                          (long long)bound - 1, (int)axis);
}

tn_status write_index_fail(const tn_call *call, int64_t k, int64_t value, int64_t last) {
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "write_indices[%lld] is %lld; the update fits at 0 .. %lld", (long long)k,
                          (long long)value, (long long)last);
}

static int order_floats(double a, double b) {
  if (a != a || b != b) return (a != a) - (b != b);
  return a < b ? -1 : a > b;
}

static int order_strings(tn_str a, tn_str b) {
  for (int64_t k = 0; k < a.size && k < b.size; k++)
    if (a.data[k] != b.data[k]) return (uint8_t)a.data[k] < (uint8_t)b.data[k] ? -1 : 1;
  return a.size < b.size ? -1 : a.size > b.size;
}

int rows_order(const tn_tensor *in, int64_t a, int64_t b) {
  const tn_dtype_info *info = tn_dtype(in->dtype);
  if (in->dtype == TN_STRING)
    return order_strings(((const tn_str *)in->data)[a], ((const tn_str *)in->data)[b]);
  if (info->is_complex) {
    uint32_t part = in->dtype == TN_C64 ? TN_F32 : TN_F64;
    int real = order_floats(tn_load_f64(part, in->data, 2 * a), tn_load_f64(part, in->data, 2 * b));
    return real ? real
                : order_floats(tn_load_f64(part, in->data, 2 * a + 1),
                               tn_load_f64(part, in->data, 2 * b + 1));
  }
  if (!info->is_int)
    return order_floats(tn_load_f64(in->dtype, in->data, a), tn_load_f64(in->dtype, in->data, b));
  int64_t x = tn_load_i64(in->dtype, in->data, a), y = tn_load_i64(in->dtype, in->data, b);
  if (info->is_signed) return x < y ? -1 : x > y;
  return (uint64_t)x < (uint64_t)y ? -1 : (uint64_t)x > (uint64_t)y;
}

around around_axis(const tn_tensor *t, int32_t axis) {
  return (around){tn_dims_size(t->shape, axis), t->shape[axis],
                  tn_dims_size(t->shape + axis + 1, t->rank - axis - 1)};
}
