/* Shapes of outputs before a run, as the operator tells them: InferOutputShapeFn, from 17 on. */
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "ort.h"

struct ort_shape_context {
  const tn_call *call;
  const ort_op *op;
  ort_shape_info *inputs; /* as they are asked for */
};

static ort_status *count_inputs(const ort_shape_context *c, size_t *out) {
  *out = c->call->n_inputs;
  return NULL;
}

static ort_status *input_shape(const ort_shape_context *c, size_t index, ort_shape_info **out) {
  const tn_tensor *t = index < c->call->n_inputs ? c->call->inputs[index] : NULL;
  if (!t) return ort_fail(ORT_INVALID_ARGUMENT, "there is no input %zu", index);
  *out = &c->inputs[index];
  (*out)->type = ort_type(t->dtype);
  (*out)->rank = t->rank;
  memcpy((*out)->shape, t->shape, sizeof(*out)->shape);
  return NULL;
}

/* Its type counts where the operator declares none. */
static ort_status *set_output(const ort_shape_context *c, size_t index,
                              const ort_shape_info *info) {
  if (index >= c->call->n_outputs)
    return ort_fail(ORT_INVALID_ARGUMENT, "output %zu of %u", index, c->call->n_outputs);
  tn_tensor *y = c->call->outputs[index];
  if (!y) return NULL; /* nobody asked for it */
  if (!y->dtype) y->dtype = ort_dtype(info->type);
  y->rank = info->rank;
  for (int32_t k = 0; k < y->rank; k++)
    y->shape[k] = info->shape[k] < 0 ? TN_DIM_UNKNOWN : info->shape[k];
  return NULL;
}

/* Which dims have names: they are open. */
static ort_status *set_names(ort_shape_info *info, const char **names, size_t n) {
  for (size_t k = 0; k < n && (int64_t)k < info->rank; k++)
    if (names[k] && *names[k]) info->shape[k] = TN_DIM_UNKNOWN;
  return NULL;
}

/* ---- attributes ---- */

enum { INT = 1, INTS, FLOAT, FLOATS, STRING, STRINGS }; /* OrtOpAttrType */

static ort_status *find(const ort_shape_context *c, const char *name, const tn_attr **out) {
  const tn_attrs *all = c->call->attrs;
  for (int64_t k = 0; name && k < all->size; k++) {
    *out = all->data[k];
    if (!strcmp(all->data[k]->name, name)) return NULL;
  }
  *out = NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "there is no attribute '%.200s'", name ? name : "");
}

/* *out: the bytes that it takes, said also where there is less room. */
static ort_status *check_room(size_t need, size_t room, size_t *out) {
  *out = need;
  if (need <= room) return NULL;
  return ort_fail(ORT_INVALID_ARGUMENT, "room for %zu bytes of an attribute that has %zu", room,
                  need);
}

static ort_status *read_floats(const double *from, int64_t n, float *to, size_t room, size_t *out) {
  ort_status *failed = check_room((size_t)n * sizeof *to, room, out);
  for (int64_t k = 0; k < n && !failed; k++) to[k] = (float)from[k];
  return failed;
}

static ort_status *read_ints(const int64_t *from, int64_t n, int64_t *to, size_t room,
                             size_t *out) {
  ort_status *failed = check_room((size_t)n * sizeof *to, room, out);
  if (!failed && n) memcpy(to, from, (size_t)n * sizeof *to);
  return failed;
}

/* One behind the other, a zero byte after each. */
static ort_status *read_texts(const tn_str *from, int64_t n, char *to, size_t room, size_t *out) {
  size_t need = 0;
  for (int64_t k = 0; k < n; k++) need += (size_t)from[k].size + 1;
  ort_status *failed = check_room(need, room, out);
  for (int64_t k = 0; k < n && !failed; k++) {
    if (from[k].size) memcpy(to, from[k].data, (size_t)from[k].size);
    to += from[k].size;
    *to++ = 0;
  }
  return failed;
}

static ort_status *read_attr(const tn_attr *a, int type, void *to, size_t room, size_t *out) {
  *out = 0;
  if (type == INT && a->kind == TN_ATTR_INT) return read_ints(&a->i, 1, to, room, out);
  if (type == INTS && a->kind == TN_ATTR_INTS)
    return read_ints(a->ints.data, a->ints.size, to, room, out);
  if (type == FLOAT && a->kind == TN_ATTR_FLOAT) return read_floats(&a->f, 1, to, room, out);
  if (type == FLOATS && a->kind == TN_ATTR_FLOATS)
    return read_floats(a->floats.data, a->floats.size, to, room, out);
  if (type == STRING && a->kind == TN_ATTR_STR) return read_texts(&a->s, 1, to, room, out);
  if (type == STRINGS && a->kind == TN_ATTR_STRS)
    return read_texts(a->strs.data, a->strs.size, to, room, out);
  return ort_fail(ORT_INVALID_ARGUMENT, "attribute '%.200s' is of another kind", a->name);
}

/* ---- asking an operator ---- */

typedef struct question {
  ort_shape_context *context;
  ort_status *failed;
} question;

static void ask(void *arg) {
  question *q = arg;
  q->failed = q->context->op->infer(q->context->op, q->context);
}

static void thrown(void *arg, const char *what) {
  ((question *)arg)->failed = ort_fail(ORT_FAIL, "%s", what);
}

tn_status ort_infer_shapes(const tn_call *call, const ort_entry *entry, const ort_op *op) {
  if (!ORT_HAS(op, infer, 17)) return TN_OK;
  ort_shape_context c = {call, op, calloc((size_t)call->n_inputs + 1, sizeof(ort_shape_info))};
  if (!c.inputs) return TN_ERR_MEMORY;
  question q = {&c, NULL};
  ort_guard(ask, &q, thrown);
  free(c.inputs);
  return ort_hand_on(call, entry, q.failed);
}

void ort_shape_functions(ort_function *table) {
  ORT_SET(table, ShapeInferContext_GetInputCount, count_inputs);
  ORT_SET(table, ShapeInferContext_GetInputTypeShape, input_shape);
  ORT_SET(table, ShapeInferContext_GetAttribute, find);
  ORT_SET(table, ShapeInferContext_SetOutputTypeShape, set_output);
  ORT_SET(table, SetSymbolicDimensions, set_names);
  ORT_SET(table, ReadOpAttr, read_attr);
}
