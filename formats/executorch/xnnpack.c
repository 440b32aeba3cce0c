/* A part that was compiled for XNNPACK as a whole: its header, its values, their codes. */
#include "xnnpack.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon/kit/checked.h"
#include "tenon/kit/onnx_dtype.h"

#define TYPE(id, title)                            \
  static const char *const id##_fields[] = {NULL}; \
  static const tn_flat_type id##_type = {title, id##_fields}

TYPE(graph, "XNNGraph");
TYPE(value, "XValue");
TYPE(tensor, "XNNTensorValue");
TYPE(quantised, "XNNQuantizedTensorValue");
TYPE(params, "XNNQuantParams");
TYPE(node, "XNode");
TYPE(content, "a node's content");
TYPE(constant, "ConstantDataOffset");
TYPE(buffer, "Buffer");
TYPE(range, "OutputMinMax");

/* ---- messages ---- */

tn_status(xnn_fail)(const xnn_part *x, tn_status code, uint64_t at, const char *format, ...) {
  char text[300];
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  if (x->kind)
    return (pte_fail)(x->r, code, x->base + at, "XNNPACK: node %llu (%s): %s",
                      (unsigned long long)x->node, x->kind, text);
  return (pte_fail)(x->r, code, x->base + at, "XNNPACK: %s", text);
}

tn_status xnn_status(const xnn_part *x) {
  const tn_flat *f = &x->flat;
  return f->status ? xnn_fail(x, f->status, f->at, "%s", f->text) : TN_OK;
}

/* ---- nodes ---- */

tn_status xnn_emit(xnn_part *x, const char *op, const int32_t *in, uint32_t n_in,
                   const tn_attr *attrs, uint32_t n_attrs, int32_t *out) {
  enum { MOST = 8 };
  const tn_attr *list[MOST];
  char domain[16] = "";
  pte_reader *r = x->r;
  const char *colons = strstr(op, "::");
  if (colons) snprintf(domain, sizeof domain, "%.*s", (int)(colons - op), op);
  for (uint32_t k = 0; k < n_attrs && k < MOST; k++) list[k] = &attrs[k];
  const int32_t made = r->api->value(r->g, NULL);
  if (made < 0) return pte_graph_fail(r, made, "it cannot be a value");
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = colons ? colons + 2 : op,
                        .inputs = in,
                        .n_inputs = n_in,
                        .outputs = &made,
                        .n_outputs = 1,
                        .attrs = list,
                        .n_attrs = n_attrs,
                        .offset = (int64_t)(x->base + x->at)};
  const int32_t id = r->api->add_node(r->g, &node);
  if (id < 0) return pte_graph_fail(r, id, "it cannot be a node");
  *out = made;
  return TN_OK;
}

tn_status xnn_transpose(xnn_part *x, int32_t in, const int64_t *perm, uint32_t n, int32_t *out) {
  const tn_attr attr = XNN_INTS("perm", perm, n);
  return xnn_emit(x, "Transpose", &in, 1, &attr, 1, out);
}

tn_status xnn_cast(xnn_part *x, int32_t in, uint32_t dtype, int32_t *out) {
  const tn_attr attr = XNN_INT("to", tn_onnx_of_dtype(dtype));
  return xnn_emit(x, "Cast", &in, 1, &attr, 1, out);
}

tn_status xnn_constant(xnn_part *x, const tn_tensor *data, int32_t *out) {
  pte_reader *r = x->r;
  *out = r->api->value(r->g, NULL);
  const tn_status s = *out < 0 ? *out : r->api->value_set_const(r->g, *out, data, 1);
  return s ? pte_graph_fail(r, s, "it cannot be a constant") : TN_OK;
}

tn_status xnn_ints(xnn_part *x, const int64_t *data, uint64_t n, int32_t *out) {
  union {
    const int64_t *in;
    void *out;
  } cast = {data};
  const tn_tensor t = tn_tensor_make(TN_I64, 1, (int64_t[]){(int64_t)n}, cast.out);
  return xnn_constant(x, &t, out);
}

