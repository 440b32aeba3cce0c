/* What the tests of plug-ins in files share: a folder of their own, runtimes, copies of modules,
 * and models that are made by hand. Functions are marked unused: no test needs all. */
#ifndef TENON_TESTS_PLUGINS_KIT_H
#define TENON_TESTS_PLUGINS_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/diag.h"
#include "tenon/tenon.h"

#define UNUSED __attribute__((unused))

static char kit_dir[64]; /* fresh, ours alone */

static UNUSED int kit_open(void **state) {
  (void)state;
  strcpy(kit_dir, "/tmp/tenon-plugins-XXXXXX");
  unsetenv("TENON_PLUGIN_PATH");
  unsetenv("TENON_PLUGIN_ALLOW");
  setenv("TENON_PLUGIN_DIR", "/nonexistent/plugins", 1); /* what is installed does not count */
  unsetenv("TENON_PLUGIN_VET");
  unsetenv("TENON_TEST_LOG");
  return mkdtemp(kit_dir) ? 0 : 1;
}

static UNUSED int kit_close(void **state) {
  char command[128];
  (void)state;
  snprintf(command, sizeof command, "rm -rf '%s'", kit_dir);
  return system(command);
}

/* dir/name; good until eight more were asked for. */
static UNUSED const char *kit_path(const char *name) {
  static char paths[8][256];
  static int next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", kit_dir, name);
  return path;
}

static UNUSED const char *kit_write(const char *name, const char *text, mode_t mode) {
  const char *path = kit_path(name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  fclose(file);
  chmod(path, mode);
  return path;
}

static UNUSED const char *kit_read(const char *path) {
  static char text[4096];
  memset(text, 0, sizeof text);
  FILE *file = fopen(path, "r");
  if (!file) return "";
  const size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = 0;
  return text;
}

/* A copy, always of a new inode: the linker knows files by it. */
static UNUSED const char *kit_module(const char *module, const char *name) {
  char command[1024];
  const char *path = kit_path(name);
  snprintf(command, sizeof command,
           "cp --remove-destination '" TEST_PLUGINS "/%s' '%s' && chmod 644 '%s'", module, path,
           path);
  assert_int_equal(system(command), 0);
  return path;
}

/* ---- runtimes ---- */

static UNUSED tn_runtime_options kit_options(uint32_t flags) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1;
  options.flags = flags;
  return options;
}

static UNUSED tn_runtime *kit_runtime(const tn_runtime_options *options, tn_diag *diag) {
  tn_runtime *rt = NULL;
  if (tn_runtime_create(options, diag, &rt)) fail_msg("no runtime: %s", tn_diag_text(diag));
  return rt;
}

static UNUSED void kit_load(tn_runtime *rt, const char *path, tn_diag *diag) {
  tn_diag_clear(diag);
  if (tn_runtime_load_plugin(rt, path, NULL, 0, diag)) fail_msg("%s: %s", path, tn_diag_text(diag));
}

static UNUSED void kit_says(tn_diag *diag, const char *text) {
  if (!strstr(tn_diag_text(diag), text)) fail_msg("expected '%s' in: %s", text, tn_diag_text(diag));
}

static UNUSED tn_plugin_info kit_info(tn_runtime *rt, int32_t index) {
  tn_plugin_info info = {.head = TN_HEAD(tn_plugin_info)};
  assert_int_equal(tn_runtime_plugin(rt, index, &info), TN_OK);
  return info;
}

static UNUSED bool kit_noted(const tn_plugin_info *info, const char *text) {
  for (uint32_t k = 0; k < info->n_notes; k++)
    if (strstr(info->notes[k], text)) return true;
  return false;
}

/* ---- models ---- */

/* y = domain::op(x), with x: f32[?]. NULL: status says why not. */
static UNUSED tn_model *kit_model(tn_runtime *rt, const char *domain, const char *op, tn_diag *diag,
                                  tn_status *out_status) {
  const tn_graph_api *api = tn_graph_functions();
  const int64_t shape[] = {TN_DIM_UNKNOWN};
  tn_graph *g = NULL;
  tn_model *model = NULL;
  *out_status = tn_graph_create(rt, &g);
  if (*out_status) return NULL;
  const tn_tensor type = tn_tensor_make(TN_F32, 1, shape, NULL);
  const int32_t x = api->value(g, "x"), y = api->value(g, "y");
  api->set_opset(g, domain, *domain ? 1 : 13);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = op,
                        .name = "n",
                        .n_inputs = 1,
                        .n_outputs = 1,
                        .inputs = &x,
                        .outputs = &y,
                        .offset = -1};
  api->value_set_type(g, x, &type);
  api->add_input(g, x);
  api->add_node(g, &node);
  api->add_output(g, y);
  *out_status = tn_model_from_graph_take(rt, g, NULL, diag, &model);
  return model;
}

/* What the model makes of 3; a status in *out_status. */
static UNUSED float kit_run(tn_session *session, int64_t n, tn_status *out_status) {
  float x[64];
  for (int64_t k = 0; k < n; k++) x[k] = 3;
  const tn_tensor t = tn_tensor_make(TN_F32, 1, &n, x);
  *out_status = tn_session_set_input(session, 0, &t, NULL);
  if (!*out_status) *out_status = tn_session_run(session, NULL);
  return *out_status ? 0 : ((const float *)tn_session_output(session, 0)->data)[n - 1];
}

#endif
