/* Operators of a subgraph as nodes: of ai.onnx where rows name one, else of the domain tflite. */
#include <stdio.h>

#include "reader.h"
#include "tenon/kit/onnx_dtype.h"

enum { MAX_VALUES = 65536 };

typedef struct node_reader {
  tflite_subgraph *s;
  const tn_flat_table *op;
  const tflite_code *code;
  tn_flat_vector inputs, outputs, intermediates;
  int32_t *ids; /* of inputs, then outputs */
  tflite_attrs attrs;
} node_reader;

/* ---- values ---- */

static tn_status read_values(node_reader *n, const tn_flat_vector *list, bool is_read,
                             int32_t *out) {
  tn_status status = TN_OK;
  for (uint64_t k = 0; k < list->n && !status; k++)
    status = tflite_value(n->s, tn_flat_int_at(list, k), is_read, &out[k]);
  return status ? status : tflite_status(n->s->r);
}

static tn_status open_values(node_reader *n) {
  tflite_reader *r = n->s->r;
  n->inputs = tn_flat_vec(n->op, OPERATOR_INPUTS, 4);
  n->outputs = tn_flat_vec(n->op, OPERATOR_OUTPUTS, 4);
  n->intermediates = tn_flat_vec(n->op, OPERATOR_INTERMEDIATES, 4);
  tn_status status = tflite_status(r);
  if (status) return status;
  if (n->inputs.n > MAX_VALUES || n->outputs.n > MAX_VALUES || n->intermediates.n > MAX_VALUES)
    return tflite_fail(r, TN_ERR_OVERFLOW, n->op->at, "has more than %d inputs or outputs",
                       MAX_VALUES);
  n->ids = tn_arena_alloc(&r->arena, (n->inputs.n + n->outputs.n + 1) * sizeof *n->ids);
  if (!n->ids) return tflite_no_memory(r);
  status = read_values(n, &n->inputs, true, n->ids);
  return status ? status : read_values(n, &n->outputs, false, n->ids + n->inputs.n);
}

/* Input k, then outputs, then intermediates, which are only there for their scales; NULL: left
 * out. */
static const tflite_tensor *tensor_of(const node_reader *n, uint64_t k) {
  const tn_flat_vector *lists[] = {&n->inputs, &n->outputs, &n->intermediates}, **list = lists;
  for (; k >= (*list)->n; list++) k -= (*list)->n;
  const int64_t index = tn_flat_int_at(*list, k);
  return index < 0 || index >= (int64_t)n->s->n_tensors ? NULL : &n->s->tensors[index];
}

/* ---- quantisation ---- */

static bool is_quantised(const tflite_tensor *t) {
  int64_t lo, hi;
  return t && t->scale.n && tflite_codes(t->type.dtype, &lo, &hi);
}

/* Of inputs, outputs and intermediates in turn: a scale and a zero point each, 0 where there is
 * none. */
static tn_status add_scales(node_reader *n) {
  tflite_reader *r = n->s->r;
  const uint64_t count = n->inputs.n + n->outputs.n + n->intermediates.n;
  double *scales = tn_arena_alloc(&r->arena, (count + 1) * sizeof *scales);
  int64_t *zeros = tn_arena_alloc(&r->arena, (count + 1) * sizeof *zeros);
  if (!scales || !zeros) return tflite_no_memory(r);
  for (uint64_t k = 0; k < count; k++) {
    const tflite_tensor *t = tensor_of(n, k);
    if (!t || !t->scale.n) continue;
    scales[k] = tn_flat_float_at(&t->scale, 0);
    zeros[k] = t->zero.n ? tn_flat_int_at(&t->zero, 0) : 0;
  }
  tn_attr *a = &n->attrs.attrs[n->attrs.n];
  n->attrs.n += 2;
  a[0] = (tn_attr){.head = TN_HEAD(tn_attr), .name = "scales", .kind = TN_ATTR_FLOATS};
  a[0].floats = (tn_floats){scales, (int64_t)count};
  a[1] = (tn_attr){.head = TN_HEAD(tn_attr), .name = "zeros", .kind = TN_ATTR_INTS};
  a[1].ints = (tn_ints){zeros, (int64_t)count};
  return TN_OK;
}

