/* A network as a whole: its tensors, inputs, operators in order, outputs; and messages. */
#include <stdarg.h>
#include <stdio.h>

#include "base/io_memory.h"
#include "reader.h"

/* ---- messages ---- */

tn_status(mnn_fail)(const mnn_reader *r, tn_status code, const char *format, ...) {
  char text[400], place[40] = "", where[200] = "";
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  if (r->at) snprintf(place, sizeof place, ", at byte %llu", (unsigned long long)r->at);
  if (r->row)
    snprintf(where, sizeof where, "operator '%.80s' (%s): ", r->name ? r->name : "", r->row->name);
  const tn_source *s = r->source;
  return (s->host->fail)(s->ctx, code, "%s: %s%s%s", s->path ? s->path : "(memory)", where, text,
                         place);
}

static tn_status no_memory(const mnn_reader *r) {
  return mnn_fail(r, TN_ERR_MEMORY, "out of memory");
}

tn_status mnn_status(const mnn_reader *r) {
  if (r->status) return r->status;
  const tn_flat *f = &r->flat;
  mnn_reader there = *r;
  there.at = f->at;
  return f->status ? mnn_fail(&there, f->status, "%s", f->text) : TN_OK;
}

static const char *text_of(mnn_reader *r, tn_str text) { return tn_flat_name(&r->arena, text); }

/* ---- values ---- */

static mnn_value *value_at(mnn_reader *r, const tn_flat_vector *list, uint64_t k) {
  const int64_t index = k < list->n ? tn_flat_int_at(list, k) : -1;
  if (index >= 0 && (uint64_t)index < r->names.n) return &r->values[index];
  if (!r->status)
    r->status = k >= list->n
                    ? mnn_fail(r, TN_ERR_INVALID, "needs tensor %llu", (unsigned long long)k)
                    : mnn_fail(r, TN_ERR_INVALID, "tensor %lld is none of %llu", (long long)index,
                               (unsigned long long)r->names.n);
  return NULL;
}

int32_t mnn_in(mnn_reader *r, uint64_t k) {
  mnn_value *v = value_at(r, &r->in, k);
  if (v && v->id == TN_NO_ID && !r->status)
    r->status = mnn_fail(r, TN_ERR_INVALID, "no operator before it gives input %llu",
                         (unsigned long long)k);
  if (v && r->how != MNN_IN_NUMBERS && v->steps.step > 0 && !r->status) return mnn_rounded(r, v);
  return v ? v->id : TN_NO_ID;
}

int32_t mnn_out(mnn_reader *r, uint64_t k) {
  if (!value_at(r, &r->out, k)) return TN_NO_ID;
  /* what parts make has no name, for it could be one around them */
  const char *name =
      r->depth ? ""
               : text_of(r, tn_flat_item_text(&r->names, (uint64_t)tn_flat_int_at(&r->out, k)));
  int32_t id = name ? r->api->value(r->g, name) : TN_ERR_MEMORY;
  if (id >= 0 && (r->api->value_producer(r->g, id) >= 0 || r->api->value_flags(r->g, id)))
    id = r->api->value(r->g, NULL);
  if (id < 0 && !r->status) r->status = mnn_fail(r, id, "its output cannot be a value");
  return id < 0 ? TN_NO_ID : id;
}

int64_t mnn_layout(const mnn_reader *r, uint64_t k) {
  const int64_t index = k < r->in.n ? tn_flat_int_at(&r->in, k) : -1;
  return index >= 0 && (uint64_t)index < r->names.n ? r->values[index].layout : MNN_NCHW;
}

/* Outputs have the layout of input 0, but for what says its own. */
static int64_t made_layout(const mnn_reader *r) {
  enum { INPUT_LAYOUT = 2, TO = 1 };
  const char *name = r->row->name;
  if (r->param.type == &mnn_blob_type) return tn_flat_int(&r->param, BLOB_FORMAT, 1, MNN_NCHW);
  if (!strcmp(name, "Input")) return tn_flat_int(&r->param, INPUT_LAYOUT, 1, MNN_BLOCKS);
  return !strcmp(name, "ConvertTensor") ? tn_flat_int(&r->param, TO, 1, MNN_NCHW)
                                        : mnn_layout(r, 0);
}

