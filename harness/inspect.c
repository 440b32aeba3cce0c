/* What a plug-in says of itself, told in records: identity, parts, and every rule that its
 * descriptor breaks. Nothing of it runs but what the dynamic linker runs, and tn_plugin_query. */
#include <string.h>

#include "base/cpu.h"
#include "harness/harness.h"
#include "harness/vet.h"

#define TELL(env, ...)                                       \
  do {                                                       \
    const char *const fields[] = {__VA_ARGS__};              \
    check_tell(env, fields, sizeof fields / sizeof *fields); \
  } while (0)

enum { NUMBER = 24, WORDS = 200 };

static const char *number(int64_t value, char buf[NUMBER]) {
  snprintf(buf, NUMBER, "%lld", (long long)value);
  return buf;
}

typedef struct word {
  bool there;
  const char *name;
} word;

static const char *words(const word *list, size_t n, char buf[WORDS]) {
  size_t at = 0;
  buf[0] = 0;
  for (size_t k = 0; k < n; k++)
    if (list[k].there)
      at += (size_t)snprintf(buf + at, WORDS - at, "%s%s", at ? " " : "", list[k].name);
  return buf;
}
#define WORDS_OF(list, buf) words(list, sizeof(list) / sizeof *(list), buf)

/* ---- identity -------------------------------------------------------------------------------- */

