/* Attributes of nodes: asked for by name, or turned into those of Tenon as a row says. */
#include "reader.h"

#include "tenon/kit/onnx_dtype.h"
#include "tenon/kit/text.h"

const tn_proto_message *tf_attr(const tf_node *n, const char *name) {
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(n->m, "attr", v));)
    if (tn_str_is(tn_proto_str(v->message, "key"), name)) return tn_proto_sub(v->message, "value");
  return NULL;
}

int64_t tf_attr_int(const tf_node *n, const char *name, int64_t missing) {
  const tn_proto_message *m = tf_attr(n, name);
  if (!m || !m->first) return missing;
  return m->first->field->kind == TN_FIELD_INT ? m->first->i : missing;
}

tn_str tf_attr_str(const tf_node *n, const char *name) {
  return tn_proto_str(tf_attr(n, name), "s");
}

const char *tf_attr_func(tf_reader *r, const tf_node *n, const char *name) {
  const tn_str text = tn_proto_str(tn_proto_sub(tf_attr(n, name), "func"), "name");
  return text.size ? tf_text(r, text) : NULL;
}

int64_t tf_attr_count(const tf_node *n, const char *name) {
  const tn_proto_message *list = tn_proto_sub(tf_attr(n, name), "list");
  int64_t count = 0;
  if (!list) return -1;
  for (const tn_proto_value *v = list->first; v; v = v->next) count++;
  return count;
}

/* ---- as Tenon has them ---- */

/* Types as TFLite numbers them. */
static int64_t code_of_tflite(uint32_t dtype) {
  static const uint32_t codes[] = {TN_F32,    TN_F16,  TN_I32, TN_U8,  TN_I64,
                                   TN_STRING, TN_BOOL, TN_I16, TN_C64, TN_I8};
  for (int64_t k = 0; k < (int64_t)(sizeof codes / sizeof *codes); k++)
    if (codes[k] == dtype) return k;
  return -1;
}

typedef struct maker {
  tf_reader *r;
  const tf_node *n;
  bool codes_of_tflite;
} maker;

static tn_status type_of(const maker *m, int64_t type, int64_t *out) {
  const uint32_t dtype = tf_dtype(type);
  if (dtype == TN_NONE)
    return tf_node_fail(m->r, m->n, TN_ERR_UNSUPPORTED, "not supported: values of type %lld",
                        (long long)type);
  *out = m->codes_of_tflite ? code_of_tflite(dtype) : tn_onnx_of_dtype(dtype);
  return TN_OK;
}

static tn_status set_shape(const maker *m, const tn_proto_message *shape, tn_attr *out) {
  tn_tensor t = {.head = TN_HEAD(tn_tensor)};
  const tn_status s = tf_shape(m->r, shape, &t);
  if (s || t.rank < 0) return s;
  int64_t *dims = tn_arena_alloc(&m->r->arena, ((uint64_t)t.rank + 1) * sizeof *dims);
  if (!dims) return tf_no_memory(m->r);
  for (int32_t k = 0; k < t.rank; k++) dims[k] = t.shape[k];
  out->kind = TN_ATTR_INTS;
  out->ints = (tn_ints){dims, t.rank};
  return TN_OK;
}