void mnn_set(mnn_reader *r, uint64_t k, int32_t id) {
  mnn_value *v = value_at(r, &r->out, k);
  if (!v) return;
  v->id = id;
  v->layout = made_layout(r);
  v->blob = (tn_flat_table){0};
  v->is_rounded = r->how != MNN_IN_NUMBERS;
  v->rounded = id;
}

bool mnn_ints(mnn_reader *r, uint64_t k, tn_flat_vector *out) {
  mnn_value *v = value_at(r, &r->in, k);
  if (!v || !v->blob.at || tn_flat_int(&v->blob, BLOB_TYPE, 4, 1) != 3) return false;
  *out = tn_flat_vec(&v->blob, BLOB_INT32S, 4);
  return !r->flat.status;
}

/* ---- inputs and outputs ---- */

static tn_status add_input(mnn_reader *r) {
  tn_tensor type = {.head = TN_HEAD(tn_tensor)};
  const tn_flat_vector dims = tn_flat_vec(&r->param, 0, 4);
  type.dtype = mnn_dtype(tn_flat_int(&r->param, 1, 4, 1));
  if (type.dtype == TN_NONE || dims.n > TN_MAX_RANK)
    return mnn_fail(r, TN_ERR_UNSUPPORTED, "not supported: an input of this type or rank");
  type.rank = (int32_t)dims.n;
  for (uint64_t k = 0; k < dims.n; k++) {
    type.shape[k] = tn_flat_int_at(&dims, k);
    if (type.shape[k] < 0) type.shape[k] = -1;
  }
  const mnn_value *given = value_at(r, &r->out, 0);
  if (given && r->depth) /* whoever runs the part has set it */
    return given->id == TN_NO_ID ? mnn_fail(r, TN_ERR_INVALID, "nothing is given for it") : TN_OK;
  const int32_t id = mnn_out(r, 0);
  tn_status s = mnn_status(r);
  if (s) return s;
  s = r->api->value_set_type(r->g, id, &type);
  if (!s) s = r->api->add_input(r->g, id);
  mnn_set(r, 0, id);
  return s ? mnn_fail(r, s, "it cannot be an input") : TN_OK;
}

static tn_status add_output(mnn_reader *r, const char *name) {
  for (uint64_t k = 0; k < r->names.n; k++) {
    const tn_str text = tn_flat_item_text(&r->names, k);
    if ((size_t)text.size != strlen(name) || memcmp(text.data, name, (size_t)text.size)) continue;
    int32_t id = r->values[k].id, out = id;
    if (id == TN_NO_ID) break;
    if (strcmp(r->api->value_name(r->g, id), name) || r->api->value_producer(r->g, id) < 0) {
      out = r->api->value(r->g, strcmp(r->api->value_name(r->g, id), name) ? name : NULL);
      const tn_node node = {.head = TN_HEAD(tn_node),
                            .op = "Identity",
                            .n_inputs = 1,
                            .n_outputs = 1,
                            .inputs = &id,
                            .outputs = &out,
                            .offset = -1};
      const int32_t added = out < 0 ? out : r->api->add_node(r->g, &node);
      if (added < 0) return mnn_fail(r, added, "'%.80s' cannot be an output", name);
    }
    const tn_status s = r->api->add_output(r->g, out);
    return s ? mnn_fail(r, s, "'%.80s' cannot be an output", name) : TN_OK;
  }
  return mnn_fail(r, TN_ERR_INVALID, "no operator gives the output '%.80s'", name);
}

/* ---- operators ---- */

static tn_status read_op(mnn_reader *r, const tn_flat_vector *ops, uint64_t k) {
  const tn_flat_table op = tn_flat_item(ops, k, &mnn_op_type);
  const int64_t code = tn_flat_int(&op, OP_TYPE, 4, 0);
  r->op = op;
  r->at = op.at;
  r->name = text_of(r, tn_flat_text(&op, OP_NAME));
  r->param = tn_flat_sub(&op, OP_PARAM, &mnn_param_type);
  r->in = tn_flat_vec(&op, OP_INPUTS, 4);
  r->out = tn_flat_vec(&op, OP_OUTPUTS, 4);
  r->row = mnn_row(code);
  const tn_status s = mnn_status(r);
  if (s) return s;
  if (!r->name) return no_memory(r);
  if (!r->row)
    return mnn_fail(r, TN_ERR_UNSUPPORTED,
                    "operator %llu is of type %lld, which this reader does not know",
                    (unsigned long long)k, (long long)code);
  if (r->row->how == TN_FORMAT_REFUSED)
    return mnn_fail(r, TN_ERR_UNSUPPORTED, "not supported: %s", r->row->note);
  if (!strcmp(r->row->name, "Input")) return add_input(r);
  if (strcmp(r->row->name, "Const") && strcmp(r->row->name, "TrainableParam")) return mnn_node(r);
  r->param.type = &mnn_blob_type;
  return mnn_const(r);
}

