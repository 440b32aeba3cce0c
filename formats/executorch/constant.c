/* Constants: elements in the FlatBuffer or in a segment behind it, in the order of dims that the
 * program says. */
#include <stdio.h>

#include "reader.h"
#include "tenon/kit/checked.h"

/* ---- where they lie ---- */

/* The rest of a segment from offset `index` of its list on. */
static tn_status in_segment(const pte_reader *r, const tn_flat_table *offsets, uint64_t index,
                            pte_span *out) {
  const tn_flat_vector list = tn_flat_vec(offsets, OFFSETS_LIST, 8);
  tn_status s = pte_status(r);
  if (!s && index >= list.n)
    s = pte_fail(r, TN_ERR_INVALID, offsets->at, "needs constant %llu; there are %llu",
                 (unsigned long long)index, (unsigned long long)list.n);
  if (!s) s = pte_segment(r, (uint64_t)tn_flat_uint(offsets, OFFSETS_SEGMENT, 4, 0), out);
  const uint64_t at = s ? 0 : (uint64_t)tn_flat_int_at(&list, index);
  if (!s && at > out->size)
    return pte_fail(
        r, TN_ERR_INVALID, offsets->at, "constant %llu begins at byte %llu of a segment of %llu",
        (unsigned long long)index, (unsigned long long)at, (unsigned long long)out->size);
  if (s) return s;
  *out = (pte_span){out->data + at, out->size - at};
  return pte_status(r);
}

static tn_status in_buffer(const pte_reader *r, uint64_t index, pte_span *out) {
  const tn_flat_vector buffers = tn_flat_vec(&r->program, PROGRAM_CONSTANTS, 4);
  tn_status s = pte_status(r);
  if (!s && index >= buffers.n)
    s = pte_fail(r, TN_ERR_INVALID, r->program.at, "needs constant %llu; there are %llu",
                 (unsigned long long)index, (unsigned long long)buffers.n);
  if (s) return s;
  const tn_flat_table buffer = tn_flat_item(&buffers, index, &pte_item_type);
  const tn_flat_vector bytes = tn_flat_vec(&buffer, ITEM, 1);
  *out = (pte_span){tn_flat_bytes(&bytes), bytes.n};
  return pte_status(r);
}

bool pte_is_beside(const pte_value *v) {
  enum { EXTERNAL = 1 };
  const tn_flat_table extra = tn_flat_sub(&v->table, TENSOR_EXTRA, &pte_extra_type);
  return tn_flat_int(&extra, EXTRA_LOCATION, 1, 0) == EXTERNAL;
}

tn_status pte_initial(pte_reader *r, const pte_value *v, pte_span *out) {
  const tn_flat_table extra = tn_flat_sub(&v->table, TENSOR_EXTRA, &pte_extra_type),
                      constants =
                          tn_flat_sub(&r->program, PROGRAM_CONSTANT_SEGMENT, &pte_offsets_type);
  const uint64_t index = (uint64_t)tn_flat_uint(&v->table, TENSOR_BUFFER, 4, 0);
  const bool is_mutable = tn_flat_has(&v->table, TENSOR_ALLOCATION);
  *out = (pte_span){NULL, 0};
  if (pte_is_beside(v)) {
    const tn_str name = tn_flat_text(&extra, EXTRA_NAME);
    const tn_status s = pte_status(r);
    return s ? s : pte_beside_find(r, name, out);
  }
  if (pte_status(r) || !index) return pte_status(r);
  if (!is_mutable) {
    const tn_flat_vector list = tn_flat_vec(&constants, OFFSETS_LIST, 8);
    return list.n ? in_segment(r, &constants, index, out) : in_buffer(r, index, out);
  }
  const tn_flat_vector lists = tn_flat_vec(&r->program, PROGRAM_MUTABLE_SEGMENTS, 4);
  const uint64_t which = (uint64_t)tn_flat_uint(&extra, EXTRA_SEGMENT, 8, 0);
  if (pte_status(r)) return pte_status(r);
  if (which >= lists.n)
    return pte_fail(r, TN_ERR_INVALID, v->table.at,
                    "its first elements lie in list %llu of mutable_data_segments; there are %llu",
                    (unsigned long long)which, (unsigned long long)lists.n);
  const tn_flat_table offsets = tn_flat_item(&lists, which, &pte_offsets_type);
  return in_segment(r, &offsets, index, out);
}

