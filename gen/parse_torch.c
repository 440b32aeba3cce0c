/* Entries in the form of PyTorch and ExecuTorch: `func:` with a whole schema, or `op:` with a name
 * whose schema stands in a file of --schemas. An out variant is an operator in destination-passing
 * style, so `add.out` is aten::add and `add.Scalar_out` is aten::add.Scalar: docs/op-yaml.md. */
#include <stdio.h>
#include <string.h>

#include "gen.h"

/* What native_functions.yaml says besides: about PyTorch's own dispatcher and bindings. */
#define TORCH_KEYS                                                                                \
  "variants", "tags", "dispatch", "device_check", "device_guard", "structured",                   \
      "structured_delegate", "structured_inherits", "ufunc_inner_loop", "precomputed", "autogen", \
      "manual_cpp_binding", "manual_kernel_registration", "python_module", "category_override",   \
      "use_const_ref_for_mutable_tensors", "cpp_no_default_args", "op_template"

bool gen_is_torch(const gen_node *entry) {
  const gen_node *op = gen_get(entry, "op");
  if (gen_get(entry, "func")) return true;
  const char *name = op && op->kind == GEN_SCALAR ? op->text : "";
  const char *colons = strstr(name, "::");
  return !gen_get(entry, "schema") && strchr(colons ? colons + 2 : name, '.');
}

static const char *in_namespace(gen *g, const char *name) {
  return strstr(name, "::") ? name : gen_format_text(g, "aten::%s", name);
}

/* "aten::add.out" of "add.out(Tensor self, ...". */
static const char *name_of(gen *g, const char *func) {
  size_t n = strcspn(func, "(");
  while (n && func[n - 1] == ' ') n--;
  return in_namespace(g, gen_format_text(g, "%.*s", (int)n, func));
}

/* ---- schemas of operators that are only named ---- */

static const gen_node *find_known(const gen *g, const char *name) {
  for (int64_t k = 0; k < g->known.n; k++) {
    if (strcmp(g->known.data[k].name, name) == 0) return g->known.data[k].entry;
  }
  return NULL;
}

void gen_parse_known(gen *g, const char *path) {
  const gen_node *root = gen_tree_load(g, path);
  if (!root) return;
  if (root->kind != GEN_LIST) {
    gen_problem_add(g, root, "a file of schemas is a list of entries `- func: ...`");
    return;
  }
  for (int k = 0; k < root->n; k++) {
    const gen_node *func = root->items[k]->kind == GEN_MAP ? gen_get(root->items[k], "func") : NULL;
    if (func && func->kind == GEN_SCALAR)
      gen_push(g, &g->known, ((gen_known){name_of(g, func->text), root->items[k]}));
    else
      gen_problem_add(g, root->items[k], "an entry of a file of schemas has the key 'func'");
  }
}

/* The entry with what the table says besides: schema, infer, types and so on. */
static const gen_node *with_known(gen *g, const gen_node *entry, const gen_node *known) {
  static const char *const keys[] = {"func", "doc", "infer", "flags", "flops", "types", NULL};
  gen_node *both = gen_need(tn_arena_alloc(&g->arena, sizeof *both));
  const size_t n = (size_t)entry->n + sizeof keys / sizeof *keys;
  *both = *entry;
  both->pairs = gen_need(tn_arena_alloc(&g->arena, n * sizeof *both->pairs));
  memcpy(both->pairs, entry->pairs, (size_t)entry->n * sizeof *both->pairs);
  for (const char *const *key = keys; *key; key++) {
    if (gen_get(entry, *key) || !gen_get(known, *key)) continue;
    for (int k = 0; k < known->n; k++) {
      if (strcmp(known->pairs[k].key->text, *key) == 0) both->pairs[both->n++] = known->pairs[k];
    }
  }
  return both;
}

/* ---- names ---- */

/* "add" of add.out, "add.Scalar" of add.Scalar and add.Scalar_out. */
static const char *tenon_name(gen *g, const char *base, const char *overload) {
  size_t n = strlen(overload);
  if (strcmp(overload, "out") == 0 || n == 0) return base;
  if (n > 4 && strcmp(overload + n - 4, "_out") == 0) n -= 4;
  return gen_format_text(g, "%s.%.*s", base, (int)n, overload);
}

static const char *word_of(gen *g, const char *name) {
  char *copy = gen_need(tn_arena_str(&g->arena, name));
  for (char *p = copy; *p; p++) *p = *p == '.' ? '_' : *p;
  return gen_snake_case(g, copy);
}

