/* What a run leaves to the next one: variables (by handle, or tensors that an operator changes),
 * their initial values, which CALL_ONCE sets, and tables, which it fills.
 *
 * Handles are gone when a graph has been read: who reads a variable reads its current value, who
 * assigns one makes another value the current one, and the last is what the run leaves. */
#include <stdio.h>

#include "reader.h"

enum { MAX_VARIABLES = 4096 };

/* ---- handles ---- */

static tn_status find_variable(tflite_reader *r, const char *name, tflite_variable **out) {
  if (!name) return tflite_no_memory(r);
  for (int64_t k = 0; k < r->variables.n; k++)
    if (!strcmp(r->variables.data[k]->name, name)) {
      *out = r->variables.data[k];
      return TN_OK;
    }
  if (r->variables.n == MAX_VARIABLES)
    return tflite_fail(r, TN_ERR_OVERFLOW, 0, "is one of more than %d variables", MAX_VARIABLES);
  tflite_variable *v = tn_arena_alloc(&r->arena, sizeof *v);
  if (!v || tn_vec_push(&r->allocator, &r->variables, v)) return tflite_no_memory(r);
  *v = (tflite_variable){.name = name, .initial = -1, .state = -1, .value = -1, .keys = -1};
  *out = v;
  return TN_OK;
}

/* The tensor of output (input) `index` of the operator; NULL: it has none. */
static tflite_tensor *tensor_at(const tflite_node *n, const tn_flat_vector *list, uint64_t index) {
  const int64_t k = index < list->n ? tn_flat_int_at(list, index) : -1;
  return k < 0 || (uint64_t)k >= n->s->n_tensors ? NULL : &n->s->tensors[k];
}

static tn_status give_handle(const tflite_node *n, const char *name) {
  tflite_tensor *handle = tensor_at(n, n->out_list, 0);
  if (!handle) return tflite_fail(n->s->r, TN_ERR_INVALID, n->at, "gives no handle");
  return find_variable(n->s->r, name, &handle->variable);
}

static tn_status take_handle(const tflite_node *n, uint64_t n_inputs, tflite_variable **out) {
  const tflite_tensor *handle = tensor_at(n, n->in_list, 0);
  *out = handle ? handle->variable : NULL;
  if (n->n_inputs < n_inputs)
    return tflite_fail(n->s->r, TN_ERR_INVALID, n->at, "has %llu inputs where it takes %llu",
                       (unsigned long long)n->n_inputs, (unsigned long long)n_inputs);
  if (*out) return TN_OK;
  return tflite_fail(n->s->r, TN_ERR_UNSUPPORTED, n->at,
                     "not supported: a handle that no operator of this subgraph makes");
}

static const char *text_of(const tflite_node *n, const char *name) {
  for (uint32_t k = 0; k < n->attrs->n; k++)
    if (!strcmp(n->attrs->attrs[k].name, name)) return tflite_name(n->s->r, n->attrs->attrs[k].s);
  return "";
}

static int64_t number_of(const tflite_node *n, const char *name) {
  for (uint32_t k = 0; k < n->attrs->n; k++)
    if (!strcmp(n->attrs->attrs[k].name, name)) return n->attrs->attrs[k].i;
  return 0;
}

/* ---- variables ---- */

tn_status tflite_var_handle(const tflite_node *n) {
  const char *container = text_of(n, "container"), *name = text_of(n, "shared_name");
  if (!container || !name) return tflite_no_memory(n->s->r);
  return give_handle(n, tn_arena_format(&n->s->r->arena, "variable %s%s%s", container,
                                        *container ? "/" : "", name));
}

static tn_status graph_fails(const tflite_reader *r, int32_t status, uint64_t at) {
  return status == TN_ERR_MEMORY
             ? tflite_no_memory(r)
             : tflite_fail(r, status, at,
                           "not supported: a variable of this type, or without an "
                           "initial value");
}

/* Makes it a state of the model; of a file that assigns none, a constant. type: of what is read or
 * assigned; an initial value says more. */
static tn_status open_variable(const tflite_node *n, tflite_variable *v, const tn_tensor *type) {
  tflite_reader *r = n->s->r;
  if (v->value >= 0) return TN_OK;
  v->value = v->initial;
  if (!r->has_writes && v->initial >= 0) return TN_OK;
  const int32_t before = r->api->value(r->main, v->name);
  if (before < 0) return graph_fails(r, before, n->at);
  const tn_tensor *first = v->initial < 0 ? NULL : r->api->value_type(r->main, v->initial);
  tn_tensor declared = first ? *first : *type;
  declared.data = NULL;
  tn_status s = r->api->value_set_type(r->main, before, &declared);
  v->state = s ? s : r->api->state_new(r->main, v->name + strlen("variable "), before, v->initial);
  v->value = before;
  return v->state < 0 ? graph_fails(r, v->state, n->at) : TN_OK;
}