static void tell_plugin(check_env *env, const tn_examined *e) {
  char abi[2 * NUMBER], flavour[WORDS];
  const uint64_t f = e->flavour;
  const word list[] = {{true, f & TN_FLAVOUR_32BIT ? "32-bit" : "64-bit"},
                       {true, f & TN_FLAVOUR_BIG_ENDIAN ? "big-endian" : "little-endian"},
                       {(f & TN_FLAVOUR_ASAN) != 0, "address-sanitizer"},
                       {(f & TN_FLAVOUR_TSAN) != 0, "thread-sanitizer"},
                       {(f & TN_FLAVOUR_MSAN) != 0, "memory-sanitizer"}};
  const bool known = e->abi_major || e->abi_minor;
  snprintf(abi, sizeof abi, "%u.%u", e->abi_major, e->abi_minor);
  TELL(env, "plugin", e->info.name, e->info.version, e->info.license, e->info.build_id,
       known ? abi : "", known ? WORDS_OF(list, flavour) : "", e->info.path,
       e->info.offers ? e->info.offers : "");
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void tell_op(check_env *env, const tn_opdef *def) {
  const tn_op *op = &def->op;
  char name[CHECK_PART], since[NUMBER], until[NUMBER], callbacks[WORDS], cases[NUMBER];
  const word list[] = {{op->infer != NULL, "infer"},
                       {op->flops != NULL, "flops"},
                       {op->lower != NULL, "lower"},
                       {op->reference != NULL, "reference"},
                       {op->epilogue != NULL, "epilogue"}};
  TELL(env, "op", check_op_name(def, name, sizeof name), number(op->since, since),
       number(op->until, until), op->schema, WORDS_OF(list, callbacks), number(op->n_cases, cases),
       op->doc ? op->doc : "");
}

static void tell_accept(check_env *env, const tn_accept *row) {
  char lowest[NUMBER], highest[NUMBER], flags[WORDS];
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  const word list[] = {{(row->flags & TN_ACCEPT_CONST) != 0, "constant"},
                       {(row->flags & TN_ACCEPT_ABSENT) != 0, "absent"},
                       {(row->flags & TN_ACCEPT_PRESENT) != 0, "present"},
                       {(row->flags & TN_ACCEPT_PACKED) != 0, "packed"}};
  TELL(env, "accept", row->arg,
       row->dtypes & TN_ANY_DTYPE ? "any" : tn_dtypes_text(row->dtypes, &arena),
       row->layout == TN_ANY_LAYOUT ? "any" : tn_layout_text(row->layout),
       number(row->rank_min, lowest), number(row->rank_max ? row->rank_max : TN_MAX_RANK, highest),
       WORDS_OF(list, flags));
  tn_arena_clear(&arena);
}

static void tell_kernel(check_env *env, const tn_kernel *k) {
  char since[NUMBER], until[NUMBER], isa[64] = "", rank[NUMBER], callbacks[WORDS];
  const word list[] = {{k->refuse != NULL, "refuse"},
                       {k->plan != NULL, "plan"},
                       {k->prepare != NULL, "prepare"},
                       {k->run != NULL, "run"},
                       {k->finish != NULL, "finish"},
                       {(k->flags & TN_KERNEL_EPILOGUE) != 0, "epilogues"},
                       {(k->flags & TN_KERNEL_SERIAL) != 0, "serial"}};
  if (k->isa) tn_isa_text(k->isa, isa, sizeof isa);
  TELL(env, "kernel", k->name, k->op, number(k->since, since), number(k->until, until), isa,
       number(k->rank, rank), k->device, WORDS_OF(list, callbacks));
  for (uint32_t row = 0; row < k->n_accepts; row++) tell_accept(env, k->accepts[row]);
}

static void tell_format(check_env *env, const tn_format *f) {
  char callbacks[WORDS];
  const word list[] = {{f->probe != NULL, "probe"},
                       {f->read != NULL, "read"},
                       {f->write != NULL, "write"},
                       {f->read_value != NULL, "read_value"}};
  TELL(env, "format", f->name, f->extensions ? f->extensions : "", f->domains ? f->domains : "",
       WORDS_OF(list, callbacks));
}

static void tell_parts(check_env *env, const tn_examined *e) {
  for (uint32_t k = 0; k < e->n_ops; k++) tell_op(env, e->ops[k]);
  for (uint32_t k = 0; k < e->n_kernels; k++) tell_kernel(env, &e->kernels[k]->kernel);
  for (uint32_t k = 0; k < e->n_rewrites; k++)
    TELL(env, "rewrite", e->rewrites[k]->rewrite.name, e->rewrites[k]->rewrite.root);
  for (uint32_t k = 0; k < e->n_formats; k++) tell_format(env, e->formats[k]);
}

/* ---- breaches -------------------------------------------------------------------------------- */

/* "plug-in 'acme', kernel 'x', member run: must be given" without its first words; the part goes to
 * `part`, the member to `test`. */
static void tell_message(check_env *env, const char *kind, const char *text) {
  char part[CHECK_PART] = "descriptor", test[CHECK_PART] = "";
  const char *rule = strstr(text, ": ");
  const char *member = strstr(text, ", member "), *first = strstr(text, ", ");
  if (member && rule && member > rule) member = NULL;
  if (strncmp(text, "plug-in", 7) || !rule || (first && first > rule)) first = NULL;
  if (first && first != member)
    snprintf(part, sizeof part, "%.*s", (int)((member ? member : rule) - first - 2), first + 2);
  if (member) snprintf(test, sizeof test, "%.*s", (int)(rule - member - 2), member + 2);
  TELL(env, kind, part, test, rule && (first || member) ? rule + 2 : text);
}

/* What tn_plugin_query may not do: answer something else each time, allocate, mind the version. */
static void try_query(check_env *env, const tn_examined *e) {
  tn_plugin first;
  const tn_plugin *p = e->query(TN_ABI_MAJOR, TN_ABI_MINOR);
  if (!p) return;
  memcpy(&first.head, p, sizeof first.head);
  const size_t bytes = first.head.size < sizeof first ? first.head.size : sizeof first;
  memcpy(&first, p, bytes);
  const size_t before = check_malloc_bytes();
  for (int k = 0; k < 8 && check_unit_ok(env); k++) {
    const tn_plugin *again = e->query(TN_ABI_MAJOR, TN_ABI_MINOR);
    if (again != p || memcmp(again, &first, bytes))
      check_fail(env, "does not answer the same each time it is asked");
  }
  if (check_malloc_bytes() > before)
    check_fail(env, "allocates memory: %zu bytes in 8 calls", check_malloc_bytes() - before);
  check_doing(env, "tn_plugin_query() for an ABI of the future");
  e->query(TN_ABI_MAJOR + 98, 99);
  e->query(TN_ABI_MAJOR, TN_ABI_MINOR + 99);
  check_doing(env, "tn_plugin_query() for an ABI of the past");
  e->query(0, 0);
}

static tn_status vet(check_env *env, tn_registry *r, tn_diag *diag, tn_examined *e) {
  check_doing(env, "tn_plugin_query()");
  const tn_status status = tn_registry_examine(r, diag, e);
  check_doing(env, "reading its tables");
  return status;
}

void check_examine(check_env *env, const char *path, bool deep) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  tn_examined e;
  tn_diag *diag = check_need(tn_diag_create());
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  options.n_threads = 1;
  check_part(env, "descriptor");
  if (!check_unit_begin(env, "loading")) return;
  if (tn_runtime_create(&options, diag, &runtime)) check_die("no runtime: %s", tn_diag_text(diag));
  check_doing(env, "dlopen() (its constructors)");
  tn_status status = tn_registry_map(runtime->registry, path, diag, &e);
  if (!status) status = vet(env, runtime->registry, diag, &e);
  tell_plugin(env, &e);
  tell_parts(env, &e);
  for (int64_t k = 0; k < tn_diag_count(diag); k++) {
    int32_t severity;
    const char *text = tn_diag_message(diag, k, &severity);
    tell_message(env, severity == TN_DIAG_ERROR ? "breach" : "note", text);
  }
  if (!status) TELL(env, "loadable");
  if (!status && deep) {
    check_part(env, "tn_plugin_query");
    check_doing(env, "tn_plugin_query()");
    try_query(env, &e);
  }
  check_part(env, "descriptor");
  check_doing(env, "dlclose() (its destructors)");
  tn_examined_close(&e);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  check_unit_end(env);
}
