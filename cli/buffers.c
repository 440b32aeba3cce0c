/* Inputs and outputs that stay in buffers of the device, as a decoder's keys and values do. */
#include "buffers.h"

#include <fnmatch.h>
#include <string.h>

struct cli_buffers {
  tn_arena arena;
  tn_device_buffer **inputs, **outputs;
  tn_tensor *seen; /* per output: with data once it was read */
};

static tn_status make(cli_session *s) {
  const uint64_t n_in = (uint64_t)s->inputs.n_all + 1,
                 n_out = (uint64_t)tn_model_n_outputs(s->model) + 1;
  struct cli_buffers *b = tn_alloc(tn_default_allocator(), sizeof *b);
  if (!b) return TN_ERR_MEMORY;
  tn_arena_init(&b->arena, tn_default_allocator());
  b->inputs = tn_arena_alloc(&b->arena, n_in * sizeof *b->inputs);
  b->outputs = tn_arena_alloc(&b->arena, n_out * sizeof *b->outputs);
  b->seen = tn_arena_alloc(&b->arena, n_out * sizeof *b->seen);
  s->buffers = b;
  return b->inputs && b->outputs && b->seen ? TN_OK : TN_ERR_MEMORY;
}

static tn_status bind_input(cli_session *s, int32_t k) {
  const tn_tensor *value = &s->inputs.values[k];
  tn_device_buffer **to = &s->buffers->inputs[k];
  if (*to || k >= s->inputs.n) return TN_OK;
  const int64_t bytes = tn_tensor_bytes(value);
  if (!value->data || bytes < 0 || value->kind != TN_KIND_TENSOR || value->dtype == TN_STRING)
    return tn_fail(s->diag, TN_ERR_INVALID, "--on-device: input '%s' is no tensor of numbers",
                   tn_model_input_name(s->model, k));
  tn_status status = tn_device_buffer_create(s->model, NULL, (uint64_t)bytes, s->diag, to);
  if (!status) status = tn_device_buffer_write(*to, 0, value->data, (uint64_t)bytes, s->diag);
  return status ? status : tn_session_bind_input(s->session, k, value, *to, 0, s->diag);
}

static tn_status bind_output(cli_session *s, int32_t k) {
  tn_tensor type = {.head = TN_HEAD(tn_tensor)};
  tn_device_buffer **to = &s->buffers->outputs[k];
  if (*to) return TN_OK;
  tn_status status = tn_session_output_type(s->session, k, &type);
  const int64_t bytes = tn_tensor_bytes(&type);
  if (!status && (bytes < 0 || type.kind != TN_KIND_TENSOR || type.dtype == TN_STRING))
    status = tn_fail(s->diag, TN_ERR_UNSUPPORTED,
                     "--on-device: only a run tells how large output '%s' is",
                     tn_model_output_name(s->model, k));
  if (!status) status = tn_device_buffer_create(s->model, NULL, (uint64_t)bytes, s->diag, to);
  return status ? status : tn_session_bind_output(s->session, k, *to, 0, s->diag);
}

static tn_status bind_all(cli_session *s, const char *pattern, bool outputs, bool *found) {
  const int32_t n = outputs ? tn_model_n_outputs(s->model) : s->inputs.n;
  tn_status status = TN_OK;
  for (int32_t k = 0; k < n && !status; k++) {
    const char *name =
        outputs ? tn_model_output_name(s->model, k) : tn_model_input_name(s->model, k);
    if (fnmatch(pattern, name, 0)) continue;
    *found = true;
    status = outputs ? bind_output(s, k) : bind_input(s, k);
  }
  return status;
}

tn_status cli_buffers_bind(cli_session *s, const char *const *patterns, int n) {
  if (!n) return TN_OK;
  if (!s->common->n_devices)
    return tn_fail(s->diag, TN_ERR_INVALID, "--on-device needs --device, which says where");
  tn_status status = make(s);
  if (!status) status = tn_session_prepare(s->session, s->diag); /* tells the types of outputs */
  for (int k = 0; k < n && !status; k++) {
    bool found = false;
    status = bind_all(s, patterns[k], true, &found); /* while the session is prepared */
    if (!status) status = bind_all(s, patterns[k], false, &found);
    if (!status && !found)
      status = tn_fail(s->diag, TN_ERR_NOT_FOUND,
                       "--on-device %s: the model has no such input or output", patterns[k]);
  }
  return status;
}

const tn_tensor *cli_output(cli_session *s, int32_t k) {
  const tn_tensor *value = tn_session_output(s->session, k);
  if (!value || !s->buffers || !s->buffers->outputs[k]) return value;
  tn_tensor *seen = &s->buffers->seen[k];
  const uint64_t bytes = (uint64_t)tn_tensor_bytes(value);
  if (seen->data) return seen;
  *seen = *value;
  seen->data = tn_arena_alloc(&s->buffers->arena, bytes + 1);
  if (seen->data && tn_device_buffer_read(s->buffers->outputs[k], 0, seen->data, bytes, s->diag))
    seen->data = NULL;
  return seen->data ? seen : NULL;
}

void cli_buffers_close(cli_session *s) {
  struct cli_buffers *b = s->buffers;
  if (!b) return;
  for (int32_t k = 0; b->inputs && k < s->inputs.n_all; k++) tn_device_buffer_destroy(b->inputs[k]);
  for (int32_t k = 0; b->outputs && k < tn_model_n_outputs(s->model); k++)
    tn_device_buffer_destroy(b->outputs[k]);
  tn_arena_clear(&b->arena);
  tn_free(tn_default_allocator(), b, sizeof *b);
  s->buffers = NULL;
}
