/* Layers as nodes: bottoms, then blobs of weights, are inputs; the fields of the layer's own
 * message are attributes. */
#include <stdlib.h>

#include "filler.h"
#include "reader.h"
#include "tenon/kit/text.h"

enum { MAX_ATTRS = 25, MAX_VALUES = 1024 };

typedef struct maker {
  caffe_reader *r;
  const caffe_layer *l;
  int32_t inputs[MAX_VALUES], outputs[MAX_VALUES];
  uint32_t n_bottoms, n_inputs, n_outputs, n_attrs;
  tn_attr attrs[MAX_ATTRS];
} maker;

/* ---- attributes ---- */

static tn_status add_list(maker *m, const tn_proto_message *from, const tn_proto_field *field) {
  caffe_reader *r = m->r;
  const uint64_t n = tn_proto_count(from, field->name);
  double *floats = tn_arena_alloc(&r->arena, (n + 1) * sizeof *floats);
  int64_t *ints = tn_arena_alloc(&r->arena, (n + 1) * sizeof *ints);
  if (!floats || !ints) return tn_proto_no_memory(&r->net_file);
  uint64_t k = 0;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(from, field->name, v)); k++)
    floats[k] = v->f, ints[k] = v->i;
  tn_attr *a = &m->attrs[m->n_attrs++];
  const bool is_float = field->kind == TN_FIELD_FLOAT;
  *a = (tn_attr){.head = TN_HEAD(tn_attr),
                 .name = field->name,
                 .kind = is_float ? TN_ATTR_FLOATS : TN_ATTR_INTS};
  if (is_float)
    a->floats = (tn_floats){floats, (int64_t)n};
  else
    a->ints = (tn_ints){ints, (int64_t)n};
  return TN_OK;
}

static void add_scalar(maker *m, const tn_proto_value *v) {
  const bool is_float = v->field->kind == TN_FIELD_FLOAT;
  tn_attr *a = &m->attrs[m->n_attrs++];
  *a = (tn_attr){.head = TN_HEAD(tn_attr),
                 .name = v->field->name,
                 .kind = is_float ? TN_ATTR_FLOAT : TN_ATTR_INT,
                 .i = v->i,
                 .f = v->f};
}

/* Fields of the layer's message; those of a shape inside of it go by their own names. */
static tn_status add_fields(maker *m, const tn_proto_message *from) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; from && k < from->type->n_fields && !s; k++) {
    const tn_proto_field *field = &from->type->fields[k];
    const tn_proto_value *v = NULL, *next;
    while ((next = tn_proto_next(from, field->name, v))) v = next;
    if (!v || m->n_attrs == MAX_ATTRS) continue;
    if (field->kind == TN_FIELD_MESSAGE && field->type != &caffe_filler_type)
      s = add_fields(m, v->message);
    else if (field->is_list)
      s = add_list(m, from, field);
    else if (field->kind == TN_FIELD_INT || field->kind == TN_FIELD_FLOAT)
      add_scalar(m, v);
  }
  return s;
}

/* ---- fillers of weights that are to be made up ---- */

static const char *const filler_types[] = {"constant", "uniform", "gaussian", "positive_unitball",
                                           "xavier",   "msra",    "bilinear"};

static tn_status filler_type(const maker *m, const tn_proto_message *from, double *out) {
  const size_t n = sizeof filler_types / sizeof *filler_types;
  const tn_str type = tn_proto_str(from, "type");
  size_t k = 0;
  for (; type.size && k < n && !tn_str_is(type, filler_types[k]);) k++;
  *out = (double)k;
  return k < n ? TN_OK
               : caffe_layer_fail(m->r, m->l, TN_ERR_INVALID, "Caffe has no filler of the type",
                                  type);
}

static double float_of(const tn_proto_message *from, const char *name, double missing) {
  double x = missing;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(from, name, v));) x = v->f;
  return x;
}

static tn_status add_filler(maker *m, const tn_proto_message *from, const char *name) {
  double *floats = from ? tn_arena_alloc(&m->r->arena, CAF_FILLER_FIELDS * sizeof *floats) : NULL;
  if (!from) return TN_OK;
  if (!floats) return tn_proto_no_memory(&m->r->net_file);
  floats[CAF_FILLER_VALUE] = float_of(from, "value", 0);
  floats[CAF_FILLER_MIN] = float_of(from, "min", 0);
  floats[CAF_FILLER_MAX] = float_of(from, "max", 1);
  floats[CAF_FILLER_MEAN] = float_of(from, "mean", 0);
  floats[CAF_FILLER_STD] = float_of(from, "std", 1);
  floats[CAF_FILLER_SPARSE] = (double)tn_proto_int(from, "sparse", -1);
  floats[CAF_FILLER_VARIANCE_NORM] = (double)tn_proto_int(from, "variance_norm", CAF_FAN_IN);
  m->attrs[m->n_attrs++] = (tn_attr){.head = TN_HEAD(tn_attr),
                                     .name = name,
                                     .kind = TN_ATTR_FLOATS,
                                     .floats = {floats, CAF_FILLER_FIELDS}};
  return filler_type(m, from, &floats[CAF_FILLER_TYPE]);
}

