/* A program as people ship it: loads a model, plans it, runs it once, prints a number that depends
 * on every bit of the outputs. Ends as `tenon check` does: 0, 1 if the model lacks something here,
 * 3 if it is broken.
 * usage: hello MODEL */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/tenon.h"

enum { MOST = 16 };

/* Ones in f32, zeros else; 1 for dims that are open. */
static tn_status feed(tn_model *model, tn_session *session, int32_t k, tn_diag *diag, void **out) {
  tn_tensor t = {.head = TN_HEAD(tn_tensor)};
  tn_status status = tn_model_input_type(model, k, &t);
  if (status || t.rank < 0 || t.kind != TN_KIND_TENSOR || t.dtype == TN_STRING)
    return status ? status : TN_ERR_INVALID;
  for (int32_t d = 0; d < t.rank; d++) t.shape[d] = t.shape[d] < 0 ? 1 : t.shape[d];
  *out = calloc(1, (size_t)tn_tensor_bytes(&t) + 1);
  if (!*out) return TN_ERR_MEMORY;
  for (int64_t i = 0; t.dtype == TN_F32 && i < tn_tensor_elements(&t); i++) ((float *)*out)[i] = 1;
  t = tn_tensor_make(t.dtype, t.rank, t.shape, *out);
  return tn_session_set_input(session, k, &t, diag);
}

static uint64_t digest(const tn_session *session, int32_t n) {
  uint64_t sum = 14695981039346656037u;
  for (int32_t k = 0; k < n; k++) {
    const tn_tensor *t = tn_session_output(session, k);
    const int is_plain = t && t->kind == TN_KIND_TENSOR && t->dtype != TN_STRING;
    const int64_t bytes = is_plain ? tn_tensor_bytes(t) : 0;
    for (int64_t i = 0; i < bytes; i++)
      sum = (sum ^ ((const unsigned char *)t->data)[i]) * 1099511628211u;
  }
  return sum;
}

int main(int argc, char **argv) {
  void *memory[MOST] = {NULL};
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_diag *diag = tn_diag_create();
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  options.isa_mask = UINT64_C(1) << 63; /* portable kernels, as `--isa none` */
  options.n_threads = 1;
  tn_status status = argc == 2 ? tn_runtime_create(&options, diag, &runtime) : TN_ERR_INVALID;
  if (!status) status = tn_model_load(runtime, argv[1], NULL, diag, &model);
  if (!status) status = tn_session_create(model, diag, &session);
  for (int32_t k = 0; !status && k < tn_model_n_inputs(model) && k < MOST; k++)
    status = feed(model, session, k, diag, &memory[k]);
  if (!status) status = tn_session_prepare(session, diag);
  if (!status && !tn_session_run(session, diag))
    printf("%016" PRIx64 "\n", digest(session, tn_model_n_outputs(model)));
  if (status) fprintf(stderr, "%s\n", diag ? tn_diag_text(diag) : "");
  tn_session_destroy(session);
  tn_model_destroy(model);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  for (int32_t k = 0; k < MOST; k++) free(memory[k]);
  return !status ? 0 : status == TN_ERR_UNSUPPORTED ? 1 : 3;
}