/* ---- values ---- */

enum { QC_INT4 = 8, QD_INT8 = 9, QB_INT4 = 10 };

static uint32_t dtype_of(int64_t type) {
  static const uint32_t dtypes[] = {
      [1] = TN_F32,      [2] = TN_F16,      [3] = TN_I8,   [4] = TN_U8,
      [5] = TN_I32,      [6] = TN_I8,       [7] = TN_I32,  [QC_INT4] = TN_U8,
      [QD_INT8] = TN_I8, [QB_INT4] = TN_U8, [12] = TN_I32, [14] = TN_BF16};
  return type >= 0 && type < (int64_t)(sizeof dtypes / sizeof *dtypes) ? dtypes[type] : TN_NONE;
}

/* What XNNPACK packs itself when it makes a program ready is in no file. */
static tn_status read_type(xnn_part *x, xnn_value *v) {
  const tn_flat_vector dims = tn_flat_vec(&v->tensor, XTENSOR_DIMS, 4);
  const int64_t type = tn_flat_int(&v->tensor, XTENSOR_TYPE, 2, 0);
  v->type = tn_tensor_make(dtype_of(type), 0, NULL, NULL);
  v->is_packed = type == QC_INT4 || type == QB_INT4;
  if (xnn_status(x)) return xnn_status(x);
  const bool fits = (type == QD_INT8) == (v->quant_kind == XNN_DYNAMIC) &&
                    (type == QB_INT4) == (v->quant_kind == XNN_PER_BLOCK) &&
                    (type != QC_INT4 || v->quant_kind == XNN_PER_CHANNEL);
  if (v->type.dtype == TN_NONE || v->quant_kind > XNN_PER_BLOCK || !fits)
    return xnn_fail(x, TN_ERR_UNSUPPORTED, v->tensor.at,
                    "not supported: values of XNNPACK's datatype %lld, quantised in way %lld",
                    (long long)type, (long long)v->quant_kind);
  if (dims.n > TN_MAX_RANK)
    return xnn_fail(x, TN_ERR_UNSUPPORTED, v->tensor.at, "not supported: a value of %llu dims",
                    (unsigned long long)dims.n);
  v->type.rank = (int32_t)dims.n;
  for (uint64_t k = 0; k < dims.n; k++) v->type.shape[k] = tn_flat_int_at(&dims, k) & 0xffffffff;
  return xnn_status(x);
}

static tn_status read_value(xnn_part *x, const tn_flat_table *t) {
  enum { PLAIN = 1, QUANTISED };
  const int64_t kind = tn_flat_int(t, UNION_KIND, 1, 0);
  xnn_value v = {.id = TN_NO_ID, .stepped = TN_NO_ID};
  v.tensor = tn_flat_sub(t, UNION_TABLE, kind == PLAIN ? &tensor_type : &quantised_type);
  if (kind == QUANTISED) {
    const tn_flat_table both = v.tensor;
    v.tensor = tn_flat_sub(&both, QUANTISED_TENSOR, &tensor_type);
    v.quant_kind = tn_flat_int(&both, QUANTISED_KIND, 1, 0);
    v.quant = tn_flat_sub(&both, QUANTISED_PARAMS, &params_type);
  }
  const uint64_t id = (uint64_t)tn_flat_uint(&v.tensor, XTENSOR_ID, 4, 0);
  if (xnn_status(x)) return xnn_status(x);
  if (!v.tensor.at || (kind == QUANTISED && !v.quant.at) || id >= x->n_values)
    return xnn_fail(x, TN_ERR_INVALID, t->at, "value %llu of %llu has no content, or no place",
                    (unsigned long long)id, (unsigned long long)x->n_values);
  x->values[id] = v;
  return read_type(x, &x->values[id]);
}

