/* tenon ops: the operators that there are, their versions, types and kernels, and where they are
 * written. */
#include "ops.h"
#include "base/near.h"

#include <string.h>

#include "base/cpu.h"
#include "json.h"

enum { MAX_NAMES = 256 };

typedef struct ops_options {
  cli_common common;
  const char *json, *format, *names[MAX_NAMES];
  int n_names;
  bool where;
} ops_options;

static const cli_option options[] = {
    {"format", "NAME", "what becomes of the operators of this format; else those it can use", 'f'},
    {"where", "OP", "name the folders in which an operator and its kernels are written", 'w'},
    {"json", "[FILE]", "as JSON, to stdout if no file is named", 0},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_ops = {
    .name = "ops",
    .arguments = "[OP...]",
    .summary = "list operators: versions, types, kernels, and where they are written",
    .details =
        "Operators that are named are shown in full. Versions are those of ONNX operator "
        "sets; 13+ is from 13 on.",
    .examples = "ops\nops --format tflite\nops Conv com.acme::Foo\nops --where Clip",
    .options = options,
    .groups = {&cli_common_group},
    .run = run};

/* ---- choosing ---- */

static const tn_format *find_format(const tn_runtime *runtime, const char *name) {
  for (int32_t k = 0; k < tn_runtime_n_formats(runtime); k++)
    if (!strcmp(tn_runtime_format(runtime, k)->name, name)) return tn_runtime_format(runtime, k);
  cli_error("--format: there is no format '%s'", name);
  return NULL;
}

static bool has_domain(const tn_format *format, const char *domain) {
  if (!format || !format->domains) return true;
  const char *name = *domain ? domain : "ai.onnx";
  for (const char *at = format->domains; *at;) {
    size_t n = strcspn(at, ",");
    if (strlen(name) == n && !strncmp(at, name, n)) return true;
    at += n + (at[n] == ',');
  }
  return false;
}

static bool is_wanted(const ops_options *o, const tn_format *format, const cli_op_group *g) {
  bool named = !o->n_names;
  for (int k = 0; k < o->n_names; k++) named = named || cli_op_group_is(g, o->names[k]);
  return named && has_domain(format, g->domain);
}

/* All names are of operators; else a message for each that is not. */
static bool names_known(const tn_runtime *runtime, const ops_options *o) {
  bool ok = true;
  char meant[TN_NEAR_TEXT];
  for (int k = 0; k < o->n_names; k++) {
    cli_op_group g;
    bool found = false;
    for (int32_t i = 0; !found && cli_op_group_at(runtime, i, &g); i += g.n)
      found = cli_op_group_is(&g, o->names[k]);
    if (!found)
      cli_error("there is no operator '%s'; no plug-in offers it%s", o->names[k],
                cli_near_op(runtime, o->names[k], meant));
    ok = ok && found;
  }
  return ok;
}

/* ---- the list ---- */

/* Counts kernels; libraries: their names, each once. */
static int32_t kernels_text(const tn_runtime *runtime, const cli_op_group *g, char *libraries) {
  char word[CLI_UNIT_TEXT];
  int32_t n = 0;
  *libraries = 0;
  for (int32_t k = 0; k < tn_runtime_n_kernels(runtime); k++) {
    const tn_kernel *kernel = tn_runtime_kernel(runtime, k);
    if (!cli_kernel_is_of(kernel, g)) continue;
    n++;
    cli_library_text(kernel, word);
    size_t at = strlen(libraries);
    if (!strstr(libraries, word))
      snprintf(libraries + at, CLI_OPS_TEXT - at, "%s%s", at ? ", " : "", word);
  }
  const tn_op *newest = tn_runtime_op(runtime, g->first + g->n - 1);
  if (!n) snprintf(libraries, CLI_OPS_TEXT, "%s", newest->lower ? "lowered to others" : "none");
  return n;
}

static void print_list(const tn_runtime *runtime, const ops_options *o, const tn_format *format) {
  static const char *const head[] = {"operator", "versions", "types", "kernels", "libraries"};
  char name[300], versions[CLI_OPS_TEXT], types[CLI_OPS_TEXT], libraries[CLI_OPS_TEXT];
  char count[CLI_UNIT_TEXT];
  cli_table t;
  cli_op_group g;
  int n = 0;
  cli_table_init(&t, 5, 1 << 3);
  cli_table_row(&t, head);
  for (int32_t k = 0; cli_op_group_at(runtime, k, &g); k += g.n) {
    if (!is_wanted(o, format, &g)) continue;
    n++;
    snprintf(count, sizeof count, "%d", kernels_text(runtime, &g, libraries));
    const char *cells[] = {
        cli_op_text(g.domain, g.name, name, sizeof name), cli_versions_text(runtime, &g, versions),
        cli_op_types_text(tn_runtime_op(runtime, g.first + g.n - 1), types), count, libraries};
    cli_table_row(&t, cells);
  }
  cli_table_print(&t, 0);
  printf("%d operators\n", n);
}

/* ---- one operator ---- */

static const char *needs_text(const tn_kernel *kernel, char *buf, size_t size) {
  tn_isa_text(kernel->isa, buf, size);
  return buf;
}

static void print_op(const tn_op *op, const char *plugin) {
  char types[CLI_OPS_TEXT];
  printf("\n  version %d", op->since);
  if (op->until > op->since) printf(" to %d", op->until);
  printf("%s, from %s\n", op->until ? "" : " and later", plugin);
  if (op->doc) printf("    %s\n", op->doc);
  printf("    %s\n", op->schema);
  for (uint32_t k = 0; k < op->n_types; k++)
    printf("    %s: %s\n", op->types[k]->args, cli_dtypes_text(op->types[k]->dtypes, types));
  if (op->source) printf("    in %s\n", op->source);
}

static void print_kernels(const tn_runtime *runtime, const cli_op_group *g) {
  static const char *const head[] = {"kernel", "library", "needs", "from", "in"};
  char library[CLI_UNIT_TEXT], needs[200];
  cli_table t;
  int n = 0;
  cli_table_init(&t, 5, 0);
  cli_table_row(&t, head);
  for (int32_t k = 0; k < tn_runtime_n_kernels(runtime); k++) {
    const tn_kernel *kernel = tn_runtime_kernel(runtime, k);
    if (!cli_kernel_is_of(kernel, g)) continue;
    const char *cells[] = {
        kernel->name, cli_library_text(kernel, library), needs_text(kernel, needs, sizeof needs),
        tn_runtime_kernel_plugin(runtime, k), kernel->source ? kernel->source : ""};
    cli_table_row(&t, cells);
    n++;
  }
  if (!n) {
    const char *none[] = {"none", "", "", "", ""};
    cli_table_row(&t, none);
  }
  putchar('\n');
  cli_table_print(&t, 2);
}

static void print_in_full(const tn_runtime *runtime, const ops_options *o,
                          const tn_format *format) {
  char name[300];
  cli_op_group g;
  for (int32_t k = 0; cli_op_group_at(runtime, k, &g); k += g.n) {
    if (!is_wanted(o, format, &g)) continue;
    printf("%s\n", cli_op_text(g.domain, g.name, name, sizeof name));
    for (int32_t i = g.first; i < g.first + g.n; i++)
      print_op(tn_runtime_op(runtime, i), tn_runtime_op_plugin(runtime, i));
    print_kernels(runtime, &g);
  }
}

/* ---- where ---- */

/* Where a part without a source comes from, too. */
static void place(const char *source, const char *plugin, char *buf) {
  cli_folder_text(source, buf);
  if (!*buf && source && *source)
    snprintf(buf, CLI_OPS_TEXT, "%s", source);
  else if (!*buf)
    snprintf(buf, CLI_OPS_TEXT, "plug-in %s, which does not say where", plugin);
}

static void print_where(const tn_runtime *runtime, const cli_op_group *g) {
  char name[300], at[CLI_OPS_TEXT], last[CLI_OPS_TEXT] = "";
  cli_op_text(g->domain, g->name, name, sizeof name);
  for (int32_t i = g->first; i < g->first + g->n; i++) {
    place(tn_runtime_op(runtime, i)->source, tn_runtime_op_plugin(runtime, i), at);
    if (strcmp(at, last)) printf("operator %s: %s\n", name, at);
    strcpy(last, at);
  }
  for (int32_t k = 0; k < tn_runtime_n_kernels(runtime); k++) {
    const tn_kernel *kernel = tn_runtime_kernel(runtime, k);
    if (!cli_kernel_is_of(kernel, g)) continue;
    place(kernel->source, tn_runtime_kernel_plugin(runtime, k), at);
    printf("kernel %s: %s\n", kernel->name, at);
  }
}

/* ---- JSON ---- */

static void json_version(const tn_runtime *runtime, cli_json *list, int32_t index) {
  const tn_op *op = tn_runtime_op(runtime, index);
  cli_json *o = cli_json_object(list, NULL);
  cli_json_int(o, "since", op->since);
  if (op->until) cli_json_int(o, "until", op->until);
  cli_json_text(o, "schema", op->schema);
  cli_json_text(o, "doc", op->doc);
  cli_json_text(o, "plugin", tn_runtime_op_plugin(runtime, index));
  cli_json_text(o, "source", op->source);
  cli_json *types = cli_json_array(o, "types");
  for (uint32_t k = 0; k < op->n_types; k++) {
    cli_json *rule = cli_json_object(types, NULL);
    cli_json_text(rule, "arguments", op->types[k]->args);
    cli_json *list_of = cli_json_array(rule, "dtypes");
    for (uint32_t d = 1; d < TN_DTYPE_COUNT; d++)
      if (op->types[k]->dtypes & TN_MASK(d)) cli_json_text(list_of, NULL, tn_dtype_name(d));
  }
}

static void json_kernels(const tn_runtime *runtime, cli_json *list, const cli_op_group *g) {
  char needs[200], library[CLI_UNIT_TEXT];
  for (int32_t k = 0; k < tn_runtime_n_kernels(runtime); k++) {
    const tn_kernel *kernel = tn_runtime_kernel(runtime, k);
    if (!cli_kernel_is_of(kernel, g)) continue;
    cli_json *o = cli_json_object(list, NULL);
    cli_json_text(o, "name", kernel->name);
    cli_json_text(o, "device", kernel->device);
    cli_json_text(o, "library", cli_library_text(kernel, library));
    cli_json_int(o, "rank", kernel->rank);
    cli_json_text(o, "needs", needs_text(kernel, needs, sizeof needs));
    cli_json_text(o, "plugin", tn_runtime_kernel_plugin(runtime, k));
    cli_json_text(o, "source", kernel->source);
  }
}

static bool write_json(const tn_runtime *runtime, const ops_options *o, const tn_format *format) {
  cli_json *json = cli_json_new();
  cli_json *list = cli_json_array(json, "operators");
  cli_op_group g;
  for (int32_t k = 0; json && cli_op_group_at(runtime, k, &g); k += g.n) {
    if (!is_wanted(o, format, &g)) continue;
    cli_json *op = cli_json_object(list, NULL);
    cli_json_text(op, "domain", g.domain);
    cli_json_text(op, "name", g.name);
    cli_json *versions = cli_json_array(op, "versions");
    for (int32_t i = g.first; i < g.first + g.n; i++) json_version(runtime, versions, i);
    json_kernels(runtime, cli_json_array(op, "kernels"), &g);
  }
  if (format && format->n_ops)
    cli_format_ops_json(cli_json_array(json, "format_operators"), format);
  return cli_json_write_take(json, o->json);
}

/* ---- the command ---- */

static int show(const tn_runtime *runtime, const ops_options *o) {
  const tn_format *format = o->format ? find_format(runtime, o->format) : NULL;
  if (o->format && !format) return CLI_INPUT;
  if (!names_known(runtime, o)) return CLI_FAILED;
  cli_op_group g;
  for (int32_t k = 0; o->where && cli_op_group_at(runtime, k, &g); k += g.n)
    if (is_wanted(o, format, &g)) print_where(runtime, &g);
  if (o->json && !write_json(runtime, o, format)) return CLI_INPUT;
  if (o->where || cli_json_to_stdout(o->json)) return CLI_OK;
  if (o->n_names)
    print_in_full(runtime, o, format);
  else if (format && format->n_ops)
    cli_format_ops_print(format);
  else
    print_list(runtime, o, format);
  return CLI_OK;
}

int cli_op_info(const tn_runtime *runtime, const char *name, const char *json) {
  const ops_options o = {.json = json, .names = {name}, .n_names = 1};
  return show(runtime, &o);
}

static bool set(void *self, int index, const char *value) {
  ops_options *o = self;
  switch (index) {
    case 0: o->format = value; return true;
    case 2: o->json = value ? value : "-"; return true;
    default:
      if (index == 1) o->where = true;
      return cli_keep("OP", value, o->names, MAX_NAMES, &o->n_names);
  }
}

static int run(int argc, char **argv) {
  ops_options o = {.common = {.threads = 1}};
  cli_parser p = {&cli_ops, argc, argv, {&o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  tn_runtime *runtime = cli_runtime(&o.common);
  if (!runtime) return CLI_INPUT;
  int code = show(runtime, &o);
  tn_runtime_destroy(runtime);
  return code;
}