/* Scales of the one input that has several, and the dim that they belong to. */
static tn_status add_channel_scales(node_reader *n, const tflite_tensor *t) {
  tflite_reader *r = n->s->r;
  double *scales = tn_arena_alloc(&r->arena, (t->scale.n + 1) * sizeof *scales);
  if (!scales) return tflite_no_memory(r);
  for (uint64_t k = 0; k < t->scale.n; k++) scales[k] = tn_flat_float_at(&t->scale, k);
  for (uint64_t k = 0; k < t->zero.n; k++)
    if (tn_flat_int_at(&t->zero, k))
      return tflite_fail(r, TN_ERR_UNSUPPORTED, t->at,
                         "not supported: a scale for each channel with zero points other than 0");
  tn_attr *a = &n->attrs.attrs[n->attrs.n];
  n->attrs.n += 2;
  a[0] = (tn_attr){.head = TN_HEAD(tn_attr), .name = "channel_scales", .kind = TN_ATTR_FLOATS};
  a[0].floats = (tn_floats){scales, (int64_t)t->scale.n};
  a[1] = (tn_attr){.head = TN_HEAD(tn_attr), .name = "channel_dim", .kind = TN_ATTR_INT};
  a[1].i = t->quant_dim;
  return TN_OK;
}

static tn_status add_out_dtype(node_reader *n) {
  const tflite_tensor *y = n->outputs.n ? tensor_of(n, n->inputs.n) : NULL;
  if (!n->attrs.typed || !y) return TN_OK;
  tn_attr *a = &n->attrs.attrs[n->attrs.n++];
  *a = (tn_attr){.head = TN_HEAD(tn_attr), .name = "out_dtype", .kind = TN_ATTR_INT};
  a->i = tn_onnx_of_dtype(y->type.dtype);
  return TN_OK;
}

static tn_status add_quantisation(node_reader *n) {
  tflite_reader *r = n->s->r;
  const uint64_t count = n->inputs.n + n->outputs.n;
  const tflite_tensor *channels = NULL;
  bool any = false;
  for (uint64_t k = 0; k < count; k++) {
    const tflite_tensor *t = tensor_of(n, k);
    if (!is_quantised(t)) continue;
    any = true;
    if (t->scale.n > 1 && !channels) channels = t;
  }
  if (!any || n->attrs.moves) return tflite_status(r);
  if (!n->attrs.quantised)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, n->op->at, "not supported: quantised values");
  tn_status status = add_scales(n);
  if (!status && channels) status = add_channel_scales(n, channels);
  return status ? status : tflite_status(r);
}

/* The scales of blocks of weights as one input more, behind a bias that may be left out. */
static tn_status add_blocks(node_reader *n, tflite_node *made) {
  tflite_reader *r = n->s->r;
  for (uint64_t k = 0; k < n->inputs.n; k++) {
    const tflite_tensor *t = tensor_of(n, k);
    if (!t || !t->block) continue;
    if (strcmp(n->code->name, "FULLY_CONNECTED") || k != 1 || n->inputs.n > 3)
      return tflite_fail(r, TN_ERR_UNSUPPORTED, n->op->at,
                         "not supported: input %llu has a scale for each block",
                         (unsigned long long)k);
    int32_t *inputs = tn_arena_alloc(&r->arena, 4 * sizeof *inputs);
    if (!inputs) return tflite_no_memory(r);
    for (uint64_t i = 0; i < 3; i++) inputs[i] = i < n->inputs.n ? n->ids[i] : TN_NO_ID;
    made->inputs = inputs;
    made->n_inputs = 4;
    n->attrs.attrs[n->attrs.n++] = (tn_attr){
        .head = TN_HEAD(tn_attr), .name = "block_size", .kind = TN_ATTR_INT, .i = t->block};
    return tflite_value(n->s, t->block_scales, true, &inputs[3]);
  }
  return TN_OK;
}

/* ---- the node ---- */

