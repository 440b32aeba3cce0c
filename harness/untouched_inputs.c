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
}

check_buffer *check_attrs_guard(const check_problem *p, tn_call *call) {
  const uint64_t bytes = (uint64_t)p->op->schema.attrs_size;
  if (!call->attrs || !bytes) return NULL;
  check_buffer *b = check_buffer_new(p->env, bytes, 8, true, "the attributes");
  memcpy(b->data, call->attrs, bytes);
  call->attrs = b->data;
  return b;
}

static void compare(check_env *env, const check_copy *c, const tn_call *call, const char *who,
                    bool outputs) {
  if (memcmp(&c->call, call, sizeof *call)) {
    check_fail(env, "%s changes its call", who);
    return;
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
