/* Our graphs as graphs of TFLite's operators. Images are [N, C, Y, X] here and [N, Y, X, C] there:
 * a value may be had in both forms, of which the second is made where an operator needs it, so that
 * chains of them need no transposes, and those that a reader of TFLite put in go. */
#include <string.h>

#include "litert.h"

static const int32_t to_last[] = {0, 2, 3, 1}, to_plain[] = {0, 3, 1, 2};

/* ---- values ---- */

const tn_tensor *lrt_type_of(const lrt_bridge *b, int32_t value) {
  return b->api->value_type(b->g, value);
}

int lrt_is_const(const lrt_bridge *b, int32_t value) {
  return (b->api->value_flags(b->g, value) & TN_VALUE_CONST) != 0;
}

int32_t lrt_moved_axis(int32_t axis) {
  static const int32_t moved[] = {0, 3, 1, 2};
  return moved[axis];
}

static void permute(const int64_t *shape, const int32_t *perm, int64_t *out) {
  for (int k = 0; k < 4; k++) out[k] = shape[perm[k]];
}

static lrt_tensor *new_tensor(lrt_bridge *b, int32_t value, int is_last, const void *data) {
  const tn_tensor *t = lrt_type_of(b, value);
  int64_t shape[4];
  if (!is_last) return lrt_tensor_new(b->to, t->dtype, t->rank, t->shape, data);
  permute(t->shape, to_last, shape);
  return lrt_tensor_new(b->to, t->dtype, 4, shape, data);
}

static lrt_tensor *transposed(lrt_bridge *b, lrt_tensor *from, const int32_t *perm,
                              lrt_tensor *to) {
  const int64_t order[] = {perm[0], perm[1], perm[2], perm[3]};
  lrt_tensor *const inputs[] = {from, lrt_ints(b, order, 4)};
  return from && to && inputs[1] && lrt_op_new(b->to, LRT_TRANSPOSE, b->node, inputs, 2, &to, 1)
             ? to
             : NULL;
}

const float *lrt_permuted(lrt_bridge *b, const tn_tensor *t, const int32_t *perm) {
  const int64_t n = tn_elements(t);
  const float *from = (const float *)t->data;
  float *to = (float *)lrt_alloc(b->to->memory, (uint64_t)n * sizeof *to + 1);
  int64_t stride[GUEST_MAX_RANK] = {0}, at[GUEST_MAX_RANK] = {0}, step = 1;
  for (int32_t k = t->rank; k-- > 0; step *= t->shape[k]) stride[k] = step;
  for (int64_t i = 0; to && i < n; i++) {
    int64_t offset = 0;
    for (int32_t k = 0; k < t->rank; k++) offset += at[k] * stride[perm[k]];
    to[i] = from[offset];
    for (int32_t k = t->rank; k-- > 0;) {
      if (++at[k] < t->shape[perm[k]]) break;
      at[k] = 0;
    }
  }
  return to;
}

/* A value that nothing here has made: a constant, or an input. */
static lrt_tensor *enter(lrt_bridge *b, int32_t value) {
  const int is_const = lrt_is_const(b, value);
  lrt_tensor *t = new_tensor(b, value, 0, is_const ? lrt_type_of(b, value)->data : NULL);
  if (t && !is_const && b->to->n_inputs < b->to->max_ports) b->to->inputs[b->to->n_inputs++] = t;
  return t;
}

lrt_tensor *lrt_plain(lrt_bridge *b, int32_t value) {
  lrt_forms *f = &b->forms[value];
  if (!f->plain && f->last)
    f->plain = transposed(b, f->last, to_plain, new_tensor(b, value, 0, NULL));
  else if (!f->plain)
    f->plain = enter(b, value);
  return f->plain;
}

lrt_tensor *lrt_last(lrt_bridge *b, int32_t value) {
  lrt_forms *f = &b->forms[value];
  const tn_tensor *t = lrt_type_of(b, value);
  if (f->last) return f->last;
  if (lrt_is_const(b, value) && t->dtype == TN_F32) {
    const float *data = lrt_permuted(b, t, to_last);
    return f->last = data ? new_tensor(b, value, 1, data) : NULL;
  }
  lrt_tensor *plain = lrt_plain(b, value);
  return f->last = plain ? transposed(b, plain, to_last, new_tensor(b, value, 1, NULL)) : NULL;
}

