/* Reading files of one value (.pb): what value.c, value_type.c and value_map.c share. */
#ifndef TN_FORMATS_ONNX_VALUE_H
#define TN_FORMATS_ONNX_VALUE_H

#include "reader.h"

/* What the items of a SequenceProto or OptionalProto are: its elem_type. Their field number is 2
 * more. */
enum { ITEM_UNDEFINED, ITEM_TENSOR, ITEM_SPARSE, ITEM_SEQUENCE, ITEM_MAP, ITEM_OPTIONAL };

typedef struct value_reader {
  onnx_reader r;
  const tn_value_sink *out;
} value_reader;

static inline uint32_t onnx_item_kind(int64_t item) {
  switch (item) {
    case ITEM_SEQUENCE: return TN_KIND_SEQUENCE;
    case ITEM_MAP: return TN_KIND_MAP;
    case ITEM_OPTIONAL: return TN_KIND_OPTIONAL;
    default: return TN_KIND_TENSOR;
  }
}

/* The type of a list, as far as elem_type, key_type and the first item tell. depth: of lists around
 * it. */
tn_status onnx_list_type(const value_reader *v, onnx_span message, uint32_t kind, int32_t depth,
                         tn_tensor *out);
/* Hands a tensor, aligned, to the sink. */
tn_status onnx_give_tensor(value_reader *v, tn_arena *arena, onnx_span name, tn_tensor *tensor);
/* SequenceProto or OptionalProto, with begin() and end(). */
tn_status onnx_give_list(value_reader *v, onnx_span message, uint32_t kind, int32_t depth);
/* MapProto, with begin() and end(). */
tn_status onnx_give_map(value_reader *v, onnx_span message, int32_t depth);

#endif