static tn_status read_values(xnn_part *x) {
  const tn_flat_vector list = tn_flat_vec(&x->graph, XNN_VALUES, 4);
  x->n_values = list.n;
  x->values = tn_arena_alloc(&x->r->arena, (list.n + 1) * sizeof *x->values);
  if (!x->values) return pte_no_memory(x->r);
  tn_status s = xnn_status(x);
  for (uint64_t k = 0; k < list.n; k++) x->values[k] = (xnn_value){.id = TN_NO_ID};
  for (uint64_t k = 0; k < list.n && !s; k++) {
    const tn_flat_table t = tn_flat_item(&list, k, &value_type);
    s = read_value(x, &t);
  }
  return s;
}

tn_status xnn_value_of(xnn_part *x, int64_t id, xnn_value **out) {
  const tn_status s = xnn_status(x);
  if (s) return s;
  *out = id >= 0 && (uint64_t)id < x->n_values ? &x->values[id] : NULL;
  if (*out && (*out)->tensor.at) return TN_OK;
  return xnn_fail(x, TN_ERR_INVALID, x->at, "there is no value %lld", (long long)id);
}

/* ---- constants ---- */

/* Data that the program, or the file beside it, holds by name, so that several parts can use it. */
static tn_status named(xnn_part *x, tn_str key, pte_span *out) {
  pte_reader *r = x->r;
  const tn_flat_vector list = tn_flat_vec(&r->program, PROGRAM_NAMED_DATA, 4);
  for (uint64_t k = 0; k < list.n && !pte_status(r); k++) {
    const tn_flat_table t = tn_flat_item(&list, k, &pte_named_type);
    const tn_str name = tn_flat_text(&t, NAMED_KEY);
    if (name.size == key.size && !memcmp(name.data, key.data, (size_t)key.size))
      return pte_segment(r, (uint64_t)tn_flat_uint(&t, NAMED_SEGMENT, 4, 0), out);
  }
  if (pte_status(r)) return pte_status(r);
  return pte_beside_find(r, key, out);
}

tn_status xnn_buffer(xnn_part *x, uint64_t index, pte_span *out) {
  if (index >= (x->constants.n ? x->constants.n : x->buffers.n))
    return xnn_fail(x, TN_ERR_INVALID, x->at, "there is no constant %llu",
                    (unsigned long long)index);
  if (!x->constants.n) {
    const tn_flat_table t = tn_flat_item(&x->buffers, index, &buffer_type);
    const tn_flat_vector bytes = tn_flat_vec(&t, ITEM, 1);
    *out = (pte_span){tn_flat_bytes(&bytes), bytes.n};
    return xnn_status(x);
  }
  const tn_flat_table t = tn_flat_item(&x->constants, index, &constant_type);
  const tn_str key = tn_flat_text(&t, CONSTANT_KEY);
  const int64_t offset = tn_flat_int(&t, CONSTANT_OFFSET, 8, 0),
                size = tn_flat_int(&t, CONSTANT_SIZE, 8, 0);
  if (xnn_status(x)) return xnn_status(x);
  if (key.size) return named(x, key, out);
  if (offset < 0 || size < 0 || (uint64_t)offset > x->data.size ||
      (uint64_t)size > x->data.size - (uint64_t)offset)
    return xnn_fail(x, TN_ERR_INVALID, t.at, "constant %llu is not in the file",
                    (unsigned long long)index);
  *out = (pte_span){x->data.data + offset, (uint64_t)size};
  return TN_OK;
}

tn_status xnn_lend(xnn_part *x, pte_span bytes, tn_tensor type, int32_t *out) {
  pte_reader *r = x->r;
  const int64_t size = tn_tensor_bytes(&type);
  if (size < 0 || (uint64_t)size > bytes.size)
    return xnn_fail(x, TN_ERR_INVALID, x->at, "a constant has %llu bytes where it needs %lld",
                    (unsigned long long)bytes.size, (long long)size);
  type.data = size ? tn_flat_data(bytes.data) : NULL;
  *out = r->api->value(r->g, NULL);
  const bool copy = (uintptr_t)bytes.data % 8 != 0;
  const tn_status s = *out < 0 ? *out : r->api->value_set_const(r->g, *out, &type, copy);
  return s ? pte_graph_fail(r, s, "it cannot be a constant") : TN_OK;
}

