/* Lists of tensors (TensorList, TensorArray) as one dense tensor whose first dim counts them. A
 * list that is made before its elements' shape is known has elements of no size; the first that
 * is set gives all of them their shape. */
#include "lower.h"
#include "tensorflow.gen.h"

/* A list of n elements of this shape, of which dims that are not known are 0. */
static tn_status reserve(const tn_lowering *l, int32_t count, const int64_t *dims, int64_t n,
                         uint32_t dtype, int32_t *out) {
  int64_t shape[TN_MAX_RANK];
  if (n >= TN_MAX_RANK) return tn_low_unsupported(l, "lists of so many dims");
  for (int64_t k = 0; k < n; k++) shape[k] = dims[k] < 0 ? 0 : dims[k];
  const int64_t one = 1;
  const int32_t parts[] = {tn_low_reshape(l, tn_low_cast(l, count, TN_I64), 1, &one),
                           tn_low_ints_const(l, shape, n)};
  *out = tn_low_2(l, "Expand", tn_low_number(l, dtype, 0), lo_concat(l, parts, 2, 0));
  return TN_OK;
}

/* The shape that input k gives; a single -1: it is not known, not even its rank. */
static tn_status element_shape(const tn_lowering *l, uint32_t k, int64_t *out, int64_t *out_n) {
  const tn_tensor *t = tn_low_type(l, k);
  const tn_status s = lo_const_ints(l, k, out, TN_MAX_RANK, out_n);
  if (!s && t->rank == 0) out[0] = 0, *out_n = 1;
  return s;
}

tn_status tf_list_reserve(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype =
      tn_dtype_of_onnx(tn_low_int(&l, "element_dtype", tn_onnx_of_dtype(TN_F32)));
  int64_t dims[TN_MAX_RANK], n;
  int32_t y = TN_NO_ID;
  tn_status s = element_shape(&l, 0, dims, &n);
  if (!s) s = reserve(&l, tn_low_in(&l, 1), dims, n, dtype, &y);
  return s ? s : tn_low_done(&l, y);
}

tn_status tf_list_empty(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype =
      tn_dtype_of_onnx(tn_low_int(&l, "element_dtype", tn_onnx_of_dtype(TN_F32)));
  int64_t dims[TN_MAX_RANK], n;
  int32_t y = TN_NO_ID;
  tn_status s = element_shape(&l, 0, dims, &n);
  if (!s) s = reserve(&l, tn_low_number(&l, TN_I64, 0), dims, n, dtype, &y);
  return s ? s : tn_low_done(&l, y);
}

/* handle, which nothing needs, and flow, which is the list. */
tn_status tf_array(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_dtype_of_onnx(tn_low_int(&l, "dtype", tn_onnx_of_dtype(TN_F32)));
  const tn_ints dims = tn_low_ints(&l, "element_shape");
  const int64_t none = 0;
  int32_t out[] = {tn_low_number(&l, TN_I32, 0), TN_NO_ID};
  const tn_status s = reserve(&l, tn_low_in(&l, 0), dims.size ? dims.data : &none,
                              dims.size ? dims.size : 1, dtype, &out[1]);
  return s ? s : tn_low_done_many(&l, out, call->n_outputs);
}

/* ---- elements ---- */

static int32_t item(const tn_lowering *l, uint32_t list, uint32_t index) {
  const int32_t in[] = {tn_low_in(l, list), tn_low_in(l, index)};
  const tn_attr a = tn_attr_int("axis", 0);
  return tn_low_emit(l, "Gather", in, 2, &a, 1);
}

/* The list, or one of as many zeros where its elements have no shape yet. */
static int32_t shaped(const tn_lowering *l, uint32_t list, const int64_t *dims, int32_t rank) {
  const tn_tensor *t = tn_low_type(l, list);
  int64_t shape[TN_MAX_RANK] = {t->rank > 0 ? t->shape[0] : 0};
  bool same = t->rank == rank + 1;
  for (int32_t k = 0; k < rank; k++) {
    shape[k + 1] = dims[k];
    same = same && t->shape[k + 1] == dims[k];
  }
  return same ? tn_low_in(l, list) : lo_zeros(l, t->dtype, rank + 1, shape);
}

/* May elements of this shape go into the list? */
static tn_status check_item(const tn_lowering *l, uint32_t list, const int64_t *dims,
                            int32_t rank) {
  const tn_tensor *t = tn_low_type(l, list);
  if (t->rank < 1 || rank >= TN_MAX_RANK) return tn_low_unsupported(l, "a list of this rank");
  bool same = t->rank == rank + 1;
  for (int32_t k = 0; k < rank && same; k++) same = t->shape[k + 1] == dims[k];
  return same || !tn_elements(t) ? TN_OK
                                 : tn_low_unsupported(l, "a list of elements of several shapes");
}

/* The list, longer by zeros if the index lies behind its end. */
static int32_t lengthened(const tn_lowering *l, int32_t list, const tn_tensor *x, int32_t index,
                          int64_t length) {
  const int64_t one = 1;
  const int32_t wanted =
      tn_low_2(l, "Add", tn_low_reshape(l, index, 1, &one), tn_low_number(l, TN_I64, 1));
  const int32_t more =
      tn_low_2(l, "Max", tn_low_2(l, "Sub", wanted, tn_low_number(l, TN_I64, (double)length)),
               tn_low_number(l, TN_I64, 0));
  const int32_t dims[] = {more, tn_low_ints_const(l, x->shape, x->rank)};
  const int32_t parts[] = {
      list, tn_low_2(l, "Expand", tn_low_number(l, x->dtype, 0), lo_concat(l, dims, 2, 0))};
  return lo_concat(l, parts, 2, 0);
}

