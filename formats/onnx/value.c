/* Files of one value (.pb): TensorProto, SequenceProto, OptionalProto, MapProto, as events of a
 * tn_value_sink. The file does not say which of them it holds; the caller knows from the model. */
#include "value.h"

tn_status onnx_give_tensor(value_reader *v, tn_arena *arena, onnx_span name, tn_tensor *tensor) {
  const char *text = onnx_str(arena, name);
  if (!text) return onnx_no_memory(&v->r);
  tn_status s = onnx_tensor_align(&v->r, arena, tensor);
  return s ? s : v->out->tensor(v->out->ctx, text, tensor);
}

static tn_status give_tensor(value_reader *v, onnx_span message, bool sparse) {
  tn_arena arena;
  tn_tensor tensor;
  onnx_span name = {NULL, NULL};
  tn_arena_init(&arena, &v->r.allocator);
  tn_status s = sparse ? onnx_sparse_read(&v->r, message, &arena, &tensor, &name)
                       : onnx_tensor_read(&v->r, message, &arena, &tensor, &name);
  if (!s) s = onnx_give_tensor(v, &arena, name, &tensor);
  tn_arena_clear(&arena);
  return s;
}

static tn_status give_item(value_reader *v, onnx_span message, int64_t item, int32_t depth) {
  if (item == ITEM_MAP) return onnx_give_map(v, message, depth);
  const uint32_t kind = onnx_item_kind(item);
  return kind == TN_KIND_TENSOR ? give_tensor(v, message, item == ITEM_SPARSE)
                                : onnx_give_list(v, message, kind, depth);
}

/* Name and elem_type of a SequenceProto or OptionalProto, and how many items it has. */
static tn_status open_list(const value_reader *v, onnx_span message, onnx_span *out_name,
                           int64_t *out_item, int64_t *out_n) {
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(&v->r, &message, &f)) != 0) {
    if (more < 0)
      s = more;
    else if (f.number == 1)
      s = onnx_text(&v->r, &f, out_name); /* name */
    else if (f.number == 2)
      s = onnx_int(&v->r, &f, out_item); /* elem_type */
    else if (f.number >= 3 && f.number <= 7)
      ++*out_n; /* tensor_values ... optional_values */
  }
  return s;
}

static tn_status give_items(value_reader *v, onnx_span message, int64_t item, int32_t depth) {
  onnx_field f;
  tn_status s = TN_OK;
  while (!s && onnx_next(&v->r, &message, &f) > 0) { /* cannot fail: open_list has been through */
    onnx_span part;
    if (f.number < 3 || f.number > 7) continue;
    if (item != f.number - 2)
      return onnx_fail(&v->r, TN_ERR_INVALID, f.at,
                       "the list says that its items are of kind %lld, but one is of kind %u",
                       (long long)item, f.number - 2);
    s = onnx_bytes(&v->r, &f, &part);
    if (!s) s = give_item(v, part, item, depth + 1);
  }
  return s;
}

tn_status onnx_give_list(value_reader *v, onnx_span message, uint32_t kind, int32_t depth) {
  tn_tensor type;
  onnx_span name = {NULL, NULL};
  int64_t item = ITEM_UNDEFINED, n = 0;
  tn_status s = onnx_list_type(v, message, kind, depth, &type);
  if (!s) s = open_list(v, message, &name, &item, &n);
  if (!s && kind == TN_KIND_OPTIONAL && n != (item != ITEM_UNDEFINED))
    s = onnx_fail(&v->r, TN_ERR_INVALID, message.p,
                  "the optional holds %lld values, but its elem_type is %lld", (long long)n,
                  (long long)item);
  if (s) return s;
  tn_arena arena;
  tn_arena_init(&arena, &v->r.allocator);
  const char *text = onnx_str(&arena, name);
  s = text ? v->out->begin(v->out->ctx, text, &type) : onnx_no_memory(&v->r);
  tn_arena_clear(&arena);
  if (!s) s = give_items(v, message, item, depth);
  return s ? s : v->out->end(v->out->ctx);
}

tn_status onnx_read_value(const tn_source *source, uint32_t kind, const tn_value_sink *out) {
  value_reader v = {.out = out};
  onnx_reader_init(&v.r, source);
  const onnx_span message = {source->data, source->data + source->size};
  switch (kind) {
    case TN_KIND_TENSOR: return give_tensor(&v, message, false);
    case TN_KIND_SEQUENCE:
    case TN_KIND_OPTIONAL: return onnx_give_list(&v, message, kind, 0);
    case TN_KIND_MAP: return onnx_give_map(&v, message, 0);
    default:
      return onnx_fail(&v.r, TN_ERR_INVALID, NULL, "there is no kind of value with number %u",
                       kind);
  }
}
