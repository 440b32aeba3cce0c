/* tenon plugin list: the plug-ins that were found, and why some of them are not in use. */
#include <string.h>

#include "plugin.h"

/* A plug-in that --plugin names and that is refused is listed, like all others. */
static tn_runtime *open_runtime(cli_common *common) {
  int n = common->n_plugins;
  common->n_plugins = 0;
  tn_diag *diag = tn_diag_create(); /* what is refused is in the list */
  tn_runtime *runtime = cli_runtime(common);
  for (int k = 0; k < n && runtime; k++)
    tn_runtime_load_plugin(runtime, common->plugins[k], NULL, 0, diag);
  tn_diag_destroy(diag);
  return runtime;
}

static bool get(const tn_runtime *runtime, int32_t k, tn_plugin_info *out) {
  *out = (tn_plugin_info){.head = TN_HEAD(tn_plugin_info)};
  return tn_runtime_plugin(runtime, k, out) == TN_OK;
}

static const char *text_of(const char *text) { return text ? text : ""; }

static void print(const tn_runtime *runtime, const cli_plugin_options *o) {
  static const char *const head[] = {"plug-in", "version",  "ops",     "kernels", "rewrites",
                                     "formats", "found by", "licence", "file",    ""};
  tn_plugin_info p;
  cli_table t;
  cli_table_init(&t, 10, 4 | 8 | 16 | 32);
  cli_table_row(&t, head);
  for (int32_t k = 0; get(runtime, k, &p); k++) {
    char counts[4][CLI_UNIT_TEXT];
    const uint32_t n[] = {p.n_ops, p.n_kernels, p.n_rewrites, p.n_formats};
    for (int i = 0; i < 4; i++) snprintf(counts[i], CLI_UNIT_TEXT, "%u", n[i]);
    const char *cells[] = {text_of(p.name),     text_of(p.version),
                           counts[0],           counts[1],
                           counts[2],           counts[3],
                           text_of(p.found_by), text_of(p.license),
                           text_of(p.path),     p.refused ? "refused" : ""};
    cli_table_row(&t, cells);
  }
  cli_table_print(&t, 0);
  for (int32_t k = 0; o->why && get(runtime, k, &p); k++)
    if (p.refused)
      printf("\n%s is refused:\n  %s\n", *text_of(p.path) ? p.path : p.name, p.refused);
}

static bool write_json(const tn_runtime *runtime, const cli_plugin_options *o) {
  tn_plugin_info p;
  cli_json *json = cli_json_new();
  cli_json *list = cli_json_array(json, "plugins");
  for (int32_t k = 0; get(runtime, k, &p); k++) {
    cli_json *e = cli_json_object(list, NULL);
    cli_json_text(e, "name", p.name);
    cli_json_text(e, "version", p.version);
    cli_json_text(e, "license", p.license);
    cli_json_text(e, "build_id", p.build_id);
    cli_json_text(e, "path", p.path);
    cli_json_text(e, "found_by", p.found_by);
    cli_json_int(e, "ops", p.n_ops);
    cli_json_int(e, "kernels", p.n_kernels);
    cli_json_int(e, "rewrites", p.n_rewrites);
    cli_json_int(e, "formats", p.n_formats);
    cli_json_text(e, "refused", p.refused);
  }
  return cli_json_write_take(json, o->json);
}

int cli_plugin_list(cli_plugin_options *o) {
  tn_runtime *runtime = open_runtime(&o->common);
  if (!runtime) return CLI_INPUT;
  tn_plugin_info p;
  int code = CLI_OK;
  for (int32_t k = 0; get(runtime, k, &p); k++)
    if (p.refused) code = CLI_FAILED;
  if (!cli_json_to_stdout(o->json)) print(runtime, o);
  if (o->json && !write_json(runtime, o)) code = CLI_INPUT;
  tn_runtime_destroy(runtime);
  return code;
}
