/* What a new kernel is told of its operator: schema, versions, attributes, arguments. */
#include <string.h>

#include "base/alloc.h"
#include "base/c_name.h"
#include "cli.h"
#include "graph/schema.h"
#include "new.h"

typedef struct facts {
  const tn_op *op;
  tn_schema schema;
  const char *word;
} facts;

/* ---- arg_meta ---- */

/* The dtypes that a rule allows the argument; 0: no rule. */
static uint64_t dtypes_of(const tn_op *op, const char *arg) {
  const size_t n = strlen(arg);
  for (uint32_t k = 0; k < op->n_types; k++)
    for (const char *p = op->types[k]->args; p; p = strchr(p, ',')) {
      p += strspn(p, ", ");
      if (!strncmp(p, arg, n) && (p[n] == ',' || !p[n] || p[n] == ' ')) return op->types[k]->dtypes;
    }
  return 0;
}

static void add_accept(const facts *f, const tn_arg *arg, tn_text *out) {
  const uint64_t dtypes = dtypes_of(f->op, arg->name);
  uint32_t dtype = TN_F32;
  if (!dtypes) return;
  if (!(dtypes & TN_MASK(TN_F32)))
    for (dtype = 1; !(dtypes & TN_MASK(dtype));) dtype++;
  tn_text_add(out, "%s%s: %s", out->n ? ", " : "      arg_meta: {", arg->name,
              tn_dtype_name(dtype));
}

/* The line of arg_meta; nothing if no type rule says what could stand in it. */
static void add_accepts(const facts *f, tn_text *out) {
  for (int32_t k = 0; k < f->schema.n_inputs; k++)
    add_accept(f, tn_schema_input(&f->schema, k), out);
  for (int32_t k = 0; k < f->schema.n_outputs; k++)
    add_accept(f, tn_schema_output(&f->schema, k), out);
  if (out->n) tn_text_add(out, "}");
}

/* ---- the body ---- */

/* Input or output k, whose place is counted from the end behind a list. */
static void add_argument(const tn_arg *arg, int32_t k, int32_t n, bool behind_list, bool output,
                         tn_text *out) {
  const char *what = output ? "output" : "input";
  const char *type = output ? "tn_tensor *" : "const tn_tensor *";
  tn_text_add(out, "%s  %s%s%s_%s = ", out->n ? "\n" : "", type, arg->list ? "const *" : "",
              output ? "out" : "in", arg->name);
  if (arg->list)
    tn_text_add(out, "call->%ss + %d; /* a list */", what, k);
  else if (behind_list)
    tn_text_add(out, "call->%ss[call->n_%ss - %d];", what, what, n - k);
  else if (arg->optional)
    tn_text_add(out, "call->n_%ss > %d ? call->%ss[%d] : NULL; /* NULL: left out */", what, k, what,
                k);
  else
    tn_text_add(out, "call->%ss[%d];", what, k);
}

static void add_unused(const char *prefix, const char *name, tn_text *out) {
  tn_text_add(out, "%s(void)%s%s", out->n ? ", " : "  ", prefix, name);
}

static void add_body(const facts *f, tn_text *arguments, tn_text *unused) {
  bool behind_list = false;
  if (f->schema.attrs_size) {
    tn_text_add(arguments, "  const tn_%s_attrs *a = call->attrs;", f->word);
    add_unused("", "a", unused);
  }
  for (int32_t k = 0; k < f->schema.n_inputs; k++) {
    const tn_arg *arg = tn_schema_input(&f->schema, k);
    add_argument(arg, k, f->schema.n_inputs, behind_list, false, arguments);
    add_unused("in_", arg->name, unused);
    behind_list = behind_list || arg->list;
  }
  behind_list = false;
  for (int32_t k = 0; k < f->schema.n_outputs; k++) {
    const tn_arg *arg = tn_schema_output(&f->schema, k);
    add_argument(arg, k, f->schema.n_outputs, behind_list, true, arguments);
    add_unused("out_", arg->name, unused);
    behind_list = behind_list || arg->list;
  }
  tn_text_add(unused, "; /* until they are used */");
}

/* ---- the rest ---- */

