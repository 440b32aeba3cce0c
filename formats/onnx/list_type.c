/* TypeProto of sequences, optionals and maps. */
#include "reader.h"

tn_status onnx_list_type_read(const onnx_type_reader *t, onnx_span message, uint32_t kind,
                              int32_t depth, tn_tensor *out) {
  const uint32_t number =
      kind == TN_KIND_MAP ? 2 : 1; /* elem_type; Map has key_type first, then value_type */
  tn_tensor items = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
  uint32_t key = TN_NONE;
  onnx_field f;
  int32_t more;
  tn_status s = onnx_want_feature(t->r, TN_FEATURE_DYNAMIC_VALUES, message.p, ONNX_LISTS);
  while (!s && (more = onnx_next(t->r, &message, &f)) != 0) {
    onnx_span type;
    int64_t data_type;
    if (more < 0) return more;
    if (f.number == number && !(s = onnx_bytes(t->r, &f, &type)))
      s = onnx_any_type_read(t, type, depth + 1, &items);
    else if (f.number == 1 && kind == TN_KIND_MAP && !(s = onnx_int(t->r, &f, &data_type)))
      key = tn_dtype_of_onnx(data_type);
  }
  out->kind = kind;
  out->dtype = items.dtype;
  out->elements = TN_ELEMENTS(items.kind, items.elements);
  if (key) out->elements = (out->elements & 0xffffff) | TN_ELEMENTS_KEY(key);
  return s;
}