tn_status tflite_read_variable(const tflite_node *n) {
  tflite_reader *r = n->s->r;
  tflite_variable *v;
  const tflite_tensor *y = tensor_at(n, n->out_list, 0);
  tn_status s = take_handle(n, 1, &v);
  if (!s && !y) return tflite_fail(r, TN_ERR_INVALID, n->at, "gives no value");
  if (!s) s = open_variable(n, v, &y->type);
  if (s) return s;
  /* Graphs of branches and loops see values of the graph around them by name. */
  const int32_t value =
      n->s->g == r->main ? v->value : r->api->value(n->s->g, r->api->value_name(r->main, v->value));
  if (value < 0) return graph_fails(r, value, n->at);
  return tflite_node_add(n, "", "Identity", &value, 1, NULL, 0);
}

static tn_status set_initial(const tflite_node *n, tflite_variable *v) {
  tflite_reader *r = n->s->r;
  if (n->inputs[1] < 0 || !(r->api->value_flags(r->main, n->inputs[1]) & TN_VALUE_CONST))
    return tflite_fail(r, TN_ERR_UNSUPPORTED, n->at,
                       "not supported: an initial value that is computed");
  v->initial = n->inputs[1];
  return TN_OK;
}

tn_status tflite_assign_variable(const tflite_node *n) {
  tflite_reader *r = n->s->r;
  tflite_variable *v;
  const tflite_tensor *x = tensor_at(n, n->in_list, 1);
  tn_status s = take_handle(n, 2, &v);
  if (s) return s;
  if (!x || n->inputs[1] < 0)
    return tflite_fail(r, TN_ERR_INVALID, n->at, "has no value to assign");
  if (r->is_init) return set_initial(n, v);
  if (n->s->g != r->main)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, n->at,
                       "not supported: a variable that changes in a loop or a branch");
  s = open_variable(n, v, &x->type);
  if (!s && v->state >= 0) s = r->api->state_set(r->main, v->state, n->inputs[1]);
  v->value = n->inputs[1];
  return s ? graph_fails(r, s, n->at) : TN_OK;
}

tn_status tflite_tensor_state(tflite_subgraph *s, tflite_tensor *t) {
  tflite_reader *r = s->r;
  if (s->g != r->main)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, t->at,
                       "not supported: variable tensors in a loop or a branch");
  tn_status status = r->api->value_set_type(s->g, t->value, &t->type);
  if (status) return graph_fails(r, status, t->at);
  int32_t initial = TN_NO_ID;
  if (t->type.dtype == TN_I8 && t->zero.n && tn_tensor_elements(&t->type) > 0) {
    const int64_t n = tn_tensor_elements(&t->type);
    uint8_t *data = tn_arena_alloc(&r->arena, (uint64_t)n);
    if (!data) return tflite_no_memory(r);
    memset(data, (int)(tn_flat_int_at(&t->zero, 0) & 0xff), (size_t)n);
    tn_tensor first = t->type;
    first.data = data;
    initial = r->api->value(s->g, NULL);
    status = initial < 0 ? initial : r->api->value_set_const(s->g, initial, &first, 1);
    if (status) return graph_fails(r, status, t->at);
  }
  t->state = r->api->state_new(s->g, r->api->value_name(s->g, t->value), t->value, initial);
  if (t->state < 0) return graph_fails(r, t->state, t->at);
  t->has_state = true;
  return TN_OK;
}

/* ---- tables ---- */

tn_status tflite_hashtable(const tflite_node *n) {
  return give_handle(
      n, tn_arena_format(&n->s->r->arena, "table %lld", (long long)number_of(n, "table_id")));
}

static const tn_tensor *constant(const tflite_node *n, int32_t value) {
  const tflite_reader *r = n->s->r;
  const bool is = value >= 0 && r->api->value_flags(n->s->g, value) & TN_VALUE_CONST;
  return is ? r->api->value_type(n->s->g, value) : NULL;
}

tn_status tflite_hashtable_import(const tflite_node *n) {
  tflite_reader *r = n->s->r;
  tflite_variable *v;
  tn_status s = take_handle(n, 3, &v);
  if (s) return s;
  const tn_tensor *keys = constant(n, n->inputs[1]), *values = constant(n, n->inputs[2]);
  if (n->s->g != r->main || !keys || !values)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, n->at,
                       "not supported: a table whose keys and values are no constants");
  if (tn_tensor_elements(keys) != tn_tensor_elements(values))
    return tflite_fail(r, TN_ERR_INVALID, n->at, "has %lld keys and %lld values",
                       (long long)tn_tensor_elements(keys), (long long)tn_tensor_elements(values));
  v->keys = n->inputs[1];
  v->values = n->inputs[2];
  return TN_OK;
}

static tn_status table_of(const tflite_node *n, uint64_t n_inputs, tflite_variable **out) {
  const tn_status s = take_handle(n, n_inputs, out);
  if (s || (*out)->keys >= 0) return s;
  return tflite_fail(n->s->r, TN_ERR_UNSUPPORTED, n->at,
                     "not supported: a table that nothing fills when the model is loaded");
}

/* The one element of a tensor attribute, or all in one row. */
static tn_attr row_attr(const char *name, const tn_tensor *const *tensor) {
  return (tn_attr){
      .head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_TENSOR, .tensors = {tensor, 1}};
}