/* ---- in which order ---- */

/* Strides, in elements, of dims that lie in the order of the program: of [0, 2, 3, 1], the last is
 * dim 1. */
static tn_status read_strides(const pte_reader *r, const pte_value *v, int64_t *strides,
                              bool *is_dense) {
  const tn_flat_vector order = tn_flat_vec(&v->table, TENSOR_ORDER, 1);
  const int32_t rank = v->type.rank;
  uint32_t seen = 0;
  int64_t stride = 1;
  *is_dense = true;
  if (order.n != (uint64_t)rank && order.n)
    return pte_fail(r, TN_ERR_INVALID, order.at, "dim_order has %llu dims, sizes %d",
                    (unsigned long long)order.n, rank);
  for (int32_t k = rank - 1; k >= 0; k--) {
    const int64_t dim = order.n ? tn_flat_int_at(&order, (uint64_t)k) : k;
    if (dim < 0 || dim >= rank || seen & 1u << dim)
      return pte_fail(r, TN_ERR_INVALID, order.at, "dim_order is no order of %d dims", rank);
    seen |= 1u << dim;
    *is_dense &= dim == k;
    strides[dim] = stride;
    stride *= v->type.shape[dim]; /* the product of all was checked */
  }
  return pte_status(r);
}

bool pte_is_row_major(const pte_value *v) {
  const tn_flat_vector order = tn_flat_vec(&v->table, TENSOR_ORDER, 1);
  for (uint64_t k = 0; k < order.n; k++)
    if (tn_flat_int_at(&order, k) != (int64_t)k) return false;
  return true;
}

/* Row-major. */
static void copy_ordered(const pte_value *v, const int64_t *strides, const uint8_t *from,
                         int64_t width, int64_t n, uint8_t *to) {
  int64_t index[TN_MAX_RANK] = {0}, at = 0;
  for (int64_t k = 0; k < n; k++) {
    memcpy(to + k * width, from + at * width, (size_t)width);
    for (int32_t d = v->type.rank - 1; d >= 0; d--) {
      at += strides[d];
      if (++index[d] < v->type.shape[d]) break;
      at -= strides[d] * index[d];
      index[d] = 0;
    }
  }
}

/* ---- the constant ---- */

static tn_status find_elements(pte_reader *r, const pte_value *v, tn_tensor *data, bool *copy) {
  pte_span bytes;
  int64_t strides[TN_MAX_RANK];
  bool is_dense;
  const int64_t n = tn_tensor_elements(data), size = tn_tensor_bytes(data);
  if (n < 0 || size < 0)
    return pte_fail(r, TN_ERR_INVALID, v->table.at, "it is a constant, but its size is unknown");
  tn_status s = pte_initial(r, v, &bytes);
  if (!s && bytes.size < (uint64_t)size)
    s = pte_fail(r, TN_ERR_INVALID, v->table.at,
                 "has %llu bytes where its shape and type need %lld",
                 (unsigned long long)bytes.size, (long long)size);
  if (!s) s = read_strides(r, v, strides, &is_dense);
  if (s || !n) return s;
  const int64_t width = size / n;
  const bool is_bool = data->dtype == TN_BOOL;
  data->data = tn_flat_data(bytes.data);
  *copy = (uintptr_t)bytes.data % (uint64_t)(width > 8 ? 8 : width) != 0;
  if (is_dense && !is_bool) return TN_OK;
  uint8_t *own = tn_arena_alloc(&r->arena, (uint64_t)size);
  if (!own) return pte_no_memory(r);
  copy_ordered(v, strides, bytes.data, width, n, own);
  for (int64_t k = 0; is_bool && k < n; k++) own[k] = own[k] != 0;
  data->data = own;
  *copy = true;
  return TN_OK;
}

tn_status pte_constant(pte_reader *r, pte_value *v, const char *name, int32_t *out) {
  tn_tensor data = v->type;
  bool copy = false;
  tn_status s = find_elements(r, v, &data, &copy);
  if (s) return s;
  *out = r->api->value(r->main, name);
  s = *out < 0 ? *out : r->api->value_set_const(r->main, *out, &data, copy);
  return s ? pte_graph_fail(r, s, "it cannot be a constant") : TN_OK;
}
