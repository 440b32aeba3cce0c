/* Loads a model, feeds it ones, runs it and prints what comes out.
 * usage: run_model MODEL */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

/* Gives input k the declared type, with 1 for unknown dims, and memory full of ones. */
static tn_status feed(tn_model *model, tn_session *session, int32_t k, tn_diag *diag, float **out) {
  tn_tensor t = {.head = TN_HEAD(tn_tensor)};
  tn_status status = tn_model_input_type(model, k, &t);
  if (status || t.dtype != TN_F32 || t.rank < 0) return status ? status : TN_ERR_UNSUPPORTED;
  for (int32_t d = 0; d < t.rank; d++) t.shape[d] = t.shape[d] < 0 ? 1 : t.shape[d];
  *out = malloc((size_t)tn_tensor_bytes(&t) + 1);
  if (!*out) return TN_ERR_MEMORY;
  for (int64_t i = 0; i < tn_tensor_elements(&t); i++) (*out)[i] = 1.0f;
  t = tn_tensor_make(TN_F32, t.rank, t.shape, *out);
  return tn_session_set_input(session, k, &t, diag);
}

static void print(const char *name, const tn_tensor *t) {
  printf("%s: %s [", name, tn_dtype_name(t->dtype));
  for (int32_t d = 0; d < t->rank; d++) printf("%s%lld", d ? ", " : "", (long long)t->shape[d]);
  printf("] =");
  for (int64_t i = 0; t->dtype == TN_F32 && i < tn_tensor_elements(t) && i < 8; i++)
    printf(" %g", (double)((const float *)t->data)[i]);
  printf("\n");
}

int main(int argc, char **argv) {
  enum { MOST_INPUTS = 16 };
  float *memory[MOST_INPUTS] = {NULL};
  tn_runtime *runtime = NULL;
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_diag *diag = tn_diag_create();
  tn_status status = argc == 2 ? tn_runtime_create(NULL, diag, &runtime) : TN_ERR_INVALID;
  if (!status) status = tn_model_load(runtime, argv[1], NULL, diag, &model);
  if (!status) status = tn_session_create(model, diag, &session);
  for (int32_t k = 0; !status && k < tn_model_n_inputs(model) && k < MOST_INPUTS; k++)
    status = feed(model, session, k, diag, &memory[k]);
  if (!status) status = tn_session_run(session, diag);
  for (int32_t k = 0; !status && k < tn_model_n_outputs(model); k++)
    print(tn_model_output_name(model, k), tn_session_output(session, k));
  if (status) fprintf(stderr, "%s\n%s\n", tn_status_text(status), diag ? tn_diag_text(diag) : "");
  tn_session_destroy(session);
  tn_model_destroy(model);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  for (int32_t k = 0; k < MOST_INPUTS; k++) free(memory[k]);
  return status ? 1 : 0;
}