static tn_status set_list(const maker *m, const tn_proto_message *list, tn_attr *out) {
  uint64_t n = 0, k = 0;
  for (const tn_proto_value *v = list->first; v; v = v->next) n++;
  if (!n) return TN_OK;
  const tn_proto_field *field = list->first->field;
  int64_t *ints = tn_arena_alloc(&m->r->arena, n * sizeof *ints);
  double *floats = tn_arena_alloc(&m->r->arena, n * sizeof *floats);
  tn_str *strs = tn_arena_alloc(&m->r->arena, n * sizeof *strs);
  if (!ints || !floats || !strs) return tf_no_memory(m->r);
  tn_status s = TN_OK;
  for (const tn_proto_value *v = list->first; v && !s; v = v->next, k++) {
    if (v->field != field) return TN_OK;
    ints[k] = v->i, floats[k] = v->f, strs[k] = v->s;
    if (!strcmp(field->name, "type")) s = type_of(m, v->i, &ints[k]);
  }
  if (field->kind == TN_FIELD_INT)
    out->kind = TN_ATTR_INTS, out->ints = (tn_ints){ints, (int64_t)n};
  if (field->kind == TN_FIELD_FLOAT)
    out->kind = TN_ATTR_FLOATS, out->floats = (tn_floats){floats, (int64_t)n};
  if (field->kind == TN_FIELD_BYTES)
    out->kind = TN_ATTR_STRS, out->strs = (tn_strs){strs, (int64_t)n};
  return s;
}

/* Kind 0: what it is has no place in Tenon (tensors, functions), or it is empty. */
static tn_status set(const maker *m, const tn_proto_message *value, tn_attr *out) {
  const tn_proto_value *v = value->first;
  if (!v) return TN_OK;
  switch (v->field->kind) {
    case TN_FIELD_INT:
      out->kind = TN_ATTR_INT, out->i = v->i;
      return strcmp(v->field->name, "type") ? TN_OK : type_of(m, v->i, &out->i);
    case TN_FIELD_FLOAT: return out->kind = TN_ATTR_FLOAT, out->f = v->f, TN_OK;
    case TN_FIELD_BYTES: return out->kind = TN_ATTR_STR, out->s = v->s, TN_OK;
    default: break;
  }
  if (!strcmp(v->field->name, "shape")) return set_shape(m, v->message, out);
  return strcmp(v->field->name, "list") ? TN_OK : set_list(m, v->message, out);
}

static tn_status add(const maker *m, const char *name, const tn_proto_message *value, tn_attr *out,
                     uint32_t most, uint32_t *n) {
  if (*n == most) return tf_node_fail(m->r, m->n, TN_ERR_OVERFLOW, "has too many attributes");
  if (!name) return tf_no_memory(m->r);
  out[*n] = (tn_attr){.head = TN_HEAD(tn_attr), .name = name};
  const tn_status s = set(m, value, &out[*n]);
  *n += out[*n].kind != 0;
  return s;
}

/* All that the node has, but for those with "_" in front, which are TensorFlow's own notes. */
static tn_status all_attrs(const maker *m, tn_attr *out, uint32_t most, uint32_t *n) {
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(m->n->m, "attr", v));) {
    const tn_str key = tn_proto_str(v->message, "key");
    const tn_proto_message *value = tn_proto_sub(v->message, "value");
    if (key.size && *key.data != '_' && value) s = add(m, tf_text(m->r, key), value, out, most, n);
  }
  return s;
}

/* words: "keep_dims, to=DstT, *num_split" (of that, node.c makes its own); NULL: all there are. */
tn_status tf_attrs(tf_reader *r, const tf_node *n, const char *words, bool codes_of_tflite,
                   tn_attr *out, uint32_t most, uint32_t *out_n) {
  const maker m = {r, n, codes_of_tflite};
  tn_status s = TN_OK;
  *out_n = 0;
  if (!words) return all_attrs(&m, out, most, out_n);
  for (const char *p = words + strspn(words, ", "); *p && !s; p += strspn(p, ", ")) {
    const size_t size = strcspn(p, ", "), head = strcspn(p, "=,");
    if (*p != '*') {
      const char *from = head < size ? p + head + 1 : p;
      char *name = tn_arena_strn(&r->arena, p, (int64_t)(head < size ? head : size)),
           *theirs = tn_arena_strn(&r->arena, from, (int64_t)(p + size - from));
      if (!name || !theirs) return tf_no_memory(r);
      const tn_proto_message *value = tf_attr(n, theirs);
      if (value) s = add(&m, name, value, out, most, out_n);
    }
    p += size;
  }
  return s;
}
