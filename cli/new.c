/* tenon new: the beginning of an operator, a kernel or an accelerator outside of Tenon, which
 * builds and passes its tests at once. */
#include "new.h"
#include "base/near.h"

#include <string.h>

#include "base/c_name.h"
#include "cli.h"

enum { MAX_NAME = 60 };

typedef struct new_options {
  cli_common common;
  const char *domain, *folder, *words[3];
  int n_words;
} new_options;

static const cli_option options[] = {
    {"domain", "D", "op: the operator's domain (default com.example)", 0},
    {"dir", "DIR", "where to write; it must not be there yet (default: named like the part)", 'd'},
    {NULL, NULL, NULL, 0}};

static int run(int argc, char **argv);
const cli_command cli_new = {
    .name = "new",
    .arguments = "op NAME | kernel OP NAME | accelerator NAME",
    .summary = "begin an operator, a kernel or an accelerator: a project that builds and is tested",
    .details =
        "op      YAML, reference, kernels, test cases, a test and two ways to build, for an "
        "operator\n        NAME such as Affine that computes y = scale * x + shift, to be "
        "changed.\n"
        "kernel  the same for a kernel NAME, such as softmax_f32_mine, of an operator that there "
        "is: its\n        schema, attributes and arguments are filled in. The kernel refuses all "
        "nodes until it is\n        written; till then its test is shown as skipped.\n"
        "accelerator  a compiler and a dispatcher NAME, which claim one operator and pass `tenon\n"
        "        conform`, to be changed.\n"
        "A folder that is there is left alone.",
    .examples =
        "new op Affine --domain com.acme\nnew kernel Softmax softmax_f32_mine --dir mine\n"
        "new kernel com.acme::Affine affine_f32_fast --plugin ./acme.so\n"
        "new kernel Softmax softmax_mine_gpu --device gpu\nnew accelerator acme",
    .options = options,
    .groups = {&cli_common_group},
    .run = run};

static bool is_for_device(const new_options *o) { return o->common.n_devices > 0; }

/* ---- names ---- */

static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
static bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A letter, then letters, digits and '_'. */
static bool is_word(const char *text) {
  if (!is_letter(*text) || strlen(text) > MAX_NAME) return false;
  while (is_letter(*text) || is_digit(*text) || *text == '_') text++;
  return !*text;
}

static bool check_op_name(const char *name) {
  if (is_word(name)) return true;
  cli_error(
      "'%s' is no name for an operator: a letter, then at most %d letters, digits and _ "
      "(--domain says the domain)",
      name, MAX_NAME - 1);
  return false;
}

static bool is_small_word(const char *name) {
  bool lower = is_word(name);
  for (const char *p = name; *p; p++) lower = lower && (is_lower(*p) || is_digit(*p) || *p == '_');
  return lower;
}

/* The '_' keeps it apart from the words and functions of C. */
static bool check_kernel_name(const char *name) {
  const char *bar = strchr(name, '_');
  if (is_small_word(name) && bar && bar[1]) return true;
  cli_error("'%s' is no name for a kernel: small letters, digits and _, such as softmax_f32_mine",
            name);
  return false;
}

static bool check_accelerator_name(const char *name) {
  if (is_small_word(name)) return true;
  cli_error("'%s' is no name for an accelerator: small letters, digits and _, such as acme", name);
  return false;
}

/* Labels of small letters, digits, '_' and '-' with '.' between. */
static bool check_domain(const char *domain) {
  bool ok = is_lower(*domain) && strlen(domain) <= MAX_NAME;
  for (const char *p = domain; *p; p++) {
    ok = ok && (is_lower(*p) || is_digit(*p) || strchr("._-", *p));
    ok = ok && !(*p == '.' && (p[1] == '.' || !p[1]));
  }
  if (ok && strcmp(domain, "ai.onnx") && strcmp(domain, "tenon")) return true;
  cli_error(
      "'%s' is no domain of yours: small letters, digits and _ with . between, such as "
      "com.acme",
      domain);
  return false;
}

