/* What a list in a .pb file holds, found out before its items are read: empty lists say it by their
 * elem_type only. */
#include "value.h"

/* dtype of a tensor message. */
static tn_status tensor_dtype(const value_reader *v, onnx_span message, uint32_t *out) {
  onnx_field f;
  int32_t more;
  int64_t data_type = 0;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(&v->r, &message, &f)) != 0) {
    if (more < 0) return more;
    if (f.number == 2) s = onnx_int(&v->r, &f, &data_type); /* data_type */
  }
  *out = tn_dtype_of_onnx(data_type);
  return s;
}

/* That of its values. */
static tn_status sparse_dtype(const value_reader *v, onnx_span message, uint32_t *out) {
  onnx_field f;
  int32_t more;
  onnx_span values = {NULL, NULL};
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(&v->r, &message, &f)) != 0) {
    if (more < 0) return more;
    if (f.number == 1) s = onnx_bytes(&v->r, &f, &values); /* values */
  }
  return s ? s : tensor_dtype(v, values, out);
}

static tn_status item_type(const value_reader *v, const onnx_field *f, int64_t item, int32_t depth,
                           tn_tensor *out) {
  onnx_span message;
  tn_status s = onnx_bytes(&v->r, f, &message);
  if (s) return s;
  if (item == ITEM_TENSOR) return tensor_dtype(v, message, &out->dtype);
  if (item == ITEM_SPARSE) return sparse_dtype(v, message, &out->dtype);
  return onnx_list_type(v, message, onnx_item_kind(item), depth + 1, out);
}

/* elem_type or key_type, and the type of the first item. The values of a map are a SequenceProto,
 * whose items count. */
static tn_status read_type(const value_reader *v, onnx_span message, uint32_t kind, int32_t depth,
                           int64_t *number, tn_tensor *items, bool *has_item) {
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  *has_item = false;
  while (!s && (more = onnx_next(&v->r, &message, &f)) != 0) {
    if (more < 0) return more;
    if (f.number == 2) s = onnx_int(&v->r, &f, number); /* elem_type, key_type */
    bool is_item = kind == TN_KIND_MAP ? f.number == 5 : f.number >= 3 && f.number <= 7;
    if (!is_item || *has_item) continue;
    *has_item = true;
    s = item_type(v, &f, kind == TN_KIND_MAP ? ITEM_SEQUENCE : f.number - 2, depth, items);
  }
  return s;
}

tn_status onnx_list_type(const value_reader *v, onnx_span message, uint32_t kind, int32_t depth,
                         tn_tensor *out) {
  if (depth >= ONNX_MAX_LIST_DEPTH)
    return onnx_fail(&v->r, TN_ERR_OVERFLOW, message.p, "lists are nested more than %d deep",
                     ONNX_MAX_LIST_DEPTH);
  tn_tensor items = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
  int64_t number = 0;
  bool has_item;
  tn_status s = read_type(v, message, kind, depth, &number, &items, &has_item);
  *out = tn_tensor_make(items.dtype, TN_RANK_UNKNOWN, NULL, NULL);
  out->kind = kind;
  if (kind == TN_KIND_MAP)
    out->elements = (items.elements & 0xffffff) | TN_ELEMENTS_KEY(tn_dtype_of_onnx(number));
  else
    out->elements = TN_ELEMENTS(has_item ? items.kind : onnx_item_kind(number), items.elements);
  return s;
}