static tn_status add_made(const tflite_node *n, const tn_node *made) {
  tflite_reader *r = n->s->r;
  tn_node node = *made;
  node.head = (tn_head)TN_HEAD(tn_node);
  node.name = n->n_outputs && n->outputs[0] >= 0 ? r->api->value_name(n->s->g, n->outputs[0]) : "";
  node.outputs = n->outputs;
  node.n_outputs = (uint32_t)n->n_outputs;
  node.offset = (int64_t)n->at;
  const int32_t id = r->api->add_node(n->s->g, &node);
  if (id >= 0) return TN_OK;
  if (id == TN_ERR_MEMORY) return tflite_no_memory(r);
  return tflite_fail(r, id == TN_ERR_STATE ? TN_ERR_INVALID : id, n->at,
                     "cannot be a node: an output has another source already, or there are too "
                     "many");
}

tn_status tflite_node_add(const tflite_node *n, const char *domain, const char *op,
                          const int32_t *inputs, uint64_t n_inputs, const tn_attr *const *attrs,
                          uint32_t n_attrs) {
  const tn_node made = {.domain = domain,
                        .op = op,
                        .inputs = inputs,
                        .n_inputs = (uint32_t)n_inputs,
                        .attrs = attrs,
                        .n_attrs = n_attrs};
  return add_made(n, &made);
}

tn_status tflite_call_add(const tflite_node *n, const char *domain, const char *op,
                          const char *overload, const tn_attr *const *attrs, uint32_t n_attrs) {
  const tn_node made = {.domain = domain,
                        .op = op,
                        .overload = overload,
                        .inputs = n->inputs,
                        .n_inputs = (uint32_t)n->n_inputs,
                        .attrs = attrs,
                        .n_attrs = n_attrs};
  return add_made(n, &made);
}

/* Operators that are more, or less, than a node of their name. */
static const struct {
  const char *name;
  tn_status (*add)(const tflite_node *n);
} readers[] = {{"WHILE", tflite_while},
               {"IF", tflite_if},
               {"STABLEHLO_CASE", tflite_case},
               {"STABLEHLO_COMPOSITE", tflite_composite},
               {"STABLEHLO_SCATTER", tflite_region},
               {"STABLEHLO_REDUCE_WINDOW", tflite_region},
               {"CALL_ONCE", tflite_call_once},
               {"VAR_HANDLE", tflite_var_handle},
               {"READ_VARIABLE", tflite_read_variable},
               {"ASSIGN_VARIABLE", tflite_assign_variable},
               {"HASHTABLE", tflite_hashtable},
               {"HASHTABLE_IMPORT", tflite_hashtable_import},
               {"HASHTABLE_FIND", tflite_hashtable_find},
               {"HASHTABLE_SIZE", tflite_hashtable_size}};

/* The variables among the inputs have what the node makes of them from now on. */
static tn_status add_states(node_reader *n, tflite_node *made) {
  tflite_reader *r = n->s->r;
  int32_t *outputs = tn_arena_alloc(&r->arena, (n->inputs.n + n->outputs.n + 1) * sizeof *outputs);
  if (!outputs) return tflite_no_memory(r);
  memcpy(outputs, made->outputs, made->n_outputs * sizeof *outputs);
  made->outputs = outputs;
  for (uint64_t k = 0; k < n->inputs.n; k++) {
    const int64_t index = tn_flat_int_at(&n->inputs, k);
    tflite_tensor *t = index < 0 ? NULL : &n->s->tensors[index];
    if (!t || !t->has_state) continue;
    const int32_t value = r->api->value(n->s->g, NULL);
    const tn_status s = value < 0 ? value : r->api->state_set(n->s->g, t->state, value);
    if (s) return tflite_no_memory(r);
    outputs[made->n_outputs++] = t->value = value;
  }
  return TN_OK;
}

