/* tenon plugin list: the plug-ins that were found, what they offer, and every decision about them:
 * where they were looked for, why each is in use or not, and whose kernels stand before which. */
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

static bool get_folder(const tn_runtime *runtime, int32_t k, tn_folder_info *out) {
  *out = (tn_folder_info){.head = TN_HEAD(tn_folder_info)};
  return tn_runtime_folder(runtime, k, out) == TN_OK;
}

static const char *text_of(const char *text) { return text ? text : ""; }

/* ---- text ---- */

/* What stands in no column. What is built in offers hundreds of parts: `plugin info` has them. */
static void print_offers(const tn_plugin_info *p) {
  if (p->refused) return;
  if (p->flags & TN_PLUGIN_THREADS) cli_print("\n%s makes threads of its own\n", p->name);
  if (p->path && *p->path && p->offers && *p->offers)
    cli_print("\n%s offers %s\n", p->name, p->offers);
}

static void print_table(const tn_runtime *runtime) {
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
  for (int32_t k = 0; get(runtime, k, &p); k++) print_offers(&p);
}

static void print_folders(const tn_runtime *runtime) {
  tn_folder_info f;
  if (tn_runtime_n_folders(runtime)) cli_print("\nplug-ins were looked for in:\n");
  for (int32_t k = 0; get_folder(runtime, k, &f); k++) {
    cli_print("  '%s' (%s): ", f.folder, f.found_by);
    if (f.refused)
      cli_print("left out: %s\n", f.refused);
    else
      cli_print("%u files *.so, %u of other names, which are not looked at\n", f.n_files,
                f.n_others);
  }
}

/* A line for each reason. */
static void print_refused(const char *name, const char *why) {
  cli_print("\n%s is refused:\n", name);
  while (*why) {
    const int n = (int)strcspn(why, "\n");
    cli_print("  %.*s\n", n, why);
    why += n + (why[n] != 0);
  }
}

static void print_why(const tn_runtime *runtime) {
  tn_plugin_info p;
  print_folders(runtime);
  for (int32_t k = 0; get(runtime, k, &p); k++) {
    const char *name = *text_of(p.path) ? p.path : p.name;
    if (p.refused)
      print_refused(name, p.refused);
    else
      cli_print("\n%s is in use as '%s' (%s)\n", name, p.name, p.found_by);
    if (*text_of(p.sha256)) cli_print("  SHA-256 %s\n", p.sha256);
    for (uint32_t i = 0; i < p.n_notes; i++) cli_print("  %s\n", p.notes[i]);
  }
}

/* ---- kernels that compete with others ---- */

static bool is_same_op(const char *a, const char *b) {
  static const char onnx[] = "ai.onnx::";
  if (!strncmp(a, onnx, strlen(onnx))) a += strlen(onnx);
  if (!strncmp(b, onnx, strlen(onnx))) b += strlen(onnx);
  return !strcmp(a, b);
}

static void json_kernel(cli_json *to, const tn_kernel *kernel, const char *plugin) {
  cli_json_text(to, "kernel", kernel->name);
  cli_json_text(to, "plugin", plugin);
  cli_json_int(to, "rank", kernel->rank);
}

/* The kernels of a plug-in for operators that others have kernels for, too. */
static void json_competing(const tn_runtime *runtime, const char *plugin, cli_json *list) {
  const int32_t n = tn_runtime_n_kernels(runtime);
  for (int32_t k = 0; k < n; k++) {
    const tn_kernel *mine = tn_runtime_kernel(runtime, k);
    if (strcmp(tn_runtime_kernel_plugin(runtime, k), plugin)) continue;
    cli_json *e = NULL, *others = NULL;
    for (int32_t i = 0; i < n; i++) {
      const tn_kernel *other = tn_runtime_kernel(runtime, i);
      const char *owner = tn_runtime_kernel_plugin(runtime, i);
      if (!is_same_op(mine->op, other->op) || !strcmp(owner, plugin)) continue;
      if (!e) {
        e = cli_json_object(list, NULL);
        json_kernel(e, mine, plugin);
        cli_json_text(e, "op", mine->op);
        others = cli_json_array(e, "others");
      }
      cli_json *o = cli_json_object(others, NULL);
      json_kernel(o, other, owner);
      cli_json_text(o, "wins",
                    other->rank > mine->rank   ? "other"
                    : other->rank < mine->rank ? "this"
                                               : "the cheaper one");
    }
  }
}

/* ---- JSON ---- */

static void json_folders(const tn_runtime *runtime, cli_json *list) {
  tn_folder_info f;
  for (int32_t k = 0; get_folder(runtime, k, &f); k++) {
    cli_json *e = cli_json_object(list, NULL);
    cli_json_text(e, "folder", f.folder);
    cli_json_text(e, "found_by", f.found_by);
    cli_json_text(e, "refused", f.refused);
    cli_json_int(e, "files", f.n_files);
    cli_json_int(e, "others", f.n_others);
  }
}

static void json_plugin(const tn_runtime *runtime, const tn_plugin_info *p, cli_json *e) {
  cli_json_text(e, "name", p->name);
  cli_json_text(e, "version", p->version);
  cli_json_text(e, "license", p->license);
  cli_json_text(e, "build_id", p->build_id);
  cli_json_text(e, "path", p->path);
  cli_json_text(e, "sha256", p->sha256);
  cli_json_text(e, "found_by", p->found_by);
  cli_json_int(e, "ops", p->n_ops);
  cli_json_int(e, "kernels", p->n_kernels);
  cli_json_int(e, "rewrites", p->n_rewrites);
  cli_json_int(e, "formats", p->n_formats);
  cli_json_int(e, "drivers", p->n_drivers);
  cli_json_int(e, "device_kernels", p->n_device_kernels);
  cli_json_int(e, "compilers", p->n_compilers);
  cli_json_int(e, "dispatchers", p->n_dispatchers);
  cli_json_int(e, "extensions", p->n_extensions);
  cli_json_text(e, "offers", p->offers);
  cli_json_text(e, "refused", p->refused);
  cli_json *notes = cli_json_array(e, "notes");
  for (uint32_t i = 0; i < p->n_notes; i++) cli_json_text(notes, NULL, p->notes[i]);
  cli_json *competing = cli_json_array(e, "competing");
  if (!p->refused && p->origin != TN_ORIGIN_BUILT_IN) json_competing(runtime, p->name, competing);
}

static bool write_json(const tn_runtime *runtime, const char *file) {
  tn_plugin_info p;
  cli_json *json = cli_json_new();
  json_folders(runtime, cli_json_array(json, "folders"));
  cli_json *list = cli_json_array(json, "plugins");
  for (int32_t k = 0; get(runtime, k, &p); k++)
    json_plugin(runtime, &p, cli_json_object(list, NULL));
  return cli_json_write_take(json, file);
}

int cli_plugin_list(cli_plugin_options *o) {
  tn_runtime *runtime = open_runtime(&o->common);
  if (!runtime) return CLI_INPUT;
  tn_plugin_info p;
  int code = CLI_OK;
  for (int32_t k = 0; get(runtime, k, &p); k++)
    if (p.refused) code = CLI_FAILED;
  if (!cli_json_to_stdout(o->json)) {
    print_table(runtime);
    if (o->why) print_why(runtime);
  }
  if (o->json && !write_json(runtime, o->json)) code = CLI_INPUT;
  tn_runtime_destroy(runtime);
  return code;
}