/* ---- writing ---- */

/* "0.1" of "0.1.0" */
static const char *package_version(tn_arena *arena) {
  const char *version = tn_version(), *dot = strrchr(version, '.');
  return tn_arena_strn(arena, version, dot - version);
}

static const char *word_of(tn_arena *arena, const char *name) {
  tn_text text;
  tn_text_init(&text, arena->a);
  tn_c_name_add(&text, name);
  const char *word = tn_arena_str(arena, tn_text_get(&text));
  tn_text_free(&text);
  return word;
}

static int write_project(tn_arena *arena, const new_options *o, const char *kind,
                         const char *folder, const char *plugin, const char *full,
                         new_word *words) {
  int n = 0;
  while (words[n].key) n++;
  words[n++] = (new_word){"PLUGIN", plugin};
  words[n++] = (new_word){"FULL", full};
  words[n++] = (new_word){"VERSION", package_version(arena)};
  words[n] = (new_word){NULL, NULL};
  for (int k = 0; k < n; k++) {
    if (words[k].text) continue;
    cli_error("out of memory");
    return CLI_INPUT;
  }
  const char *where = o->folder ? o->folder : folder;
  const int code = new_write(kind, where, words);
  if (code) return code;
  printf(
      "%s is begun in %s. To build and test it, where Tenon is installed in PREFIX:\n\n"
      "  cmake -S %s -B %s/build -DCMAKE_PREFIX_PATH=PREFIX\n"
      "  cmake --build %s/build && ctest --test-dir %s/build\n\n",
      full, where, where, where, where, where);
  if (!strcmp(kind, "op") || !strcmp(kind, "kernel"))
    printf("To time it: cmake --build %s/build --target %s_bench\n\n", where, plugin);
  printf("%s/README.md says how to go on.\n", where);
  return CLI_OK;
}

/* ---- op ---- */

static int new_op(tn_runtime *runtime, tn_arena *arena, const new_options *o) {
  const char *name = o->words[1], *domain = o->domain ? o->domain : "com.example";
  if (!check_op_name(name) || !check_domain(domain)) return CLI_USAGE;
  const char *full = tn_arena_format(arena, "%s::%s", domain, name);
  if (tn_runtime_find_op(runtime, domain, name, 0)) {
    cli_error("there is an operator %s already; `tenon new kernel` begins a kernel for it", full);
    return CLI_FAILED;
  }
  const char *word = word_of(arena, name), *dot = strrchr(domain, '.');
  const char *plugin =
      tn_arena_format(arena, "%s_%s", word_of(arena, dot ? dot + 1 : domain), word);
  new_word words[NEW_MAX_WORDS] = {{"WORD", word}};
  return write_project(arena, o, "op", word, plugin, full, words);
}

/* ---- kernel ---- */

/* The newest version; NULL after a message. */
static const tn_op *find_op(tn_runtime *runtime, tn_arena *arena, const char *text) {
  char meant[TN_NEAR_TEXT];
  const char *colons = strstr(text, "::");
  const char *domain = colons ? tn_arena_strn(arena, text, colons - text) : "";
  const tn_op *op =
      domain ? tn_runtime_find_op(runtime, domain, colons ? colons + 2 : text, 0) : NULL;
  if (!op)
    cli_error(
        "there is no operator '%s'%s; `tenon ops` lists them, --plugin adds those of a plug-in",
        text, cli_near_op(runtime, text, meant));
  else if (op->flags & (TN_OP_LOWER_EARLY | TN_OP_LOWER_ALWAYS))
    cli_error("%s is always replaced by other operators, so that no kernel of it would run", text);
  else
    return op;
  return NULL;
}

static bool is_new_kernel(const tn_runtime *runtime, const char *name) {
  for (int32_t k = 0; k < tn_runtime_n_kernels(runtime); k++) {
    if (strcmp(tn_runtime_kernel(runtime, k)->name, name)) continue;
    cli_error("there is a kernel %s already, from %s", name, tn_runtime_kernel_plugin(runtime, k));
    return false;
  }
  return true;
}