int lrt_prefers_last(const lrt_bridge *b, int32_t value) {
  return b->forms[value].last && !b->forms[value].plain;
}

/* ---- emitting ---- */

static lrt_op *add(lrt_bridge *b, int32_t code, lrt_tensor *const *inputs, size_t n_inputs,
                   lrt_tensor *output) {
  return output ? lrt_op_new(b->to, code, b->node, inputs, n_inputs, &output, 1) : NULL;
}

lrt_op *lrt_emit(lrt_bridge *b, int32_t code, lrt_tensor *const *inputs, size_t n_inputs,
                 int32_t output, int is_last) {
  lrt_tensor *t = new_tensor(b, output, is_last, NULL);
  if (is_last)
    b->forms[output].last = t;
  else
    b->forms[output].plain = t;
  return add(b, code, inputs, n_inputs, t);
}

lrt_op *lrt_emit_inner(lrt_bridge *b, int32_t code, lrt_tensor *const *inputs, size_t n_inputs,
                       int32_t rank, const int64_t *shape) {
  return add(b, code, inputs, n_inputs, lrt_tensor_new(b->to, TN_F32, rank, shape, NULL));
}

lrt_tensor *lrt_ints(lrt_bridge *b, const int64_t *values, int32_t n) {
  int32_t *data = (int32_t *)lrt_alloc(b->to->memory, (uint64_t)n * sizeof *data + 1);
  const int64_t shape[] = {n};
  for (int32_t k = 0; data && k < n; k++) data[k] = (int32_t)values[k];
  return data ? lrt_tensor_new(b->to, TN_I32, 1, shape, data) : NULL;
}

lrt_tensor *lrt_floats(lrt_bridge *b, const float *values, int32_t rank, const int64_t *shape) {
  int64_t n = 1;
  for (int32_t k = 0; k < rank; k++) n *= shape[k];
  float *data = (float *)lrt_alloc(b->to->memory, (uint64_t)n * sizeof *data + 1);
  if (data && n) memcpy(data, values, (size_t)n * sizeof *data);
  return data ? lrt_tensor_new(b->to, TN_F32, rank, shape, data) : NULL;
}

lrt_tensor *lrt_number(lrt_bridge *b, double value) {
  const float f = (float)value;
  return lrt_floats(b, &f, 0, NULL);
}

int32_t lrt_const_ints(const lrt_bridge *b, const tn_node *n, uint32_t k, int64_t *out,
                       int32_t max) {
  const int32_t value = tn_pattern_input(n, k);
  if (value < 0 || !lrt_is_const(b, value)) return -1;
  const tn_tensor *t = lrt_type_of(b, value);
  const int64_t count = tn_elements(t);
  if ((t->dtype != TN_I64 && t->dtype != TN_I32) || count > max || !t->data) return -1;
  for (int64_t i = 0; i < count; i++)
    out[i] = t->dtype == TN_I64 ? ((const int64_t *)t->data)[i] : ((const int32_t *)t->data)[i];
  return (int32_t)count;
}

/* ---- nodes ---- */

static lrt_translator find(const char *op) {
  const lrt_rule *const tables[] = {lrt_simple_rules, lrt_move_rules, lrt_window_rules};
  for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
    for (const lrt_rule *r = tables[k]; r->op; r++)
      if (!strcmp(r->op, op)) return r->translate;
  return NULL;
}

/* Data is f32; integers are arguments, which translators look at. */
static const char *refuse_types(const lrt_bridge *b, const tn_node *n) {
  for (uint32_t k = 0; k < n->n_inputs + n->n_outputs; k++) {
    const int32_t value = k < n->n_inputs ? n->inputs[k] : n->outputs[k - n->n_inputs];
    if (value < 0) continue;
    const tn_tensor *t = lrt_type_of(b, value);
    const int is_argument = k && k < n->n_inputs && lrt_is_const(b, value);
    if (t->rank > GUEST_MAX_RANK) return "guests are shown tensors of rank 8 at most";
    for (int32_t i = 0; i < t->rank; i++)
      if (t->shape[i] < 1 || t->shape[i] > INT32_MAX)
        return "a tensor without elements, or too long";
    if (t->dtype != TN_F32 && !is_argument) return "guests are shown values of f32 alone";
  }
  return NULL;
}

