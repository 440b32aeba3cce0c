/* A program of a selected build asks for what it is linked without: each is refused with the line
 * that would add it. With "whole" it is linked with the whole library, which has them.
 * usage: without MODEL FOLDER [whole] */
#include <stdio.h>
#include <string.h>

#include "tenon/tenon.h"

static int failures;

/* whole: no refusal may say that anything was left out. */
static void expect(tn_status status, const char *service, tn_diag *diag, int whole) {
  char line[64];
  snprintf(line, sizeof line, "tenon select --with %s", service);
  const int said = strstr(tn_diag_text(diag), line) != NULL;
  if (said != !whole || (!whole && status != TN_ERR_UNSUPPORTED)) {
    printf("%s: %d, '%s'\n", service, (int)status, tn_diag_text(diag));
    failures++;
  }
  tn_diag_clear(diag);
}

static void try_tuning(tn_runtime *runtime, const char *folder, tn_diag *diag, int whole) {
  char path[1024];
  snprintf(path, sizeof path, "%s/times", folder);
  expect(tn_runtime_save_tuning(runtime, path, diag), "tuning", diag, whole);
  if (!whole && tn_runtime_tune(runtime, 1) != TN_ERR_UNSUPPORTED) failures++;
  if (tn_runtime_n_tuned(runtime)) failures++;
}

static void try_pins(const char *path, tn_diag *diag, int whole) {
  const char *pin = "Conv!=conv_f32_never*";
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  tn_model *model = NULL;
  options.pins = &pin;
  options.n_pins = 1;
  if (tn_runtime_create(&options, diag, &runtime)) failures++;
  expect(tn_model_load(runtime, path, NULL, diag, &model), "pins", diag, whole);
  tn_model_destroy(model);
  tn_runtime_destroy(runtime);
}

static void try_value(tn_runtime *runtime, const char *folder, tn_diag *diag, int whole) {
  static const unsigned char tensor[] = {8, 1, 16, 1, 0x22, 4, 0, 0, 0x80, 0x3f}; /* f32[1] = 1 */
  tn_tensor *value = NULL;
  char path[1024], name[16];
  snprintf(path, sizeof path, "%s/value.pb", folder);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(tensor, sizeof tensor, 1, f) != 1 || fclose(f)) failures++;
  expect(tn_value_load(runtime, path, "onnx", TN_KIND_TENSOR, diag, &value, name, sizeof name),
         "values", diag, whole);
  tn_value_destroy(value);
}

static void try_model(tn_runtime *runtime, const char *path, const char *folder, tn_diag *diag,
                      int whole) {
  const char *device = "shadow:0";
  char out[1024];
  tn_model_options options = {.head = TN_HEAD(tn_model_options)};
  tn_model *model = NULL;
  options.devices = &device;
  options.n_devices = 1;
  expect(tn_model_load(runtime, path, &options, diag, &model), "devices", diag, whole);
  tn_model_destroy(model);
  model = NULL;
  char text[256];
  const uint64_t n = tn_identify("GGUF\3\0\0\0", 8, NULL, text, sizeof text);
  if ((n && strstr(text, "GGUF")) != whole) failures++;
  if (tn_model_load(runtime, path, NULL, diag, &model)) failures++;
  snprintf(out, sizeof out, "%s/saved.onnx", folder);
  expect(tn_model_save(model, out, "onnx", NULL, NULL, diag), "writers", diag, whole);
  tn_model_destroy(model);
}

int main(int argc, char **argv) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  tn_diag *diag = tn_diag_create();
  const int whole = argc > 3;
  if (argc < 3) return 2;
  if (tn_runtime_create(&options, diag, &runtime)) return 3;
  expect(tn_runtime_load_plugin(runtime, "/nothing.so", NULL, 0, diag), "plugins", diag, whole);
  if (!whole && tn_runtime_n_devices(runtime)) failures++;
  try_model(runtime, argv[1], argv[2], diag, whole);
  try_tuning(runtime, argv[2], diag, whole);
  try_pins(argv[1], diag, whole);
  try_value(runtime, argv[2], diag, whole);
  expect(tn_runtime_cache_weights(runtime, argv[2], diag), "weight_cache", diag, whole);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  return failures != 0;
}