static int new_kernel(tn_runtime *runtime, tn_arena *arena, const new_options *o) {
  const char *name = o->words[2];
  if (!check_kernel_name(name)) return CLI_USAGE;
  if (o->domain) {
    cli_error(
        "--domain is for new operators; that of a kernel's stands in its name, com.acme::Foo");
    return CLI_USAGE;
  }
  const tn_op *op = find_op(runtime, arena, o->words[1]);
  if (!op || !is_new_kernel(runtime, name)) return CLI_FAILED;
  new_word words[NEW_MAX_WORDS];
  if (!new_kernel_words(arena, op, name, words)) return CLI_INPUT;
  const char *full =
      *op->domain ? tn_arena_format(arena, "%s::%s", op->domain, op->name) : op->name;
  return write_project(arena, o, is_for_device(o) ? "gpu_kernel" : "kernel", name,
                       tn_arena_format(arena, "%s_kernel", name), full, words);
}

/* ---- accelerator ---- */

static int new_accelerator(tn_runtime *runtime, tn_arena *arena, const new_options *o) {
  const char *name = o->words[1];
  (void)runtime;
  if (!check_accelerator_name(name)) return CLI_USAGE;
  new_word words[NEW_MAX_WORDS] = {{"NAME", name}};
  return write_project(arena, o, "accelerator", name, name, name, words);
}

/* ---- the command ---- */

typedef struct part_kind {
  const char *name, *arguments;
  int n_words;
  int (*begin)(tn_runtime *, tn_arena *, const new_options *);
} part_kind;

static const part_kind kinds[] = {{"op", "op NAME", 2, new_op},
                                  {"kernel", "kernel OP NAME", 3, new_kernel},
                                  {"accelerator", "accelerator NAME", 2, new_accelerator}};

static const part_kind *find_kind(const char *name) {
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (!strcmp(kinds[k].name, name)) return &kinds[k];
  cli_error("tenon new makes an op, a kernel or an accelerator, not '%s'", name);
  return NULL;
}

static int begin(const new_options *o, const part_kind *kind) {
  tn_runtime *runtime = cli_runtime(&o->common);
  tn_arena arena;
  if (!runtime) return CLI_INPUT;
  tn_arena_init(&arena, tn_default_allocator());
  const int code = kind->begin(runtime, &arena, o);
  tn_arena_clear(&arena);
  tn_runtime_destroy(runtime);
  return code;
}

static bool check_device(const new_options *o, const part_kind *kind) {
  if (!is_for_device(o)) return true;
  if (kind->begin == new_kernel && o->common.n_devices == 1 && !strcmp(o->common.devices[0], "gpu"))
    return true;
  cli_error("--device gpu is for new kernels; %s",
            kind->begin == new_kernel ? "those of other devices are not begun by this command"
                                      : "this is none");
  return false;
}

static int check_and_begin(const new_options *o) {
  if (!cli_need(&cli_new, o->n_words ? o->words[0] : NULL, "op, kernel or accelerator"))
    return CLI_USAGE;
  const part_kind *kind = find_kind(o->words[0]);
  if (!kind || !check_device(o, kind)) return CLI_USAGE;
  if (o->n_words == kind->n_words) return begin(o, kind);
  cli_error("it is `tenon new %s`", kind->arguments);
  return CLI_USAGE;
}

static bool set(void *self, int index, const char *value) {
  new_options *o = self;
  if (index == CLI_ARG) return cli_keep("words", value, o->words, 3, &o->n_words);
  *(index ? &o->folder : &o->domain) = value;
  return true;
}

static int run(int argc, char **argv) {
  new_options o = {.common = {.threads = 1}};
  cli_parser p = {&cli_new, argc, argv, {&o.common}, 0, false};
  const int end = cli_parse(&p, set, &o);
  if (end != CLI_END) return end;
  return check_and_begin(&o);
}
