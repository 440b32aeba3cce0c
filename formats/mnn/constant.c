/* Constants: elements in the FlatBuffer, used where they lie. */
#include "nodes.h"

uint32_t mnn_dtype(int64_t type) {
  switch (type) {
    case 1:
    case 2: return TN_F32;
    case 3:
    case 9:
    case 10: return TN_I32; /* of truth values, too */
    case 4: return TN_U8;
    case 6: return TN_I8;
    case 19: return TN_F16;
    default: return TN_NONE;
  }
}

static int32_t set_const(mnn_reader *r, int32_t id, const tn_tensor *data, bool copy) {
  if (id == TN_NO_ID || r->status) return TN_NO_ID;
  const tn_status s = r->api->value_set_const(r->g, id, data, copy);
  if (s) r->status = mnn_fail(r, s, "it cannot be a constant");
  return s ? TN_NO_ID : id;
}

int32_t mnn_constant(mnn_reader *r, int32_t id, mnn_span bytes, const tn_tensor *type) {
  tn_tensor data = *type;
  const int64_t size = tn_tensor_bytes(&data), n = tn_tensor_elements(&data);
  if (r->status || mnn_status(r)) return TN_NO_ID;
  if (size < 0 || (uint64_t)size != bytes.size) {
    r->status = mnn_fail(r, TN_ERR_INVALID, "has %llu bytes where its shape and type need %lld",
                         (unsigned long long)bytes.size, (long long)size);
    return TN_NO_ID;
  }
  data.data = tn_flat_data(bytes.data);
  const bool in_file =
      (bytes.data >= r->source->data && bytes.data < r->source->data + r->source->size) ||
      (r->beside_name && bytes.data >= r->beside.data &&
       bytes.data < r->beside.data + r->beside.size);
  return set_const(r, id, &data, !in_file || (n && (uintptr_t)data.data % (uint64_t)(size / n)));
}

static int32_t made(mnn_reader *r, const tn_tensor *data) {
  const int32_t id = r->api->value(r->g, NULL);
  if (id < 0 && !r->status) r->status = mnn_fail(r, id, "it needs one more value");
  return id < 0 ? TN_NO_ID : set_const(r, id, data, true);
}

int32_t mnn_number(mnn_reader *r, uint32_t dtype, double number) {
  float f = (float)number;
  int32_t i = dtype == TN_I32 ? (int32_t)number : 0;
  const tn_tensor t = tn_tensor_make(dtype, 0, NULL, dtype == TN_F32 ? (void *)&f : (void *)&i);
  return made(r, &t);
}

int32_t mnn_i64s(mnn_reader *r, const int64_t *data, int64_t n) {
  int64_t copy[2 * TN_MAX_RANK];
  if (n > 2 * TN_MAX_RANK) {
    if (!r->status) r->status = mnn_fail(r, TN_ERR_INVALID, "more than %d axes", TN_MAX_RANK);
    return TN_NO_ID;
  }
  for (int64_t k = 0; k < (n < 0 ? 1 : n); k++) copy[k] = data[k];
  const tn_tensor t = tn_tensor_make(TN_I64, n < 0 ? 0 : 1, &n, copy);
  return made(r, &t);
}

tn_status mnn_const(mnn_reader *r) {
  const int64_t number = tn_flat_int(&r->param, BLOB_TYPE, 4, 1);
  const uint32_t dtype = mnn_dtype(number);
  const tn_flat_vector dims = tn_flat_vec(&r->param, BLOB_DIMS, 4);
  tn_tensor type = {.head = TN_HEAD(tn_tensor), .dtype = dtype, .rank = (int32_t)dims.n};
  tn_flat_vector data = {0};
  if (dtype == TN_NONE || number == 9 || dims.n > TN_MAX_RANK)
    return mnn_fail(r, TN_ERR_UNSUPPORTED, "not supported: a constant of data type %lld, rank %llu",
                    (long long)number, (unsigned long long)dims.n);
  for (uint64_t k = 0; k < dims.n; k++) type.shape[k] = tn_flat_int_at(&dims, k);
  if (dtype == TN_F32) data = tn_flat_vec(&r->param, BLOB_FLOATS, 4);
  if (dtype == TN_I32) data = tn_flat_vec(&r->param, BLOB_INT32S, 4);
  if (dtype == TN_I8) data = tn_flat_vec(&r->param, BLOB_INT8S, 1);
  if (dtype == TN_U8 || dtype == TN_F16) data = tn_flat_vec(&r->param, BLOB_UINT8S, 1);
  const tn_flat_vector beside = tn_flat_vec(&r->param, BLOB_EXTERNAL, 8);
  mnn_span bytes = mnn_span_of(&data);
  if (beside.n && !data.n) mnn_beside(r, &beside, 0, &bytes);
  /* Halves are there to make the file smaller: MNN computes with f32. */
  const bool is_half = dtype == TN_F16;
  const int32_t id = is_half ? r->api->value(r->g, NULL) : mnn_out(r, 0),
                stored = mnn_constant(r, id, bytes, &type);
  mnn_set(r, 0, is_half ? mnn_cast(r, stored, TN_F32) : stored);
  if (!mnn_status(r)) r->values[tn_flat_int_at(&r->out, 0)].blob = r->param;
  return mnn_status(r);
}