/* For YAML in single quotes. */
static void add_quoted(const char *text, tn_text *out) {
  for (; *text; text++) tn_text_add(out, *text == '\'' ? "%c'" : "%c", *text);
}

static void add_comment(const facts *f, tn_text *out) {
  tn_text_add(out, " *   %s", f->op->schema);
  for (int32_t k = 0; k < f->schema.n_args; k++)
    if (f->schema.args[k].role == TN_ROLE_ATTR)
      tn_text_add(out, "\n *   a->%s", f->schema.args[k].name);
}

static void add_versions(const tn_op *op, tn_text *out) {
  tn_text_add(out, "  since: %d", op->since);
  if (op->until) tn_text_add(out, "\n  until: %d", op->until);
}

/* A name that ends with an instruction set is that of its file, which gets the flags of the set. */
static const char *isa_line(const char *name) {
  static const struct {
    const char *suffix, *line;
  } sets[] = {{"_sse41", "      isa: sse41"},
              {"_avx", "      isa: avx"},
              {"_avx2", "      isa: avx2"},
              {"_avx512", "      isa: avx512"},
              {"_neon", "      isa: neon"},
              {"_avx512_vnni", "      isa: avx512+avx512_vnni"},
              {"_neon_f16", "      isa: neon+neon_f16"},
              {"_rvv", "      isa: rvv"}};
  for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
    if (tn_has_suffix(name, sets[k].suffix)) return sets[k].line;
  return "";
}

/* Moves the text into the arena. */
static bool keep(tn_arena *arena, const char *key, tn_text *text, new_word **at) {
  const char *copy = text->status ? NULL : tn_arena_str(arena, tn_text_get(text));
  *(*at)++ = (new_word){key, copy};
  tn_text_free(text);
  return copy != NULL;
}

static bool describe(tn_arena *arena, const facts *f, new_word *at) {
  tn_text texts[6];
  static const char *const keys[] = {"ARG_META",       "ARGUMENTS", "UNUSED",
                                     "SCHEMA_COMMENT", "VERSIONS",  "QUOTED_SCHEMA"};
  bool ok = true;
  for (int k = 0; k < 6; k++) tn_text_init(&texts[k], arena->a);
  add_accepts(f, &texts[0]);
  add_body(f, &texts[1], &texts[2]);
  add_comment(f, &texts[3]);
  add_versions(f->op, &texts[4]);
  add_quoted(f->op->schema, &texts[5]);
  for (int k = 0; k < 6; k++) ok = keep(arena, keys[k], &texts[k], &at) && ok;
  *at++ = (new_word){"SCHEMA", f->op->schema};
  const bool elementwise = f->op->flags & TN_OP_ELEMENTWISE;
  *at++ =
      (new_word){"PLAN_HINT", elementwise ? "\n * The operator is element-wise: items can be the "
                                            "elements of the output, with TN_PLAN_ELEMENTWISE."
                                          : ""};
  *at = (new_word){NULL, NULL};
  return ok;
}

/* "softmax_mine" of "softmax_mine_gpu": files of GPU kernels end with _gpu.c. */
static const char *family_of(tn_arena *arena, const char *name) {
  const size_t n = strlen(name), tail = strlen("_gpu");
  return tn_arena_strn(arena, name, (int64_t)(tn_has_suffix(name, "_gpu") ? n - tail : n));
}

bool new_kernel_words(tn_arena *arena, const tn_op *op, const char *name, new_word *words) {
  facts f = {.op = op};
  tn_text word;
  tn_diag *diag = tn_diag_create();
  tn_text_init(&word, arena->a);
  tn_c_name_add(&word, op->name);
  if (op->until) tn_text_add(&word, "_v%d", op->since);
  f.word = tn_text_get(&word);
  bool ok = !tn_schema_parse(op->schema, arena, op->name, diag, &f.schema);
  if (!ok) cli_print_diag(diag);
  *words++ = (new_word){"NAME", name};
  *words++ = (new_word){"WORD", family_of(arena, name)};
  *words++ = (new_word){"ISA", isa_line(name)};
  ok = ok && describe(arena, &f, words);
  tn_text_free(&word);
  tn_diag_destroy(diag);
  return ok;
}