static const char *translate(lrt_bridge *b, const tn_node *n) {
  const lrt_translator f = *n->domain ? NULL : find(n->op);
  if (!f) return "the operator is none that guests are shown";
  const char *why = refuse_types(b, n);
  return why ? why : f(b, n);
}

/* ---- graphs ---- */

static void add_output(lrt_bridge *b, int32_t value) {
  lrt_tensor *t = lrt_plain(b, value);
  for (size_t k = 0; k < b->to->n_outputs; k++)
    if (b->to->outputs[k] == t) return;
  if (t && b->to->n_outputs < b->to->max_ports) b->to->outputs[b->to->n_outputs++] = t;
}

/* Was it made here? */
static int is_made(const lrt_bridge *b, int32_t value) {
  const lrt_forms *f = &b->forms[value];
  return (f->plain && f->plain->maker) || (f->last && f->last->maker);
}

/* What is left out reads what was made, and so do those around a part. */
static void leave_out(lrt_bridge *b, const tn_node *n) {
  for (uint32_t k = 0; k < n->n_inputs; k++)
    if (n->inputs[k] >= 0 && is_made(b, n->inputs[k])) add_output(b, n->inputs[k]);
}

/* Of a part: an output that is an input, a constant, or one before is copied. */
static tn_status add_part_output(lrt_bridge *b, int32_t value) {
  lrt_tensor *t = lrt_plain(b, value);
  int is_own = t && t->maker;
  for (size_t k = 0; k < b->to->n_outputs; k++) is_own &= b->to->outputs[k] != t;
  if (t && !is_own) {
    const tn_tensor *type = lrt_type_of(b, value);
    lrt_tensor *const inputs[] = {t, lrt_ints(b, type->shape, type->rank)};
    const lrt_op *op =
        inputs[1] ? lrt_emit_inner(b, LRT_RESHAPE, inputs, 2, type->rank, type->shape) : NULL;
    t = op ? op->outputs[0] : NULL;
  }
  if (!t) return TN_ERR_MEMORY;
  b->to->outputs[b->to->n_outputs++] = t;
  return TN_OK;
}

static tn_status close(lrt_bridge *b, int is_part) {
  const tn_graph_api *api = b->api;
  tn_status s = TN_OK;
  b->node = -1;
  for (int32_t k = 0; k < api->n_outputs(b->g) && !s; k++) {
    const int32_t value = api->output(b->g, k);
    if (is_part)
      s = add_part_output(b, value);
    else if (is_made(b, value))
      add_output(b, value);
  }
  if (!s) s = b->to->memory->is_out ? TN_ERR_MEMORY : lrt_graph_finish(b->to);
  return s;
}

tn_status lrt_bridge_graph(const tn_accelerator_call *call, const tn_graph *g,
                           tn_claim *const *wanted, int32_t n_nodes, const char **reasons,
                           lrt_graph *to) {
  const tn_graph_api *api = call->host->graph;
  lrt_bridge b = {.api = api, .g = g, .to = to};
  b.forms = (lrt_forms *)lrt_alloc(to->memory, ((uint64_t)api->n_values(g) + 1) * sizeof *b.forms);
  if (!b.forms) return TN_ERR_MEMORY;
  for (int32_t k = 0; !wanted && k < api->n_inputs(g); k++) (void)lrt_plain(&b, api->input(g, k));
  for (int32_t k = 0; k < api->n_nodes(g); k++) {
    b.node = api->node_at(g, k);
    const tn_node *n = api->node(g, b.node);
    if (wanted && (b.node >= n_nodes || !wanted[b.node])) {
      leave_out(&b, n);
      continue;
    }
    const char *why = translate(&b, n);
    if (b.node < n_nodes) reasons[b.node] = why;
    if (why) leave_out(&b, n);
  }
  return close(&b, !wanted);
}