tn_status xnn_bytes(xnn_part *x, const xnn_value *v, pte_span *out) {
  const uint64_t index = (uint64_t)tn_flat_uint(&v->tensor, XTENSOR_CONSTANT, 4, 0);
  if (!index) return xnn_fail(x, TN_ERR_INVALID, x->at, "it reads what nothing has made");
  return xnn_buffer(x, index, out);
}

static tn_status make_constant(xnn_part *x, xnn_value *v) {
  pte_span bytes;
  if (v->is_packed)
    return xnn_fail(x, TN_ERR_UNSUPPORTED, x->at, "not supported: weights of 4 bits here");
  const tn_status s = xnn_bytes(x, v, &bytes);
  return s ? s : xnn_lend(x, bytes, v->type, &v->id);
}

/* ---- codes ---- */

tn_status xnn_channel_scales(xnn_part *x, const xnn_value *v, int32_t *out) {
  enum { SCALE_BUFFER = 2 };
  const tn_flat_vector scales = tn_flat_vec(&v->quant, XNN_SCALE, 4);
  const int64_t axis = tn_flat_int(&v->quant, XNN_CHANNEL_DIM, 4, 0);
  const uint64_t buffer = (uint64_t)tn_flat_uint(&v->quant, SCALE_BUFFER, 4, 0);
  pte_span bytes = {tn_flat_bytes(&scales), scales.n * 4};
  if (axis < 0 || axis >= v->type.rank)
    return xnn_fail(x, TN_ERR_INVALID, v->quant.at, "its channels are dim %lld", (long long)axis);
  tn_status s = xnn_status(x);
  if (!s && buffer) s = xnn_buffer(x, buffer, &bytes);
  return s ? s : xnn_lend(x, bytes, tn_tensor_make(TN_F32, 1, &v->type.shape[axis], NULL), out);
}

static tn_status tensor_params(xnn_part *x, const xnn_value *v, int32_t *in) {
  float scale = (float)tn_flat_float(&v->quant, 0, 0);
  const int64_t zero = tn_flat_int(&v->quant, 1, 4, 0);
  int32_t i32 = (int32_t)zero;
  int8_t i8 = (int8_t)zero;
  const bool is_i8 = v->type.dtype == TN_I8;
  if (v->type.dtype != TN_I32 && (zero < (is_i8 ? -128 : 0) || zero > (is_i8 ? 127 : 255)))
    return xnn_fail(x, TN_ERR_INVALID, v->quant.at, "its zero point is %lld", (long long)zero);
  const tn_tensor s = tn_tensor_make(TN_F32, 0, NULL, &scale),
                  z = tn_tensor_make(v->type.dtype, 0, NULL,
                                     v->type.dtype == TN_I32 ? (void *)&i32 : (void *)&i8);
  const tn_status status = xnn_constant(x, &s, &in[1]);
  return status ? status : xnn_constant(x, &z, &in[2]);
}

static tn_status convert(xnn_part *x, const xnn_value *v, const char *op, int32_t from,
                         int32_t *out) {
  int32_t in[3] = {from, TN_NO_ID, TN_NO_ID};
  const bool is_tensor = v->quant_kind == XNN_PER_TENSOR;
  const tn_attr axis = XNN_INT("axis", tn_flat_int(&v->quant, XNN_CHANNEL_DIM, 4, 0));
  const tn_status s = is_tensor ? tensor_params(x, v, in) : xnn_channel_scales(x, v, &in[1]);
  return s ? s : xnn_emit(x, op, in, is_tensor ? 3 : 2, &axis, is_tensor ? 0 : 1, out);
}

