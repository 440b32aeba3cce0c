/* What the kernels of the family share: copying runs of elements of any dtype, and reading indices
 * that must be in range. */
#ifndef TN_GATHER_ROWS_H
#define TN_GATHER_ROWS_H

#include <string.h>

#include "tenon/kit/coords.h"
#include "tenon/kit/infer.h"

/* Copies runs of elements into one output. Strings, whose bytes belong to the host, and types below
 * a byte, where runs share bytes, go element by element: kernels give them one item, so that one
 * thread does it all. */
typedef struct rows {
  const tn_call *call;
  uint32_t output;
  int64_t bytes; /* of an element; 0: strings and types below a byte */
} rows;

static inline int64_t rows_element_bytes(uint32_t dtype) {
  return dtype == TN_STRING ? 0 : tn_dtype(dtype)->bits / 8;
}

static inline rows rows_of(const tn_call *call, uint32_t output) {
  rows r = {call, output, rows_element_bytes(call->outputs[output]->dtype)};
  return r;
}

/* Plan: `total` items of item_elements elements each, or one item for types that only one thread
 * may write. */
static inline void rows_plan(const tn_call *call, int64_t total, int64_t item_elements,
                             tn_kernel_plan *out) {
  int64_t bytes = rows_element_bytes(call->outputs[0]->dtype);
  const double moved = (double)total * (double)item_elements * (double)tn_max_i64(bytes, 32);
  out->items[0] = bytes ? total : 1;
  out->cost_ns = 100 + 3 * (double)total + moved / 8;
  if (bytes) out->grain[0] = tn_max_i64(1, 16384 / tn_max_i64(1, item_elements * bytes));
}

/* Run: the items that begin .. end of the plan stand for, out of `total`. Zeroes the unused bits of
 * packed types. */
static inline void rows_range(const rows *r, int64_t total, int64_t *begin, int64_t *end) {
  const tn_tensor *out = r->call->outputs[r->output];
  if (r->bytes) return;
  *begin = 0;
  *end = total;
  int64_t bytes = tn_bytes(out);
  if (out->dtype != TN_STRING && bytes > 0) ((uint8_t *)out->data)[bytes - 1] = 0;
}

/* rows.c: the slow way. in NULL: zeros or empty strings. */
tn_status rows_copy_odd(const rows *r, int64_t to, const tn_tensor *in, int64_t from, int64_t n);

/* Elements to .. to+n of the output become elements from .. from+n of in. */
static inline tn_status rows_copy(const rows *r, int64_t to, const tn_tensor *in, int64_t from,
                                  int64_t n) {
  uint8_t *dst = (uint8_t *)r->call->outputs[r->output]->data + to * r->bytes;
  const uint8_t *src = (const uint8_t *)in->data + from * r->bytes;
  switch (n * r->bytes) { /* single elements and short runs are worth an instruction */
    case 0: return n > 0 ? rows_copy_odd(r, to, in, from, n) : TN_OK;
    case 1: *dst = *src; return TN_OK;
    case 2: memcpy(dst, src, 2); return TN_OK;
    case 4: memcpy(dst, src, 4); return TN_OK;
    case 8: memcpy(dst, src, 8); return TN_OK;
    case 16: memcpy(dst, src, 16); return TN_OK;
    default: memcpy(dst, src, (size_t)(n * r->bytes)); return TN_OK;
  }
}

static inline tn_status rows_zero(const rows *r, int64_t to, int64_t n) {
  if (!r->bytes) return rows_copy_odd(r, to, NULL, 0, n);
  if (n > 0)
    memset((uint8_t *)r->call->outputs[r->output]->data + to * r->bytes, 0, (size_t)(n * r->bytes));
  return TN_OK;
}

/* Elements to .. to+n of the output become element `from` of in. */
static inline tn_status rows_fill(const rows *r, int64_t to, const tn_tensor *in, int64_t from,
                                  int64_t n) {
  uint8_t *dst = (uint8_t *)r->call->outputs[r->output]->data + to * r->bytes;
  tn_status s = n > 0 ? rows_copy(r, to, in, from, 1) : TN_OK;
  for (int64_t k = 1; !r->bytes && k < n && !s; k++) s = rows_copy(r, to + k, in, from, 1);
  for (int64_t k = 1; r->bytes && k < n; k *= 2) /* what is there, again behind itself */
    memcpy(dst + k * r->bytes, dst, (size_t)(tn_min_i64(k, n - k) * r->bytes));
  return s;
}

/* Element k of an i32 or i64 tensor. */
static inline int64_t index_load(const tn_tensor *t, int64_t k) {
  return t->dtype == TN_I32 ? ((const int32_t *)t->data)[k] : ((const int64_t *)t->data)[k];
}

/* Says that index k of input `input` is out of bounds. */
tn_status index_fail(const tn_call *call, uint32_t input, int64_t k, int64_t value, int32_t axis,
                     int64_t bound);

/* The same for element k of write_indices of TensorScatter, which counts from 0 to last. */
tn_status write_index_fail(const tn_call *call, int64_t k, int64_t value, int64_t last);

/* Element k of index input `input`, in -bound .. bound-1, made >= 0. axis is for the message. */
static inline tn_status index_get(const tn_call *call, uint32_t input, int64_t k, int32_t axis,
                                  int64_t bound, int64_t *out) {
  int64_t value = index_load(call->inputs[input], k), place = value < 0 ? value + bound : value;
  bool inside = place >= 0 && place < bound;
  *out = inside ? place : 0;
  return inside ? TN_OK : index_fail(call, input, k, value, axis, bound);
}

/* For references: < 0, 0 or > 0 as element a of in stands before, with or after element b. NaN
 * comes last. */
int rows_order(const tn_tensor *in, int64_t a, int64_t b);

/* Products of the dims before, at and after an axis. */
typedef struct around {
  int64_t before, size, after;
} around;
around around_axis(const tn_tensor *t, int32_t axis);

#endif
