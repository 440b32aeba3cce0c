/* The command tenon-gen. Nothing is written unless all files are right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/object.h"
#include "gen.h"

static const char usage[] =
    "usage: tenon-gen [options] FILE.yaml... -o DIR\n"
    "Turns family files into C. Writes DIR/builtin.c, or DIR/plugin.c with --plugin, and "
    "DIR/<family>.gen.h.\n"
    "  -o DIR           where to write; must exist\n"
    "  --docs DIR       writes the op tables in Markdown there too; must exist\n"
    "  --plugin NAME    makes a plug-in: plugin.c exports tn_plugin_query\n"
    "  --version V      its version (default 0)\n"
    "  --license L      its licence, if no entry `plugin:` says it\n"
    "  --fallback FILE  a library behind those before it: its kernels are taken where theirs are "
    "not;\n"
    "                   may be repeated, each behind the last\n"
    "  --schemas FILE   schemas for entries `op: add.out`, in the form of PyTorch's "
    "native_functions.yaml;\n"
    "                   may be repeated, the first that has one counts; those that come with "
    "Tenon\n"
    "                   (aten.yaml) are the last\n"
    "  --select FILE    only the parts of this list (tenon select) come into DIR/builtin.c; "
    "nothing "
    "else\n"
    "                   is written\n"
    "  --headers DIR    where headers of Tenon are that GPU kernels include\n"
    "  --glslang PATH   compiles GPU kernels to SPIR-V with this glslangValidator\n"
    "  --check          only checks the files; writes nothing\n"
    "  --embed          the files are no family files: DIR/embedded.c is made of their text, as\n"
    "                   cli/new.h describes it\n";

typedef struct input {
  const char *path;
  int library;
} input;

typedef struct options {
  const char *out, *docs, *fallback, *schemas, *select;
  bool check, embed, help;
  input *files;
  const char **schema_files;
  int n_files, n_schema_files;
} options;

static bool complain(const char *format, const char *word) {
  fputs("tenon-gen: ", stderr);
  fprintf(stderr, format, word);
  fputs("\n", stderr);
  return false;
}

/* The place where the argument of an option goes; NULL: it is no option with an argument. */
static const char **option_place(gen *g, options *o, const char *word) {
  if (strcmp(word, "-o") == 0) return &o->out;
  if (strcmp(word, "--docs") == 0) return &o->docs;
  if (strcmp(word, "--plugin") == 0) return &g->plugin.name;
  if (strcmp(word, "--version") == 0) return &g->plugin.version;
  if (strcmp(word, "--license") == 0) return &g->plugin.license;
  if (strcmp(word, "--fallback") == 0) return &o->fallback;
  if (strcmp(word, "--schemas") == 0) return &o->schemas;
  if (strcmp(word, "--select") == 0) return &o->select;
  if (strcmp(word, "--headers") == 0) return &g->headers;
  if (strcmp(word, "--glslang") == 0) return &g->glslang;
  return NULL;
}

/* Files are read library by library: a plain one belongs to the first. */
static void keep_files(gen *g, options *o, const char *plain) {
  if (plain) o->files[o->n_files++] = (input){plain, 0};
  if (o->fallback) o->files[o->n_files++] = (input){o->fallback, g->n_libraries++};
  if (o->schemas) o->schema_files[o->n_schema_files++] = o->schemas;
  o->fallback = o->schemas = NULL;
}

static bool read_options(gen *g, options *o, int argc, char **argv) {
  for (int k = 1; k < argc; k++) {
    const char **place = option_place(g, o, argv[k]);
    if (place) {
      if (k + 1 == argc) return complain("%s needs an argument", argv[k]);
      *place = argv[++k];
      keep_files(g, o, NULL);
    } else if (strcmp(argv[k], "--check") == 0) {
      o->check = true;
    } else if (strcmp(argv[k], "--embed") == 0) {
      o->embed = true;
    } else if (strcmp(argv[k], "--help") == 0 || strcmp(argv[k], "-h") == 0) {
      o->help = true;
    } else if (argv[k][0] == '-') {
      return complain(
          "unknown option %s; there are -o, --docs, --plugin, --version, --license, "
          "--fallback, --schemas, --select, --headers, --glslang, --check, --embed and --help",
          argv[k]);
    } else {
      keep_files(g, o, argv[k]);
    }
  }
  if (o->help) return true;
  if (!o->out && (!o->check || o->embed)) return complain("%s is missing; see --help", "-o DIR");
  if (g->n_libraries > 1 && !g->plugin.name)
    return complain("%s is for plug-ins; see --plugin", "--fallback");
  if (o->select && g->plugin.name) return complain("%s is not for plug-ins", "--select");
  return true;
}

static int by_library(const void *x, const void *y) {
  const input *a = x, *b = y;
  return a->library != b->library ? a->library - b->library : strcmp(a->path, b->path);
}

/* The schemas that come with Tenon: beside this command where it is built, or of the package that
 * it is installed with. */
static bool own_schemas(char *path, size_t size) {
  static const char *const places[] = {"aten.yaml", TN_SCHEMAS_FROM_BIN};
  char here[3000];
  if (!tn_object_folder(here, sizeof here)) return false;
  for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
    const int n = snprintf(path, size, "%s/%s", here, places[k]);
    if (n > 0 && (size_t)n < size && !access(path, R_OK)) return true;
  }
  return false;
}

static int generate(gen *g, const options *o) {
  char path[4096];
  g->dir = o->out;
  if (o->n_files) qsort(o->files, (size_t)o->n_files, sizeof *o->files, by_library);
  if (o->embed) {
    for (int k = 0; k < o->n_files; k++) gen_push(g, &g->families, o->files[k].path);
    return gen_emit_embedded(g, o->out) ? 0 : 1;
  }
  for (int k = 0; k < o->n_schema_files; k++) gen_parse_known(g, o->schema_files[k]);
  if (own_schemas(path, sizeof path)) gen_parse_known(g, path);
  for (int k = 0; k < o->n_files; k++) {
    g->library = o->files[k].library;
    gen_parse_file(g, o->files[k].path);
  }
  gen_check_all(g);
  if (gen_problems_print(g)) return 1;
  if (o->check) return 0;
  if (o->select) return gen_select(g, o->select) && gen_emit_table(g, o->out) ? 0 : 1;
  if (!gen_emit_headers(g, o->out) || !gen_emit_table(g, o->out)) return 1;
  return !o->docs || gen_emit_docs(g, o->docs) ? 0 : 1;
}

int main(int argc, char **argv) {
  gen g = {.a = tn_default_allocator(), .n_libraries = 1};
  options o = {0};
  tn_arena_init(&g.arena, g.a);
  o.files = gen_need(tn_arena_alloc(&g.arena, (uint64_t)argc * sizeof *o.files));
  o.schema_files = gen_need(tn_arena_alloc(&g.arena, (uint64_t)argc * sizeof *o.schema_files));
  int status = 2;
  if (read_options(&g, &o, argc, argv)) {
    if (!g.plugin.version) g.plugin.version = g.plugin.name ? "0" : tn_version();
    if (!g.plugin.license) g.plugin.license = g.plugin.name ? "" : "Apache-2.0";
    if (!g.plugin.name) /* plan files of another release are told by it */
      g.content_hash = tn_hash_bytes(g.plugin.version, strlen(g.plugin.version), 0);
    if (o.help) fputs(usage, stdout);
    status = o.help ? 0 : generate(&g, &o);
  }
  gen_clear(&g);
  return status;
}