/* Numbers in 256 steps of their own, which the last dims share. */
static tn_status own_steps(xnn_part *x, xnn_value *v, int32_t *out) {
  const int64_t dims = tn_flat_int(&v->quant, 0, 4, 0);
  const tn_attr attr = XNN_INT("dims", dims);
  if (dims < 0 || dims > v->type.rank)
    return xnn_fail(x, TN_ERR_INVALID, v->quant.at, "%lld of its %d dims share a scale",
                    (long long)dims, v->type.rank);
  const tn_status s = v->stepped == TN_NO_ID
                          ? xnn_emit(x, "executorch::OwnSteps", &v->id, 1, &attr, 1, &v->stepped)
                          : TN_OK;
  *out = v->stepped;
  return s;
}

static uint32_t computed(const xnn_value *v) { return v->quant_kind ? TN_F32 : v->type.dtype; }

tn_status xnn_raw(xnn_part *x, int64_t id, int32_t *out) {
  xnn_value *v;
  tn_status s = xnn_value_of(x, id, &v);
  if (!s && v->id == TN_NO_ID) s = make_constant(x, v);
  if (!s) *out = v->id;
  return s;
}

tn_status xnn_input(xnn_part *x, int64_t id, int32_t *out) {
  xnn_value *v;
  tn_status s = xnn_raw(x, id, out);
  if (!s) s = xnn_value_of(x, id, &v);
  if (s) return s;
  if (v->quant_kind == XNN_DYNAMIC)
    s = own_steps(x, v, out);
  else if (v->quant_kind)
    s = convert(x, v, "DequantizeLinear", v->id, out);
  if (x->dtype == TN_NONE) x->dtype = computed(v);
  return s || x->dtype == computed(v) ? s : xnn_cast(x, *out, x->dtype, out);
}

tn_status xnn_output(xnn_part *x, int64_t id, int32_t made) {
  xnn_value *v;
  tn_status s = xnn_value_of(x, id, &v);
  if (!s && x->dtype != computed(v)) s = xnn_cast(x, made, computed(v), &made);
  if (s) return s;
  if (v->quant_kind == XNN_PER_TENSOR) return convert(x, v, "QuantizeLinear", made, &v->id);
  if (v->quant_kind && (v->quant_kind != XNN_DYNAMIC || strcmp(x->kind, "XNNConvert")))
    return xnn_fail(x, TN_ERR_UNSUPPORTED, v->quant.at,
                    "not supported: results that are quantised by channel, or as they come");
  v->id = made;
  return TN_OK;
}

/* ---- the whole ---- */

/* "XH00" behind four bytes: then where the FlatBuffer and the constants lie, of 4, 4, 4 and 8
 * bytes. Without it, all is the FlatBuffer. */
static tn_status open_payload(xnn_part *x, pte_span p) {
  enum { HEADER = 30 };
  pte_span flat = p;
  if (p.size >= HEADER && !memcmp(p.data + 4, "XH00", 4)) {
    uint32_t at[3];
    uint64_t size;
    memcpy(at, p.data + 10, sizeof at);
    memcpy(&size, p.data + 22, sizeof size);
    if (at[0] > p.size || at[1] > p.size - at[0] || at[2] > p.size || size > p.size - at[2])
      return xnn_fail(x, TN_ERR_INVALID, 0, "what the header says is not in the %llu bytes",
                      (unsigned long long)p.size);
    flat = (pte_span){p.data + at[0], at[1]};
    x->data = (pte_span){p.data + at[2], size};
  }
  x->base = (uint64_t)(flat.data - x->r->source->data);
  if (!tn_flat_is(flat.data, flat.size, "XN00") && !tn_flat_is(flat.data, flat.size, "XN01"))
    return xnn_fail(x, TN_ERR_VERSION, 4, "not supported: a payload that is not XN00 or XN01");
  tn_flat_open(&x->flat, flat.data, flat.size);
  x->graph = tn_flat_root(&x->flat, &graph_type);
  x->nodes = tn_flat_vec(&x->graph, XNN_NODES, 4);
  x->buffers = tn_flat_vec(&x->graph, XNN_BUFFERS, 4);
  x->constants = tn_flat_vec(&x->graph, XNN_CONSTANTS, 4);
  return xnn_status(x);
}