/* `out` says the overload of the out variant, after which an operator is called. */
static void set_names(gen *g, gen_op *op, const char *out) {
  const char *base;
  gen_split_name(g, in_namespace(g, op->schema.name), &op->domain, &base);
  op->torch = gen_format_text(g, "%s::%s%s%s", op->domain, base, *op->schema.overload ? "." : "",
                              op->schema.overload);
  op->name = tenon_name(g, base, out ? out : op->schema.overload);
  op->word = word_of(g, op->name);
  op->since = 1;
  op->doc = gen_format_text(g, "PyTorch's operator %s.", op->torch);
  op->default_infer = gen_format_text(g, "%s_%s_infer", gen_snake_case(g, op->domain), op->word);
}

/* ---- entries ---- */

/* The older form `dispatch: {CPU: name}`: one kernel for all types. */
static const gen_node *with_dispatch(gen *g, const gen_node *entry) {
  const gen_node *dispatch = gen_get(entry, "dispatch");
  const gen_node *cpu = dispatch && dispatch->kind == GEN_MAP ? gen_get(dispatch, "CPU") : NULL;
  if (gen_get(entry, "kernels") || !cpu) return entry;
  gen_node *nodes = gen_need(tn_arena_alloc(&g->arena, 6 * sizeof *nodes));
  gen_node **items = gen_need(tn_arena_alloc(&g->arena, sizeof *items));
  gen_pair *pairs = gen_need(tn_arena_alloc(&g->arena, ((size_t)entry->n + 2) * sizeof *pairs));
  for (int k = 0; k < 6; k++) nodes[k] = *cpu;
  nodes[0].text = "kernels";
  nodes[1].text = "kernel_name";
  memcpy(pairs, entry->pairs, (size_t)entry->n * sizeof *pairs);
  pairs[entry->n] = (gen_pair){&nodes[0], &nodes[3]};
  pairs[entry->n + 1] = (gen_pair){&nodes[1], &nodes[2]};
  nodes[4].kind = GEN_MAP; /* {kernel_name: name} */
  nodes[4].pairs = &pairs[entry->n + 1];
  nodes[4].n = 1;
  items[0] = &nodes[4];
  nodes[3].kind = GEN_LIST;
  nodes[3].items = items;
  nodes[3].n = 1;
  nodes[5] = *entry;
  nodes[5].pairs = pairs;
  nodes[5].n = entry->n + 1;
  return &nodes[5];
}

/* The key that says which operator it is; NULL after a problem. *entry: with the schema, if it was
 * only named. */
static const gen_node *find_schema(gen *g, const gen_node **entry) {
  const gen_node *at = gen_get(*entry, "op"), *func = gen_get(*entry, "func");
  if (func && at) {
    gen_problem_add(g, *entry, "an entry has one of the keys op and func");
    return NULL;
  }
  if (func) return func;
  const char *name = in_namespace(g, gen_str(g, at, "op"));
  const gen_node *known = find_known(g, name);
  if (known) {
    *entry = with_known(g, *entry, known);
    return at;
  }
  gen_problem_add(g, at,
                  "there is no schema of %s%s; say `func:` with the whole schema, or --schemas "
                  "native_functions.yaml",
                  name, g->known.n ? " in the files of --schemas" : "");
  return NULL;
}

void gen_parse_torch(gen *g, const gen_node *entry, const char *family) {
  static const char *const keys[] = {
      "op",    "func",     "kernels", "type_alias", "dim_order_alias", "doc",       "types",
      "flags", "infer",    "flops",   "lower",      "epilogue",        "reference", "cases",
      "out",   TORCH_KEYS, NULL};
  if (!gen_check_keys(g, entry, "an operator of PyTorch", keys)) return;
  const gen_node *at = find_schema(g, &entry);
  if (!at) return;
  gen_op op = {.at = at, .family = family, .library = g->library};
  const char *text = gen_str(g, gen_get(entry, "func"), "func");
  if (!gen_parse_schema(g, at, text, &op)) return;
  if (!*op.schema.name) {
    gen_problem_add(g, at, "func begins with the name of the operator: `add.out(Tensor self, ...`");
    return;
  }
  op.schema_text = strchr(text, '(');
  set_names(g, &op, gen_str_at(g, entry, "out", false));
  g->op_word = op.word;
  gen_parse_op_parts(g, entry, &op);
  const gen_kernel prototype = {
      .at = at, .family = family, .domain = op.domain, .op = op.name, .since = 1};
  gen_parse_kernels(g, with_dispatch(g, entry), &op, &op.aliases, &prototype);
  gen_push(g, &g->ops, op);
  g->op_word = NULL;
}