/* Those of a layer's message, whose first blob may be more than weights. */
static tn_status add_fillers(maker *m, const tn_proto_message *param) {
  static const char *const firsts[] = {"weight_filler", "scale_filler", "filler"};
  tn_status s = TN_OK;
  for (size_t k = 0; k < 3 && !s; k++)
    s = add_filler(m, tn_proto_sub(param, firsts[k]), "weight_filler");
  return s ? s : add_filler(m, tn_proto_sub(param, "bias_filler"), "bias_filler");
}

/* ---- weights ---- */

static tn_status blob_shape(const tn_proto_file *f, const tn_proto_message *blob, tn_tensor *out) {
  static const char *const dims[] = {"num", "channels", "height", "width"};
  const tn_proto_message *shape = tn_proto_sub(blob, "shape");
  out->rank = 0;
  for (int k = 0; !shape && k < 4; k++) out->shape[out->rank++] = tn_proto_int(blob, dims[k], 0);
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(shape, "dim", v));) {
    if (out->rank == TN_MAX_RANK)
      return tn_proto_fail(f, TN_ERR_UNSUPPORTED, blob->at, "a blob has more than %d dims",
                           TN_MAX_RANK);
    out->shape[out->rank++] = v->i;
  }
  for (int32_t k = 0; k < out->rank; k++)
    if (out->shape[k] < 0)
      return tn_proto_fail(f, TN_ERR_INVALID, blob->at, "a blob has a negative dim");
  return TN_OK;
}

static tn_status add_blob(maker *m, const tn_proto_file *f, const tn_proto_message *blob,
                          uint32_t index) {
  caffe_reader *r = m->r;
  const tn_proto_value *floats = tn_proto_next(blob, "data", NULL),
                       *doubles = tn_proto_next(blob, "double_data", NULL),
                       *data = floats ? floats : doubles;
  tn_tensor t = {.head = TN_HEAD(tn_tensor), .dtype = floats ? TN_F32 : TN_F64};
  tn_status s = blob_shape(f, blob, &t);
  if (s) return s;
  t = tn_tensor_make(t.dtype, t.rank, t.shape, NULL);
  const int64_t bytes = tn_tensor_bytes(&t), given = data ? data->bytes.end - data->bytes.p : 0;
  if (bytes < 0 || bytes != given || !data || tn_proto_next(blob, data->field->name, data))
    return tn_proto_fail(
        f, TN_ERR_INVALID, blob->at,
        "blob %u of layer '%.80s' has %lld bytes in one piece where its shape needs "
        "%lld",
        index, m->l->name, (long long)given, (long long)bytes);
  union {
    const uint8_t *in;
    void *out;
  } at = {data->bytes.p};
  t.data = at.out;
  const char *name = tn_arena_format(&r->arena, "%s/%u", m->l->name, index);
  if (!name) return tn_proto_no_memory(f);
  const int32_t value = r->api->value(r->g, NULL);
  if (value < 0) return tn_proto_fail(f, value, blob->at, "a blob cannot be a value");
  s = r->api->value_set_const(r->g, value, &t, (uintptr_t)at.in % (floats ? 4 : 8) != 0);
  if (s) return tn_proto_fail(f, s, blob->at, "a blob cannot be a constant");
  m->inputs[m->n_inputs++] = value;
  return TN_OK;
}