static tn_status read_nodes(xnn_part *x) {
  tn_status s = TN_OK;
  for (uint64_t k = 0; k < x->nodes.n && !s; k++) {
    const tn_flat_table t = tn_flat_item(&x->nodes, k, &node_type);
    const tn_flat_table content = tn_flat_sub(&t, XNODE_TABLE, &content_type);
    const tn_flat_table range = tn_flat_sub(&t, XNODE_RANGE, &range_type);
    x->node = k;
    x->at = t.at;
    x->dtype = TN_NONE;
    s = xnn_status(x);
    if (!s) s = xnn_node(x, tn_flat_int(&t, XNODE_KIND, 1, 0), &content, &range);
  }
  x->kind = NULL;
  return s;
}

/* An input or output of the graph, and the argument of the call that it is: its external id. */
static tn_status at_border(xnn_part *x, const tn_flat_vector *list, uint64_t k,
                           const tn_flat_vector *args, xnn_value **out, int64_t *out_arg) {
  tn_status s = xnn_value_of(x, tn_flat_int_at(list, k), out);
  const int64_t at = s ? 0 : tn_flat_uint(&(*out)->tensor, XTENSOR_EXTERNAL, 4, 0);
  if (!s) s = xnn_status(x);
  if (!s && (uint64_t)at >= args->n)
    s = xnn_fail(x, TN_ERR_INVALID, (*out)->tensor.at, "is argument %lld of a call that has %llu",
                 (long long)at, (unsigned long long)args->n);
  if (!s) *out_arg = tn_flat_int_at(args, (uint64_t)at);
  return s;
}

static tn_status read_inputs(xnn_part *x, const tn_flat_vector *list, const tn_flat_vector *args) {
  tn_status s = TN_OK;
  for (uint64_t k = 0; !s && k < list->n; k++) {
    xnn_value *v;
    int64_t arg;
    s = at_border(x, list, k, args, &v, &arg);
    if (!s) s = pte_id(x->r, arg, &v->id);
  }
  return s;
}

static tn_status write_outputs(xnn_part *x, const tn_flat_vector *list,
                               const tn_flat_vector *args) {
  pte_reader *r = x->r;
  tn_status s = TN_OK;
  for (uint64_t k = 0; !s && k < list->n; k++) {
    xnn_value *v;
    int64_t arg;
    int32_t id = TN_NO_ID;
    s = at_border(x, list, k, args, &v, &arg);
    pte_value *to = s ? NULL : pte_get(r, arg);
    if (!s && !to) s = TN_ERR_INVALID;
    if (!s && v->id == TN_NO_ID) s = make_constant(x, v);
    if (!s) s = pte_new(r, to, &id);
    if (!s) s = pte_add_node(r, "Identity", &v->id, 1, &id, 1, NULL, 0);
    r->node = NULL;
    if (!s) s = pte_write(r, to, id);
  }
  return s;
}

static tn_status read_part(xnn_part *x, const tn_flat_vector *args) {
  tn_status s = read_values(x);
  const tn_flat_vector in = tn_flat_vec(&x->graph, XNN_INPUTS, 4),
                       out = tn_flat_vec(&x->graph, XNN_OUTPUTS, 4);
  if (!s) s = xnn_status(x);
  if (!s && in.n + out.n != args->n)
    s = xnn_fail(x, TN_ERR_INVALID, x->graph.at, "takes %llu values and is called with %llu",
                 (unsigned long long)(in.n + out.n), (unsigned long long)args->n);
  if (!s) s = read_inputs(x, &in, args);
  if (!s) s = read_nodes(x);
  return s ? s : write_outputs(x, &out, args);
}

tn_status xnn_read(pte_reader *r, pte_span payload, const tn_flat_vector *args) {
  xnn_part x = {.r = r};
  const tn_status s = open_payload(&x, payload);
  return s ? s : read_part(&x, args);
}
