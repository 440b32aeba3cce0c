/* Element types, TypeProto and ValueInfoProto: what is known of values before anything runs. */
#include "reader.h"

tn_status onnx_need_dtype(const onnx_reader *r, int64_t data_type, const uint8_t *at,
                          uint32_t *out_dtype) {
  *out_dtype = tn_dtype_of_onnx(data_type);
  if (*out_dtype != TN_NONE) return TN_OK;
  if (data_type == 0) return onnx_fail(r, TN_ERR_INVALID, at, "there is no element type");
  return onnx_fail(r, TN_ERR_UNSUPPORTED, at, "element type %lld is not supported",
                   (long long)data_type);
}

tn_status onnx_entry_read(const onnx_reader *r, onnx_span message, onnx_span *out_key,
                          onnx_span *out_text) {
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  *out_key = *out_text = (onnx_span){NULL, NULL};
  while (!s && (more = onnx_next(r, &message, &f)) != 0) {
    if (more < 0)
      s = more;
    else if (f.number == 1)
      s = onnx_text(r, &f, out_key); /* key */
    else if (f.number == 2)
      s = onnx_bytes(r, &f, out_text); /* value */
  }
  return s;
}

/* ---- TypeProto ---- */

/* TensorShapeProto.Dimension */
static tn_status read_dim(const onnx_type_reader *t, onnx_span message, int64_t *out_size,
                          onnx_span *out_name) {
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  *out_size = TN_DIM_UNKNOWN;
  while (!s && (more = onnx_next(t->r, &message, &f)) != 0) {
    if (more < 0)
      s = more;
    else if (f.number == 1)
      s = onnx_int(t->r, &f, out_size); /* dim_value */
    else if (f.number == 2)
      s = onnx_text(t->r, &f, out_name); /* dim_param */
  }
  if (*out_size < 0) *out_size = TN_DIM_UNKNOWN; /* some exporters write -1 */
  return s;
}

/* TensorShapeProto */
static tn_status read_shape(const onnx_type_reader *t, onnx_span message, tn_tensor *out) {
  onnx_field f;
  int32_t more;
  out->rank = 0;
  while ((more = onnx_next(t->r, &message, &f)) > 0) {
    if (f.number != 1) continue; /* dim */
    if (out->rank == TN_MAX_RANK) {
      out->rank = TN_RANK_UNKNOWN;
      return t->strict ? onnx_fail(t->r, TN_ERR_UNSUPPORTED, f.at,
                                   "the shape has more than %d dims", TN_MAX_RANK)
                       : TN_OK;
    }
    onnx_span dim, name = {NULL, NULL};
    tn_status s = onnx_bytes(t->r, &f, &dim);
    if (!s) s = read_dim(t, dim, &out->shape[out->rank], &name);
    if (s) return s;
    if (t->names) t->names->name[out->rank] = name;
    out->rank++;
  }
  return more;
}

/* TypeProto.Tensor */
static tn_status read_tensor_type(const onnx_type_reader *t, onnx_span message, tn_tensor *out) {
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(t->r, &message, &f)) != 0) {
    int64_t data_type = 0;
    onnx_span shape;
    if (more < 0) return more;
    if (f.number == 1 && !(s = onnx_int(t->r, &f, &data_type)) && data_type != 0) { /* elem_type */
      if (t->strict)
        s = onnx_need_dtype(t->r, data_type, f.at, &out->dtype);
      else
        out->dtype = tn_dtype_of_onnx(data_type);
    }
    if (f.number == 2 && !(s = onnx_bytes(t->r, &f, &shape)))
      s = read_shape(t, shape, out); /* shape */
  }
  return s;
}

tn_status onnx_any_type_read(const onnx_type_reader *t, onnx_span message, int32_t depth,
                             tn_tensor *out) {
  if (depth >= TN_ELEMENTS_DEPTH)
    return onnx_fail(t->r, TN_ERR_UNSUPPORTED, message.p, "types are nested more than %d deep",
                     TN_ELEMENTS_DEPTH);
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(t->r, &message, &f)) != 0) {
    if (more < 0) return more;
    if (f.number > 9 || f.number == 6) continue; /* denotation */
    onnx_span type;
    s = onnx_bytes(t->r, &f, &type);
    if (s) return s;
    *out =
        tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL); /* a oneof: the last member counts */
    switch (f.number) {
      case 1: s = read_tensor_type(t, type, out); break;
      case 4: s = onnx_list_type_read(t, type, TN_KIND_SEQUENCE, depth, out); break;
      case 5: s = onnx_list_type_read(t, type, TN_KIND_MAP, depth, out); break;
      case 9: s = onnx_list_type_read(t, type, TN_KIND_OPTIONAL, depth, out); break;
      case 7:
      case 8:
        if (t->strict)
          s = onnx_fail(t->r, TN_ERR_UNSUPPORTED, f.at, "%s types are not supported",
                        f.number == 7 ? "opaque" : "sparse tensor");
        break;
      default: break;
    }
  }
  return s;
}

tn_status onnx_type_read(const onnx_reader *r, onnx_span message, bool strict, tn_tensor *out,
                         onnx_dim_names *names) {
  onnx_type_reader t = {r, strict, names};
  *out = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
  tn_status s = onnx_any_type_read(&t, message, 0, out);
  if (out->kind != TN_KIND_TENSOR && names) *names = (onnx_dim_names){0}; /* those of the items */
  return s;
}

tn_status onnx_value_info_read(onnx_reader *r, onnx_span message, bool strict, onnx_span *out_name,
                               tn_tensor *out, onnx_dim_names *names) {
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  onnx_span type = {NULL, NULL};
  *out_name = (onnx_span){NULL, NULL};
  *names = (onnx_dim_names){0};
  while (!s && (more = onnx_next(r, &message, &f)) != 0) {
    if (more < 0)
      s = more;
    else if (f.number == 1)
      s = onnx_text(r, &f, out_name); /* name */
    else if (f.number == 2)
      s = onnx_bytes(r, &f, &type); /* type */
  }
  if (s) return s;
  const onnx_where where = {.up = r->where, .what = "value", .name = *out_name};
  r->where = &where;
  s = onnx_type_read(r, type, strict, out, names);
  r->where = where.up;
  return s;
}