static tn_status set_item(const tn_lowering *l, uint32_t list, uint32_t index, uint32_t value) {
  const tn_tensor *x = tn_low_type(l, value);
  const int64_t one[] = {1, 1};
  const tn_status s = check_item(l, list, x->shape, x->rank);
  if (s) return s;
  int32_t base = shaped(l, list, x->shape, x->rank);
  if (tn_low_int(l, "resize_if_index_out_of_bounds", 0))
    base = lengthened(l, base, x, tn_low_in_i64(l, index), tn_low_type(l, list)->shape[0]);
  const int32_t in[] = {base, tn_low_reshape(l, tn_low_in_i64(l, index), 2, one),
                        lo_unsqueeze(l, tn_low_in(l, value), 0)};
  return tn_low_done(l, tn_low_emit(l, "ScatterND", in, 3, NULL, 0));
}

/* One item, or those of several indices. */
tn_status tf_list_get_item(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, item(&l, 0, 1));
}

tn_status tf_array_read(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, item(&l, 2, 1));
}

tn_status tf_list_set_item(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return set_item(&l, 0, 1, 2);
}

tn_status tf_array_write(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return set_item(&l, 3, 1, 2);
}

/* Values [n, ...] at n places. */
tn_status tf_array_scatter(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 2);
  if (x->rank < 1) return tn_low_unsupported(&l, "values without dims");
  const tn_status s = check_item(&l, 3, x->shape + 1, x->rank - 1);
  if (s) return s;
  const int32_t in[] = {shaped(&l, 3, x->shape + 1, x->rank - 1),
                        lo_unsqueeze(&l, tn_low_in_i64(&l, 1), -1), tn_low_in(&l, 2)};
  return tn_low_done(&l, tn_low_emit(&l, "ScatterND", in, 3, NULL, 0));
}

tn_status tf_list_push_back(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 1);
  const tn_status s = check_item(&l, 0, x->shape, x->rank);
  if (s) return s;
  const int32_t parts[] = {shaped(&l, 0, x->shape, x->rank), lo_unsqueeze(&l, tn_low_in(&l, 1), 0)};
  return tn_low_done(&l, lo_concat(&l, parts, 2, 0));
}

tn_status tf_list_pop_back(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  if (t->rank < 1 || t->shape[0] < 1) return tn_low_unsupported(&l, "taking from an empty list");
  const int64_t n = t->shape[0];
  const int32_t out[] = {lo_slice(&l, tn_low_in(&l, 0), 0, 0, n - 1),
                         lo_squeeze(&l, lo_slice(&l, tn_low_in(&l, 0), 0, n - 1, n), 0)};
  return tn_low_done_many(&l, out, call->n_outputs);
}

/* ---- whole lists ---- */

/* As one tensor; what is known of elements gives those their shape that were never set. */
tn_status tf_list_stack(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, tn_low_1(&l, "Identity", tn_low_in(&l, 0)));
}

static int32_t length(const tn_lowering *l, uint32_t list) {
  const int32_t x = tn_low_in(l, list);
  const tn_attr attrs[] = {tn_attr_int("start", 0), tn_attr_int("end", 1)};
  const int32_t n = lo_squeeze(l, tn_low_emit(l, "Shape", &x, 1, attrs, 2), 0);
  return tn_low_cast(l, n, TN_I32);
}

tn_status tf_list_length(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, length(&l, 0));
}

tn_status tf_array_size(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, length(&l, 1));
}

/* [n, m, ...] as [n * m, ...], and the m of each. */
static tn_status joined(const tn_lowering *l, uint32_t list) {
  const tn_tensor *t = tn_low_type(l, list);
  int64_t shape[TN_MAX_RANK], rows;
  if (t->rank < 2) return tn_low_unsupported(l, "joining elements without dims");
  if (tn_mul_i64(t->shape[0], t->shape[1], &rows)) return TN_ERR_OVERFLOW;
  shape[0] = rows;
  for (int32_t k = 2; k < t->rank; k++) shape[k - 1] = t->shape[k];
  const int32_t out[] = {tn_low_reshape(l, tn_low_in(l, list), t->rank - 1, shape),
                         tn_low_2(l, "Expand", tn_low_number(l, TN_I64, (double)t->shape[1]),
                                  tn_low_ints_const(l, &t->shape[0], 1))};
  return tn_low_done_many(l, out, l->call->n_outputs);
}

tn_status tf_list_concat(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return joined(&l, 0);
}

tn_status tf_array_concat(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return joined(&l, 1);
}

tn_status tf_list_resize(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  int64_t size = 0, n, shape[TN_MAX_RANK];
  const tn_status s = lo_const_ints(&l, 1, &size, 1, &n);
  if (s) return s;
  if (t->rank < 1 || size < 0) return tn_low_unsupported(&l, "a list of this size");
  if (size <= t->shape[0]) return tn_low_done(&l, lo_slice(&l, tn_low_in(&l, 0), 0, 0, size));
  for (int32_t k = 0; k < t->rank; k++) shape[k] = t->shape[k];
  shape[0] = size - t->shape[0];
  const int32_t parts[] = {tn_low_in(&l, 0), lo_zeros(&l, t->dtype, t->rank, shape)};
  return tn_low_done(&l, lo_concat(&l, parts, 2, 0));
}