static tn_status add_blobs(maker *m) {
  caffe_reader *r = m->r;
  const char *words = m->l->row && m->l->row->attrs ? m->l->row->attrs : "";
  const char *space = strchr(words, ' ');
  const int needed = space ? atoi(space + 1) : 0;
  const tn_proto_file *f = r->has_weights ? &r->weights_file : &r->net_file;
  const int64_t at = tn_map_get(&r->layers, m->l->name, -1);
  const tn_proto_message *from = !r->has_weights ? m->l->m : at < 0 ? NULL : r->blob_lists[at];
  uint32_t n = 0;
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(from, "blobs", v));) {
    if (m->n_inputs == MAX_VALUES)
      return caffe_layer_fail(r, m->l, TN_ERR_INVALID, "has too many blobs", (tn_str){0});
    s = add_blob(m, f, v->message, n++);
  }
  if (s || n >= (uint32_t)needed || m->n_bottoms > 1) return s;
  if (!n && r->source->flags & TN_SOURCE_RANDOM_WEIGHTS) {
    m->attrs[m->n_attrs++] = (tn_attr){.head = TN_HEAD(tn_attr),
                                       .name = "random_weights",
                                       .kind = TN_ATTR_INT,
                                       .i = ++r->n_random};
    return TN_OK;
  }
  if (r->has_weights)
    return caffe_layer_fail(r, m->l, TN_ERR_INVALID, "has no weights in the .caffemodel",
                            (tn_str){0});
  return caffe_layer_fail(r, m->l, TN_ERR_NOT_FOUND, "needs weights, and there is no",
                          (tn_str){r->weights_path, (int64_t)strlen(r->weights_path)});
}

/* ---- the node ---- */

static tn_status add_values(maker *m) {
  caffe_reader *r = m->r;
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(m->l->m, "bottom", v));) {
    if (m->n_inputs == MAX_VALUES)
      return caffe_layer_fail(r, m->l, TN_ERR_INVALID, "has too many bottoms", (tn_str){0});
    s = caffe_blob_get(r, m->l, v->s, &m->inputs[m->n_inputs++]);
  }
  m->n_bottoms = m->n_inputs;
  if (!s && !m->n_bottoms)
    s = caffe_layer_fail(r, m->l, TN_ERR_INVALID, "has no bottom", (tn_str){0});
  if (!s) s = add_blobs(m);
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(m->l->m, "top", v));) {
    if (m->n_outputs == MAX_VALUES)
      return caffe_layer_fail(r, m->l, TN_ERR_INVALID, "has too many tops", (tn_str){0});
    s = caffe_blob_set(r, v->at, v->s, m->l->name, &m->outputs[m->n_outputs++]);
  }
  if (!s && !m->n_outputs) s = caffe_layer_fail(r, m->l, TN_ERR_INVALID, "has no top", (tn_str){0});
  return s;
}

static tn_status add_node(maker *m, const char *domain, const char *op, const int32_t *outputs,
                          uint32_t n_outputs) {
  const tn_attr *attrs[MAX_ATTRS + 1];
  const bool own = *domain != 0;
  const tn_attr bottoms = {
      .head = TN_HEAD(tn_attr), .name = "bottoms", .kind = TN_ATTR_INT, .i = m->n_bottoms};
  for (uint32_t k = 0; k < m->n_attrs; k++) attrs[k] = &m->attrs[k];
  attrs[m->n_attrs] = &bottoms;
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = op,
                        .name = m->l->name,
                        .inputs = m->inputs,
                        .n_inputs = own ? m->n_inputs : 1,
                        .outputs = outputs,
                        .n_outputs = n_outputs,
                        .attrs = attrs,
                        .n_attrs = own ? m->n_attrs + 1 : 0,
                        .offset = (int64_t)m->l->m->at};
  const int32_t id = m->r->api->add_node(m->r->g, &node);
  return id < 0 ? caffe_layer_fail(m->r, m->l, id, "cannot be a node", (tn_str){0}) : TN_OK;
}

tn_status caffe_node(caffe_reader *r, const caffe_layer *l) {
  maker made = {.r = r, .l = l}, *m = &made;
  char param[64];
  const char *words = l->row && l->row->attrs ? l->row->attrs : "";
  const size_t n = strcspn(words, " ");
  memcpy(param, words, n < 63 ? n : 63);
  param[n < 63 ? n : 63] = 0;
  const int64_t n_random = r->n_random;
  const tn_proto_message *fields = tn_proto_sub(l->m, param);
  tn_status s = add_values(m);
  if (!s && r->n_random > n_random) s = add_fillers(m, fields);
  if (!s) s = add_fields(m, fields);
  if (s) return s;
  const bool direct = l->row && l->row->how == TN_FORMAT_DIRECT;
  if (!direct) {
    const char *op = tn_arena_strn(&r->arena, l->type.data, l->type.size);
    return op ? add_node(m, "caffe", op, m->outputs, m->n_outputs)
              : tn_proto_no_memory(&r->net_file);
  }
  for (uint32_t k = 0; k < m->n_outputs && !s; k++)
    s = add_node(m, "", l->row->to, &m->outputs[k], 1);
  return s;
}