/* A custom operator "acme::Foo" is Foo of the domain acme; others are of the domain tflite. */
static tn_status add_own(tflite_node *made, const char *name, const tn_attr *const *attrs) {
  tflite_reader *r = made->s->r;
  bool is_done = false;
  tn_status status = tflite_select_tf(made, attrs, &is_done);
  if (!status && !is_done) status = tflite_stream(made);
  if (status || is_done) return status;
  const char *colons = strstr(name, "::"), *domain = "tflite";
  if (colons && colons > name && colons[2]) {
    domain = tn_arena_strn(&r->arena, name, colons - name);
    if (!domain || (!r->api->opset(r->main, domain) && r->api->set_opset(r->main, domain, 1)))
      return tflite_no_memory(r);
    name = colons + 2;
  }
  return tflite_node_add(made, domain, name, made->inputs, made->n_inputs, attrs, made->attrs->n);
}

static tn_status add_node(node_reader *n) {
  const tn_format_op *row = n->code->row;
  const tn_attr *attrs[TFLITE_MAX_ATTRS];
  const tn_flat_vector options = tn_flat_vec(n->op, OPERATOR_CUSTOM, 1);
  const bool direct = row && row->how == TN_FORMAT_DIRECT;
  tflite_node made = {.s = n->s,
                      .name = n->code->name,
                      .attrs = &n->attrs,
                      .inputs = n->ids,
                      .outputs = n->ids + n->inputs.n,
                      .n_inputs = n->inputs.n,
                      .n_outputs = n->outputs.n,
                      .at = n->op->at,
                      .in_list = &n->inputs,
                      .out_list = &n->outputs,
                      .options = &options};
  for (size_t k = 0; row && k < sizeof readers / sizeof *readers; k++)
    if (!strcmp(row->name, readers[k].name)) return readers[k].add(&made);
  if (n->attrs.states) {
    const tn_status status = add_states(n, &made);
    if (status) return status;
  }
  const tn_status status = add_blocks(n, &made);
  if (status) return status;
  for (uint32_t k = 0; k < n->attrs.n; k++) attrs[k] = &n->attrs.attrs[k];
  if (!row) return add_own(&made, n->code->name, attrs);
  return tflite_node_add(&made, direct ? "" : "tflite", direct ? row->to : n->code->name,
                         made.inputs, made.n_inputs, attrs, n->attrs.n);
}

/* A custom operator's version beyond the first is an attribute, unless an option has the name. */
static void add_version(node_reader *n) {
  tflite_attrs *a = &n->attrs;
  for (uint32_t k = 0; k < a->n; k++)
    if (!strcmp(a->attrs[k].name, "version")) return;
  if (n->code->version > 1)
    a->attrs[a->n++] = (tn_attr){
        .head = TN_HEAD(tn_attr), .name = "version", .kind = TN_ATTR_INT, .i = n->code->version};
}

static tn_status read_node(node_reader *n) {
  tflite_reader *r = n->s->r;
  const tn_format_op *row = n->code->row;
  if (row && row->how == TN_FORMAT_REFUSED)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, n->op->at, "not supported: %s", row->note);
  tn_status status = open_values(n);
  if (!status) status = tflite_attrs_read(n->s, n->op, row ? row->attrs : "quant:", &n->attrs);
  if (!status && !row) {
    const tn_flat_vector bytes = tn_flat_vec(n->op, OPERATOR_CUSTOM, 1);
    status = tflite_flex_read(r, &bytes, "custom_options", &n->attrs);
    if (!status) add_version(n);
  }
  if (!status) status = add_out_dtype(n);
  if (!status) status = add_quantisation(n);
  return status ? status : add_node(n);
}

tn_status tflite_node_read(tflite_subgraph *s, uint64_t index, const tn_flat_table *op) {
  tflite_reader *r = s->r;
  const uint64_t code = (uint64_t)tn_flat_uint(op, OPERATOR_CODE, 4, 0);
  tn_status status = tflite_status(r);
  if (status) return status;
  if (code >= r->n_codes)
    return tflite_fail(r, TN_ERR_INVALID, op->at, "operator %llu has code %llu of %llu",
                       (unsigned long long)index, (unsigned long long)code,
                       (unsigned long long)r->n_codes);
  node_reader n = {.s = s, .op = op, .code = &r->codes[code]};
  char text[200];
  snprintf(text, sizeof text, "operator %llu (%.80s)", (unsigned long long)index, n.code->name);
  const char *where = r->where;
  r->where = text;
  status = read_node(&n);
  r->where = where;
  return status;
}
