/* SparseTensorProto: values and where they stand, written out as a dense tensor. How far sparse
 * tensors may grow is limited for the whole file, so that a small file cannot ask for all memory.
 */
#include "reader.h"

typedef struct sparse {
  onnx_span message, values, indices;
  const uint8_t *at;
} sparse;

static tn_status open_sparse(const onnx_reader *r, onnx_span message, sparse *out) {
  *out = (sparse){.message = message, .at = message.p};
  onnx_field f;
  int32_t more;
  while ((more = onnx_next(r, &message, &f)) > 0) {
    tn_status s = TN_OK;
    if (f.number == 1) s = onnx_bytes(r, &f, &out->values);
    if (f.number == 2) s = onnx_bytes(r, &f, &out->indices);
    if (s) return s;
  }
  if (more < 0) return more;
  if (out->values.p && out->indices.p) return TN_OK;
  return onnx_fail(r, TN_ERR_INVALID, out->at, "the sparse tensor lacks values or indices");
}

static tn_status make_dense(onnx_reader *r, const sparse *sp, uint32_t dtype, tn_arena *arena,
                            tn_tensor *out) {
  int64_t rank;
  tn_status s = onnx_count(r, sp->message, 3, ONNX_VARINT, &rank); /* dims */
  if (s) return s;
  if (rank > TN_MAX_RANK)
    return onnx_fail(r, TN_ERR_UNSUPPORTED, sp->at, "the sparse tensor has %lld dims",
                     (long long)rank);
  *out = tn_tensor_make(dtype, 0, NULL, NULL);
  out->rank = (int32_t)rank;
  if ((s = onnx_gather(r, sp->message, 3, ONNX_VARINT, 8, out->shape))) return s;
  int64_t bytes = tn_bytes(out);
  if (bytes < 0)
    return onnx_fail(r, TN_ERR_INVALID, sp->at,
                     "the sparse tensor has a negative dim, or its size exceeds 64 bits");
  if (bytes > r->dense_left)
    return onnx_fail(r, TN_ERR_OVERFLOW, sp->at,
                     "the sparse tensor would take %lld bytes, out of proportion to the file",
                     (long long)bytes);
  r->dense_left -= bytes;
  out->data = tn_arena_alloc(arena, (uint64_t)bytes);
  return out->data ? TN_OK : onnx_no_memory(r);
}

/* Row-major place of element k; -1: outside. Indices are places already (rank 1) or rows of
 * coordinates (rank 2). */
static int64_t place_of(const tn_tensor *dense, const tn_tensor *indices, int64_t k) {
  const char *data = indices->data;
  int64_t place = 0, x;
  if (indices->rank == 1) {
    memcpy(&place, data + k * 8, 8);
    return place < tn_elements(dense) ? place : -1;
  }
  for (int32_t d = 0; d < dense->rank; d++) {
    memcpy(&x, data + (k * dense->rank + d) * 8, 8);
    if (x < 0 || x >= dense->shape[d]) return -1;
    place = place * dense->shape[d] + x;
  }
  return place;
}

static tn_status scatter(const onnx_reader *r, const sparse *sp, const tn_tensor *values,
                         const tn_tensor *indices, tn_tensor *dense) {
  const int64_t width = tn_dtype(values->dtype)->bits / 8, n = tn_elements(values);
  bool coordinates = indices->rank == 2 && indices->shape[1] == dense->rank;
  if (values->rank != 1 || indices->dtype != TN_I64 || !(indices->rank == 1 || coordinates) ||
      indices->shape[0] != n)
    return onnx_fail(r, TN_ERR_INVALID, sp->at,
                     "values and indices of the sparse tensor do not fit together");
  for (int64_t k = 0; k < n; k++) {
    int64_t place = place_of(dense, indices, k);
    if (place < 0)
      return onnx_fail(r, TN_ERR_INVALID, sp->at,
                       "index %lld of the sparse tensor lies outside its shape", (long long)k);
    memcpy((char *)dense->data + place * width, (const char *)values->data + k * width,
           (size_t)width);
  }
  return TN_OK;
}

tn_status onnx_sparse_read(onnx_reader *r, onnx_span message, tn_arena *arena, tn_tensor *out,
                           onnx_span *out_name) {
  sparse sp;
  tn_tensor values, indices;
  tn_status s = onnx_want_feature(r, TN_FEATURE_SPARSE_WEIGHTS, message.p, ONNX_SPARSE_WEIGHTS);
  if (!s) s = open_sparse(r, message, &sp);
  if (!s) s = onnx_tensor_read(r, sp.values, arena, &values, out_name);
  if (!s) s = onnx_tensor_read(r, sp.indices, arena, &indices, NULL);
  if (!s && (values.dtype == TN_STRING || tn_dtype(values.dtype)->bits < 8))
    s = onnx_fail(r, TN_ERR_UNSUPPORTED, sp.at, "sparse tensors of %s are not supported",
                  tn_dtype(values.dtype)->name);
  if (!s) s = make_dense(r, &sp, values.dtype, arena, out);
  return s ? s : scatter(r, &sp, &values, &indices, out);
}