tn_status mnn_read_ops(mnn_reader *r, const tn_flat_vector *ops) {
  enum { MOST_OPS = 1 << 20 };
  tn_status s = TN_OK;
  for (uint64_t k = 0; k < ops->n && !s; k++) {
    if (r->n_ops++ == MOST_OPS)
      return mnn_fail(r, TN_ERR_OVERFLOW, "the network has more than %d operators", MOST_OPS);
    s = read_op(r, ops, k);
  }
  return s;
}

/* What no operator reads, where the file names no outputs. */
static tn_status find_outputs(mnn_reader *r, const tn_flat_vector *ops) {
  tn_status s = TN_OK;
  for (uint64_t k = 0; k < ops->n && !s; k++) {
    const tn_flat_table op = tn_flat_item(ops, k, &mnn_op_type);
    const tn_flat_vector in = tn_flat_vec(&op, OP_INPUTS, 4);
    for (uint64_t j = 0; j < in.n; j++) {
      const int64_t index = tn_flat_int_at(&in, j);
      if (index >= 0 && (uint64_t)index < r->names.n) r->values[index].is_read = true;
    }
  }
  for (uint64_t k = 0; k < r->names.n && !s; k++) {
    const mnn_value *v = &r->values[k];
    if (v->id == TN_NO_ID || v->is_read || v->blob.at) continue;
    const char *name = text_of(r, tn_flat_item_text(&r->names, k));
    s = name ? mnn_status(r) : no_memory(r);
    if (!s) s = add_output(r, name);
  }
  return s ? s : mnn_status(r);
}

static tn_status read_outputs(mnn_reader *r, const tn_flat_vector *ops) {
  const tn_flat_vector list = tn_flat_vec(&r->net, NET_OUTPUTS, 4);
  tn_status s = mnn_status(r);
  if (!s && !list.n) return find_outputs(r, ops);
  for (uint64_t k = 0; k < list.n && !s; k++) {
    const char *name = text_of(r, tn_flat_item_text(&list, k));
    s = name ? mnn_status(r) : no_memory(r);
    if (!s) s = add_output(r, name);
  }
  return s ? s : mnn_status(r);
}

static tn_status read_net(mnn_reader *r) {
  enum { ONNX_OPSET = 21 }; /* of the operators that are written here */
  tn_status s = r->api->set_opset(r->g, "", ONNX_OPSET);
  if (!s) s = r->api->set_opset(r->g, "mnn", 1);
  if (s) return mnn_fail(r, s, "the operator set cannot be noted");
  tn_flat_open(&r->flat, r->source->data, r->source->size);
  r->net = tn_flat_root(&r->flat, &mnn_net_type);
  r->names = tn_flat_vec(&r->net, NET_TENSORS, 4);
  const tn_flat_vector ops = tn_flat_vec(&r->net, NET_OPS, 4);
  s = mnn_status(r);
  if (s) return s;
  r->values = tn_arena_alloc(&r->arena, (r->names.n + 1) * sizeof *r->values);
  if (!r->values) return no_memory(r);
  for (uint64_t k = 0; k < r->names.n; k++) r->values[k] = (mnn_value){.id = TN_NO_ID};
  if (!ops.n) return mnn_fail(r, TN_ERR_INVALID, "the network has no operators");
  const tn_flat_vector described = tn_flat_vec(&r->net, NET_DESCRIBED, 4);
  s = mnn_read_steps(r, &described);
  if (s) return s;
  mnn_spread_steps(r, &ops);
  s = mnn_read_ops(r, &ops);
  if (s) return s;
  r->row = NULL;
  r->at = 0;
  return read_outputs(r, &ops);
}

tn_status mnn_read(const tn_source *source, tn_graph *g) {
  mnn_reader r = {.source = source, .api = source->host->graph, .g = g};
  r.allocator = tn_source_allocator(source);
  r.room = (UINT64_C(64) << 20) + 16 * source->size;
  tn_arena_init(&r.arena, &r.allocator);
  const tn_status s = read_net(&r);
  tn_arena_clear(&r.arena);
  return s;
}
