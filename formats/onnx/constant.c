/* Constant nodes: all forms of their one attribute, as a tensor. */
#include "reader.h"

/* A tensor of rank 0, or rank 1 with n elements. */
static tn_tensor list(uint32_t dtype, int32_t rank, int64_t n, const void *data) {
  union {
    const void *in;
    void *out;
  } cast = {data};
  return tn_tensor_make(dtype, rank, &n, cast.out);
}

static tn_status from_floats(const onnx_reader *r, const double *from, int32_t rank, int64_t n,
                             tn_arena *arena, tn_tensor *out) {
  float *to = tn_arena_alloc(arena, (uint64_t)n * sizeof *to);
  if (!to) return onnx_no_memory(r);
  for (int64_t k = 0; k < n; k++) to[k] = (float)from[k];
  *out = list(TN_F32, rank, n, to);
  return TN_OK;
}

tn_status onnx_constant_read(onnx_reader *r, const tn_node *node, tn_arena *arena, tn_tensor *out,
                             bool *out_done) {
  *out_done = false;
  if (node->n_attrs != 1 || node->n_outputs != 1)
    return onnx_fail(r, TN_ERR_INVALID, NULL,
                     "a Constant needs one attribute and one output, but has %u and %u",
                     node->n_attrs, node->n_outputs);
  const tn_attr *a = node->attrs[0];
  *out_done = a->kind != TN_ATTR_REF;
  switch (a->kind) {
    case TN_ATTR_REF: return TN_OK;
    case TN_ATTR_TENSOR: *out = *a->tensors.data[0]; return TN_OK;
    case TN_ATTR_INT: *out = list(TN_I64, 0, 1, &a->i); return TN_OK;
    case TN_ATTR_INTS: *out = list(TN_I64, 1, a->ints.size, a->ints.data); return TN_OK;
    case TN_ATTR_STR: *out = list(TN_STRING, 0, 1, &a->s); return TN_OK;
    case TN_ATTR_STRS: *out = list(TN_STRING, 1, a->strs.size, a->strs.data); return TN_OK;
    case TN_ATTR_FLOAT: return from_floats(r, &a->f, 0, 1, arena, out);
    case TN_ATTR_FLOATS: return from_floats(r, a->floats.data, 1, a->floats.size, arena, out);
    default:
      return onnx_fail(r, TN_ERR_INVALID, NULL,
                       "attribute '%s' is of a kind that a Constant cannot have", a->name);
  }
}