static tn_tensor as_row(const tn_tensor *t) {
  const int64_t n = tn_tensor_elements(t);
  return tn_tensor_make(t->dtype, 1, &n, t->data);
}

tn_status tflite_hashtable_find(const tflite_node *n) {
  tflite_reader *r = n->s->r;
  tflite_variable *v;
  tn_status s = table_of(n, 3, &v);
  if (s) return s;
  const tn_tensor *missing = constant(n, n->inputs[2]);
  if (!missing || tn_tensor_elements(missing) != 1)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, n->at,
                       "not supported: a default that is no constant of one element");
  const tn_tensor rows[] = {as_row(r->api->value_type(r->main, v->keys)),
                            as_row(r->api->value_type(r->main, v->values)), as_row(missing)},
                  *const list[] = {&rows[0], &rows[1], &rows[2]};
  const tn_attr keys = row_attr("keys_tensor", &list[0]),
                values = row_attr("values_tensor", &list[1]),
                other = row_attr("default_tensor", &list[2]), *attrs[] = {&keys, &values, &other};
  s = r->api->set_opset(r->main, "ai.onnx.ml", 4);
  return s ? graph_fails(r, s, n->at)
           : tflite_node_add(n, "ai.onnx.ml", "LabelEncoder", &n->inputs[1], 1, attrs, 3);
}

tn_status tflite_hashtable_size(const tflite_node *n) {
  tflite_reader *r = n->s->r;
  tflite_variable *v;
  const tn_status s = table_of(n, 1, &v);
  if (s || !n->n_outputs || n->outputs[0] < 0) return s;
  int64_t size = tn_tensor_elements(r->api->value_type(r->main, v->keys));
  const int64_t one = 1;
  const tn_tensor t = tn_tensor_make(TN_I64, 1, &one, &size);
  return r->api->value_set_const(n->s->g, n->outputs[0], &t, 1)
             ? tflite_fail(r, TN_ERR_INVALID, n->at, "gives a value that is made already")
             : TN_OK;
}

/* ---- CALL_ONCE ---- */

tn_status tflite_call_once(const tflite_node *n) {
  (void)n; /* its subgraph was read before all others */
  return TN_OK;
}

/* Reads a subgraph that sets initial values, if the operator names one. */
static tn_status read_init(tflite_reader *r, const tn_flat_table *op, uint8_t *is_init) {
  const tn_flat_table options = tn_flat_sub(op, OPERATOR_OPTIONS, &tflite_options_type);
  const int64_t index = tn_flat_int(&options, 0, 4, 0);
  if (index < 0 || (uint64_t)index >= r->subgraphs.n)
    return tflite_fail(r, TN_ERR_INVALID, op->at, "CALL_ONCE runs subgraph %lld of %llu",
                       (long long)index, (unsigned long long)r->subgraphs.n);
  if (is_init[index]++) {
    is_init[index] = 1;
    return TN_OK;
  }
  r->is_init = true;
  const tn_status s = tflite_subgraph_inline(r, (uint64_t)index, r->main, NULL, 0, NULL, 0);
  r->is_init = false;
  return s;
}

/* Whether an operator is called so. */
static bool is_called(const tflite_reader *r, const tn_flat_table *op, const char *name) {
  const uint64_t code = (uint64_t)tn_flat_uint(op, OPERATOR_CODE, 4, 0);
  return code < r->n_codes && r->codes[code].row && !strcmp(r->codes[code].name, name);
}

/* Of all subgraphs those operators; writes: in subgraphs that are not marked. */
static tn_status scan(tflite_reader *r, uint8_t *is_init, bool writes) {
  tn_status s = TN_OK;
  for (uint64_t k = 0; k < r->subgraphs.n && !s; k++) {
    if (writes && is_init[k]) continue;
    const tn_flat_table g = tn_flat_item(&r->subgraphs, k, &tflite_subgraph_type);
    const tn_flat_vector ops = tn_flat_vec(&g, SUBGRAPH_OPERATORS, 4);
    for (uint64_t i = 0; i < ops.n && !s; i++) {
      const tn_flat_table op = tn_flat_item(&ops, i, &tflite_operator_type);
      if (writes)
        r->has_writes = r->has_writes || is_called(r, &op, "ASSIGN_VARIABLE");
      else if (is_called(r, &op, "CALL_ONCE"))
        s = read_init(r, &op, is_init);
      if (!s) s = tflite_status(r);
    }
  }
  return s ? s : tflite_status(r);
}

tn_status tflite_states_read(tflite_reader *r) {
  bool any = false;
  for (uint64_t k = 0; k < r->n_codes; k++)
    any = any || (r->codes[k].row && (!strcmp(r->codes[k].name, "CALL_ONCE") ||
                                      !strcmp(r->codes[k].name, "ASSIGN_VARIABLE")));
  if (!any) return TN_OK;
  uint8_t *is_init = tn_arena_alloc(&r->arena, r->subgraphs.n + 1);
  if (!is_init) return tflite_no_memory(r);
  const tn_status s = scan(r, is_init, false);
  return s ? s : scan(r, is_init, true);
}
