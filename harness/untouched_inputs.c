/* Callbacks that only look: what they are handed is copied before and compared after, the call
 * itself, its tensors, the attributes, and data that are known. */
#include <string.h>

#include "harness/harness.h"

static void copy_tensor(check_copy *c, const tn_tensor *t, tn_tensor *out, void **out_data) {
  if (!t) return;
  *out = *t;
  const int64_t bytes = t->data && t->kind == TN_KIND_TENSOR ? tn_tensor_bytes(t) : 0;
  if (bytes > 0) *out_data = check_need(tn_arena_copy(&c->arena, t->data, (uint64_t)bytes));
}

static size_t bytes_of(uint32_t n) {
  return (n < CHECK_MAX_IO ? n : CHECK_MAX_IO) * sizeof(tn_tensor *);
}

void check_copy_take(const tn_call *call, uint64_t attrs_bytes, check_copy *out) {
  memset(out, 0, sizeof *out);
  tn_arena_init(&out->arena, tn_default_allocator());
  out->call = *call;
  out->attrs_bytes = attrs_bytes;
  if (call->attrs) out->attrs = check_need(tn_arena_copy(&out->arena, call->attrs, attrs_bytes));
  for (uint32_t k = 0; k < call->n_inputs && k < CHECK_MAX_IO; k++)
    copy_tensor(out, call->inputs[k], &out->inputs[k], &out->data[k]);
  for (uint32_t k = 0; k < call->n_outputs && k < CHECK_MAX_IO; k++)
    if (call->outputs[k]) out->outputs[k] = *call->outputs[k];
  if (call->n_inputs) memcpy(out->in, call->inputs, bytes_of(call->n_inputs));
  if (call->n_outputs) memcpy(out->out, call->outputs, bytes_of(call->n_outputs));
}

/* Lists of attributes all begin so. */
typedef struct any_list {
  void *data;
  int64_t size;
} any_list;

static uint64_t element_bytes(const tn_arg *arg) {
  const bool is_text = arg->base == TN_TYPE_STR || arg->base == TN_TYPE_DIMNAME;
  return is_text ? sizeof(tn_str) : 8; /* ints, floats, pointers */
}

static check_buffer *guard(check_env *env, check_attrs *out, const void *data, uint64_t bytes,
                           const char *name) {
  check_buffer *b = out->buffers[out->n++] = check_buffer_new(env, bytes, 8, true, name);
  if (bytes) memcpy(b->data, data, bytes);
  return b;
}

void check_attrs_open(const check_problem *p, tn_call *call, check_attrs *out) {
  const tn_schema *schema = &p->op->schema;
  out->n = 0;
  if (!call->attrs || !schema->attrs_size) return;
  check_buffer *all =
      guard(p->env, out, call->attrs, (uint64_t)schema->attrs_size, "the attributes");
  for (int32_t k = 0; k < schema->n_args && out->n <= CHECK_MAX_LISTS; k++) {
    const tn_arg *arg = &schema->args[k];
    any_list list;
    if (arg->role != TN_ROLE_ATTR || !arg->list) continue;
    memcpy(&list, all->data + arg->offset, sizeof list);
    if (list.size <= 0) continue;
    list.data =
        guard(p->env, out, list.data, (uint64_t)list.size * element_bytes(arg), arg->name)->data;
    memcpy(all->data + arg->offset, &list, sizeof list);
  }
  call->attrs = all->data;
  for (int32_t k = 0; k < out->n; k++) check_buffer_protect(out->buffers[k], true);
}

void check_attrs_close(check_env *env, check_attrs *attrs) {
  while (attrs->n) check_buffer_free(env, attrs->buffers[--attrs->n]);
}

static void compare(check_env *env, const check_copy *c, const tn_call *call, const char *who,
                    bool outputs) {
  if (memcmp(&c->call, call, sizeof *call)) {
    check_fail(env, "%s changes its call", who);
    return;
  }
  if ((call->n_inputs && memcmp(c->in, call->inputs, bytes_of(call->n_inputs))) ||
      (call->n_outputs && memcmp(c->out, call->outputs, bytes_of(call->n_outputs)))) {
    check_fail(env, "%s changes the tables of its inputs or outputs", who);
    memcpy((void *)(uintptr_t)call->inputs, c->in, bytes_of(call->n_inputs));
    memcpy((void *)(uintptr_t)call->outputs, c->out, bytes_of(call->n_outputs));
  }
  if (c->attrs && memcmp(c->attrs, call->attrs, c->attrs_bytes))
    check_fail(env, "%s changes the attributes of the node", who);
  for (uint32_t k = 0; k < call->n_inputs && k < CHECK_MAX_IO; k++) {
    const tn_tensor *t = call->inputs[k];
    if (t && memcmp(&c->inputs[k], t, sizeof *t))
      check_fail(env, "%s changes the type of input %u", who, k);
    else if (t && c->data[k] && memcmp(c->data[k], t->data, (size_t)tn_tensor_bytes(t)))
      check_fail(env, "%s changes the data of input %u", who, k);
  }
  for (uint32_t k = 0; outputs && k < call->n_outputs && k < CHECK_MAX_IO; k++)
    if (call->outputs[k] && memcmp(&c->outputs[k], call->outputs[k], sizeof *call->outputs[k]))
      check_fail(env, "%s changes the type of output %u", who, k);
}

void check_copy_compare(check_env *env, tn_call *call, const char *who, bool outputs,
                        check_copy *copy) {
  compare(env, copy, call, who, outputs);
  *call = copy->call; /* for what the caller does with it yet */
  tn_arena_clear(&copy->arena);
}
