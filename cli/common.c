/* The runtime as the common options say, loading models, and printing diagnostics. */
#include "cli.h"

void cli_print_diag(tn_diag *diag) {
  static const char *const words[] = {"error", "warning", "note"};
  for (int64_t k = 0; k < tn_diag_count(diag); k++) {
    int32_t severity = TN_DIAG_ERROR;
    const char *text = tn_diag_message(diag, k, &severity);
    fprintf(stderr, "tenon: %s: %s\n", words[severity >= 0 && severity < 3 ? severity : 0], text);
  }
}

static tn_runtime *create(const cli_common *c, tn_diag *diag) {
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  o.n_threads = c->threads;
  o.isa_mask = c->isa_mask;
  o.pins = c->pins;
  o.n_pins = c->n_pins;
  tn_status s = tn_runtime_create(&o, diag, &runtime);
  for (uint32_t k = 0; k < c->n_plugins && !s; k++) s = tn_runtime_load_plugin(runtime, c->plugins[k], NULL, 0, diag);
  if (!s) return runtime;
  tn_runtime_destroy(runtime);
  return NULL;
}

tn_runtime *cli_runtime(const cli_common *c) {
  tn_diag *diag = tn_diag_create();
  tn_runtime *runtime = create(c, diag);
  cli_print_diag(diag);
  tn_diag_destroy(diag);
  return runtime;
}

tn_status cli_load(tn_runtime *runtime, const cli_common *c, const char *path, tn_diag *diag, tn_model **out_model) {
  tn_model_options o = {.head = TN_HEAD(tn_model_options), .flags = c->no_optimize ? TN_MODEL_NO_OPTIMIZE : 0};
  return tn_model_load(runtime, path, &o, diag, out_model);
}
