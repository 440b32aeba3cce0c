/* Tensors and types in the file. Elements are written as raw data, in plain order whatever layout
 * they have. */
#include "writer.h"

const char *onnx_layout_text(tn_layout layout) {
  if (layout == TN_PLAIN) return "plain";
  if (layout == TN_CHANNELS_LAST) return "channels_last";
  switch (TN_LAYOUT_BLOCK(layout)) {
    case 4: return "blocked4";
    case 8: return "blocked8";
    case 16: return "blocked16";
    case 32: return "blocked32";
    default: return "unknown";
  }
}

/* The elements in row-major order; a copy unless they stand so already. NULL: no memory. */
static const void *plain_elements(onnx_writer *w, const tn_tensor *t, int64_t n) {
  const int64_t width = tn_dtype(t->dtype)->bits / 8;
  if (t->layout == TN_PLAIN || width == 0) return t->data;
  char *to = tn_arena_alloc(&w->arena, (uint64_t)(n * width));
  for (int64_t k = 0; to && k < n; k++)
    memcpy(to + k * width, (const char *)t->data + tn_storage_index(t, k) * width, (size_t)width);
  return to;
}

/* The same as raw data of the file. */
static const void *raw_elements(onnx_writer *w, const tn_tensor *t, int64_t n, int64_t bytes) {
  const void *plain = plain_elements(w, t, n);
  if (!onnx_is_six_bits(t->dtype) || !plain) return plain;
  uint8_t *to = tn_arena_alloc(&w->arena, (uint64_t)bytes);
  if (to) onnx_six_bits_pack(plain, n, to);
  return to;
}

void onnx_put_tensor(onnx_writer *w, uint32_t number, const char *name, const tn_tensor *t) {
  onnx_put *p = &w->out;
  const onnx_mark tensor = onnx_put_begin(p, number);
  const int64_t n = tn_elements(t), bytes = onnx_raw_bytes(t);
  for (int32_t k = 0; k < t->rank; k++) onnx_put_int(p, 1, t->shape[k]); /* dims */
  onnx_put_int(p, 2, tn_onnx_of_dtype(t->dtype));                        /* data_type */
  if (t->dtype == TN_STRING) {
    const tn_str *strs = t->data;
    for (int64_t k = 0; k < n; k++)
      onnx_put_bytes(p, 6, strs[k].data, strs[k].size); /* string_data */
  }
  if (*name) onnx_put_str(p, 8, name); /* name */
  if (t->dtype != TN_STRING) {
    const void *data = raw_elements(w, t, n, bytes);
    if (bytes < 0 || (bytes > 0 && !data))
      (void)onnx_put_fail(p, bytes < 0 ? TN_ERR_INTERNAL : TN_ERR_MEMORY,
                          "constant '%.80s' has no elements", name);
    if (!onnx_put_outside(w, data, bytes)) onnx_put_data(p, 9, data, bytes); /* raw_data */
  }
  onnx_put_end(p, tensor);
}

/* ---- Types ---- */

static void put_shape(onnx_put *p, const tn_tensor *t, const char *const *dim_names) {
  const onnx_mark shape = onnx_put_begin(p, 2);
  for (int32_t k = 0; k < t->rank; k++) {
    const onnx_mark dim = onnx_put_begin(p, 1);
    if (t->shape[k] >= 0)
      onnx_put_int(p, 1, t->shape[k]); /* dim_value */
    else if (dim_names && dim_names[k])
      onnx_put_str(p, 2, dim_names[k]); /* dim_param */
    onnx_put_end(p, dim);
  }
  onnx_put_end(p, shape);
}

/* TypeProto of something whose kind, and that of its items, `elements` says; t: the tensor in the
 * middle of it. */
static void put_type(onnx_put *p, uint32_t number, uint32_t kind, uint32_t elements,
                     const tn_tensor *t, const char *const *dim_names) {
  static const uint32_t members[] = {1, 4, 9,
                                     5}; /* tensor_type, sequence_type, optional_type, map_type */
  const onnx_mark type = onnx_put_begin(p, number), member = onnx_put_begin(p, members[kind & 3]);
  if (kind == TN_KIND_TENSOR) {
    onnx_put_int(p, 1, tn_onnx_of_dtype(t->dtype)); /* elem_type */
    if (t->rank >= 0 && t->kind == TN_KIND_TENSOR) put_shape(p, t, dim_names);
  } else {
    uint32_t key = elements >> 24, inner = elements & 0xffffff;
    if (kind == TN_KIND_MAP) onnx_put_int(p, 1, tn_onnx_of_dtype(key ? key : TN_I64)); /* key */
    if (kind != TN_KIND_MAP) inner |= TN_ELEMENTS_KEY(key);
    uint32_t rest = (inner & 0xffffff) >> 4 | (inner & UINT32_C(0xff000000));
    put_type(p, kind == TN_KIND_MAP ? 2 : 1, inner & 15, rest, t, NULL); /* value_type, elem_type */
  }
  onnx_put_end(p, member);
  onnx_put_end(p, type);
}

void onnx_put_type(onnx_writer *w, uint32_t number, const tn_tensor *t,
                   const char *const *dim_names) {
  put_type(&w->out, number, t->kind, t->elements, t, dim_names);
}

void onnx_put_value_info(onnx_writer *w, uint32_t number, onnx_scope *s, int32_t value) {
  onnx_put_value_as(w, number, s, value, w->api->value_type(s->g, value));
}

void onnx_put_value_as(onnx_writer *w, uint32_t number, onnx_scope *s, int32_t value,
                       const tn_tensor *t) {
  const char *dim_names[TN_MAX_RANK] = {NULL};
  for (int32_t k = 0; k < t->rank; k++) dim_names[k] = w->api->value_dim_name(s->g, value, k);
  const onnx_mark info = onnx_put_begin(&w->out, number);
  onnx_put_str(&w->out, 1, onnx_name(w, s, value)); /* name */
  bool known = t->dtype != TN_NONE || t->rank >= 0 || t->kind != TN_KIND_TENSOR;
  if (known) onnx_put_type(w, 2, t, dim_names); /* type */
  if (t->layout != TN_PLAIN)
    onnx_put_entry(&w->out, 4, "tenon.layout", onnx_layout_text(t->layout));
  onnx_put_end(&w->out, info);
}
