/* What a callback is shown: a copy of its call in pages of its own, which nobody can touch once it
 * has returned. A kernel that keeps a pointer to any of it crashes here where elsewhere it would
 * read or write what has become something else. */
#include <string.h>

#include "harness/harness.h"

static check_shown *shown_in(check_buffer *b) { return (check_shown *)(void *)b->data; }

/* The oldest goes when there are too many. */
static void keep(check_run *r, check_buffer *b) {
  if (r->n_shown == CHECK_MAX_SHOWN) {
    check_buffer_free(r->context.env, r->shown[0]);
    memmove(r->shown, r->shown + 1, (CHECK_MAX_SHOWN - 1) * sizeof *r->shown);
    r->n_shown--;
  }
  r->shown[r->n_shown++] = b;
}

const tn_call *check_show(check_run *r, const char *name) {
  check_buffer *b = check_buffer_new(r->context.env, sizeof(check_shown), 64, false, name);
  check_shown *s = shown_in(b);
  memset(s, 0, sizeof *s);
  s->call = r->call;
  s->context = &r->context;
  s->call.ctx = &s->context;
  for (uint32_t k = 0; k < CHECK_MAX_IO; k++) {
    if (r->in[k]) s->inputs[k] = *r->in[k], s->in[k] = &s->inputs[k];
    if (r->out[k]) s->outputs[k] = *r->out[k], s->out[k] = &s->outputs[k];
  }
  if (r->call.inputs) s->call.inputs = s->in;
  if (r->call.outputs) s->call.outputs = s->out;
  r->context.shown = s;
  keep(r, b);
  return &s->call;
}

/* All of it is the host's, and may only be read. */
static void check_unchanged(const check_run *r, const check_shown *s, const char *name) {
  check_env *env = r->context.env;
  tn_call call = r->call;
  call.ctx = s->call.ctx;
  if (call.inputs) call.inputs = (const tn_tensor *const *)s->in;
  if (call.outputs) call.outputs = (tn_tensor *const *)s->out;
  if (memcmp(&call, &s->call, sizeof call)) check_fail(env, "%s: it is changed", name);
  for (uint32_t k = 0; k < CHECK_MAX_IO; k++)
    if (s->in[k] != (r->in[k] ? &s->inputs[k] : NULL) ||
        s->out[k] != (r->out[k] ? &s->outputs[k] : NULL)) {
      check_fail(env, "%s: its tables of inputs and outputs are changed", name);
      return;
    }
  for (uint32_t k = 0; k < CHECK_MAX_IO; k++) {
    if (r->in[k] && memcmp(r->in[k], &s->inputs[k], sizeof *r->in[k]))
      check_fail(env, "%s: input %u itself is changed", name, k);
    if (r->out[k] && memcmp(r->out[k], &s->outputs[k], sizeof *r->out[k]))
      check_fail(env, "%s: output %u itself is changed, not only its data", name, k);
  }
}

void check_hide(check_run *r) {
  check_unchanged(r, r->context.shown, r->shown[r->n_shown - 1]->name);
  r->context.shown = NULL;
  check_buffer_take(r->shown[r->n_shown - 1]);
}

void check_shown_free(check_run *r) {
  while (r->n_shown) check_buffer_free(r->context.env, r->shown[--r->n_shown]);
}
