/* Operator entries: schema, types, functions, cases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

bool gen_parse_schema(gen *g, const gen_node *at, const char *text, gen_op *op) {
  tn_diag *diag = gen_need(tn_diag_create());
  op->schema_text = text;
  const bool ok = !tn_schema_parse(text, &g->arena, NULL, diag, &op->schema);
  if (!ok) gen_problem_add(g, at, "%s", tn_diag_message(diag, 0, NULL));
  tn_diag_destroy(diag);
  return ok;
}

static void parse_schema(gen *g, const gen_node *entry, gen_op *op) {
  const gen_node *node = gen_get(entry, "schema");
  const char *text = gen_str_at(g, entry, "schema", true);
  if (!node || !text || !gen_parse_schema(g, node, text, op)) return;
  if (*op->schema.name)
    gen_problem_add(g, node, "the schema of an entry has no name: it begins with '('");
}

static void add_rule(gen *g, gen_op *op, const char *name, const char *arg, uint64_t dtypes,
                     bool is_alias) {
  for (int64_t k = 0; k < op->rules.n && is_alias; k++) {
    gen_rule *r = &op->rules.data[k];
    if (!r->is_alias || strcmp(r->name, name) != 0) continue;
    r->args = gen_format_text(g, "%s,%s", r->args, arg);
    return;
  }
  gen_push(g, &op->rules, ((gen_rule){name, arg, dtypes, is_alias}));
}

static void parse_types(gen *g, const gen_node *entry, gen_op *op) {
  const gen_node *map = gen_get(entry, "types");
  if (!map) return;
  if (map->kind != GEN_MAP) {
    gen_problem_add(g, map, "types must be a map such as {X: T, Y: T}");
    return;
  }
  for (int k = 0; k < map->n; k++) {
    const gen_node *key = map->pairs[k].key, *value = map->pairs[k].value;
    const tn_arg *arg = tn_schema_find(&op->schema, key->text);
    if (!arg || arg->base != TN_TYPE_TENSOR) {
      gen_problem_add(g, key, "types: '%s' is no tensor of the schema", key->text);
      continue;
    }
    const gen_alias *alias =
        value->kind == GEN_SCALAR ? gen_alias_find(&op->aliases, value->text) : NULL;
    const uint64_t dtypes = gen_parse_dtypes(g, value, &op->aliases);
    add_rule(g, op, alias ? alias->name : key->text, key->text, dtypes, alias != NULL);
  }
}

static void parse_infer(gen *g, const gen_node *entry, gen_op *op) {
  const gen_node *node = gen_get(entry, "infer");
  if (!node) {
    if (!gen_get(entry, "lower") && !(op->flags & TN_OP_LOWER_EARLY) && !op->torch)
      gen_problem_add(g, entry,
                      "the key 'infer' is missing (only operators with 'lower' do without)");
    return;
  }
  const char *name = gen_str(g, node, "infer");
  if (strcmp(name, "same_as_input") == 0)
    op->flags |= TN_OP_SAME_AS_INPUT;
  else if (strcmp(name, "broadcast") == 0)
    op->flags |= TN_OP_BROADCAST;
  else
    op->infer = gen_function_note(g, node, name, GEN_CALL);
}

static void parse_flops(gen *g, const gen_node *entry, gen_op *op) {
  const gen_node *node = gen_get(entry, "flops");
  if (!node) return;
  const char *text = gen_str(g, node, "flops");
  char *end;
  const double value = strtod(text, &end);
  if (*text && !*end && value >= 0 && value < 1e9)
    op->flops_per_element = value;
  else
    op->flops = gen_function_note(g, node, text, GEN_FLOPS);
}

static void parse_functions(gen *g, const gen_node *entry, gen_op *op) {
  const uint64_t lower_flags = TN_OP_LOWER_EARLY | TN_OP_LOWER_ALWAYS;
  parse_infer(g, entry, op);
  parse_flops(g, entry, op);
  op->lower = gen_function_at(g, entry, "lower", GEN_LOWER);
  op->epilogue = gen_function_at(g, entry, "epilogue", GEN_EPILOGUE);
  op->reference = gen_function_at(g, entry, "reference", GEN_CALL);
  if ((op->flags & lower_flags) && !gen_get(entry, "lower")) {
    gen_problem_add(g, entry,
                    "an operator with the flag lower_early or lower_always needs 'lower'");
  }
}

static void parse_cases(gen *g, const gen_node *entry, gen_op *op) {
  const gen_node *list = gen_get(entry, "cases");
  for (int k = 0; k < gen_n_items(list); k++) {
    const gen_node *node = gen_item(list, k);
    const char *text = gen_str(g, node, "a case");
    gen_check_case(g, node, op, text);
    gen_push(g, &op->cases, text);
  }
}

static void parse_versions(gen *g, const gen_node *entry, gen_op *op) {
  op->since = gen_int_at(g, entry, "since", 1, INT32_MAX, 1);
  op->until = gen_int_at(g, entry, "until", 1, INT32_MAX, 0);
  if (op->until && op->until < op->since) {
    gen_problem_add(g, gen_get(entry, "until"), "until: %d comes before since: %d", op->until,
                    op->since);
  }
}

/* Without the line end that YAML's block texts have. */
static const char *trimmed(gen *g, const char *text) {
  size_t n = text ? strlen(text) : 0;
  while (n && text[n - 1] == '\n') n--;
  return text ? gen_format_text(g, "%.*s", (int)n, text) : NULL;
}

void gen_parse_op_parts(gen *g, const gen_node *entry, gen_op *op) {
  const int64_t before = g->problems.n;
  if (!op->torch) {
    op->doc = trimmed(g, gen_str_at(g, entry, "doc", true));
    parse_schema(g, entry, op);
  } else if (gen_get(entry, "doc")) {
    op->doc = trimmed(g, gen_str_at(g, entry, "doc", true));
  }
  gen_parse_aliases(g, entry, &op->aliases);
  if (g->problems.n == before) { /* what follows would complain about consequences */
    parse_types(g, entry, op);
    parse_cases(g, entry, op);
  }
  op->flags = gen_words_at(g, entry, "flags", gen_op_flag_words);
  parse_functions(g, entry, op);
}

static void parse_one(gen *g, const gen_node *entry, const gen_node *name, const char *family) {
  gen_op op = {.at = name, .family = family, .library = g->library};
  g->op_word = NULL;
  gen_split_name(g, gen_str(g, name, "op"), &op.domain, &op.name);
  if (!gen_is_identifier(op.name)) {
    gen_problem_add(
        g, name, "'%s' is no name of an operator: letters, digits and _ after an optional domain::",
        op.name);
    return;
  }
  op.word = gen_snake_case(g, op.name);
  g->op_word = op.word;
  parse_versions(g, entry, &op);
  gen_parse_op_parts(g, entry, &op);
  const gen_kernel prototype = {.at = name,
                                .family = family,
                                .domain = op.domain,
                                .op = op.name,
                                .since = op.since,
                                .until = op.until};
  gen_parse_kernels(g, entry, &op, &op.aliases, &prototype);
  gen_push(g, &g->ops, op);
  g->op_word = NULL;
}

void gen_parse_op(gen *g, const gen_node *entry, const char *family) {
  static const char *const keys[] = {
      "op",        "since", "until",           "doc",     "schema", "type_alias",
      "types",     "flags", "infer",           "flops",   "lower",  "epilogue",
      "reference", "cases", "dim_order_alias", "kernels", NULL};
  if (!gen_check_keys(g, entry, "an operator", keys)) return;
  const gen_node *names = gen_get(entry, "op");
  if (gen_n_items(names) == 0) gen_problem_add(g, names, "op: the list of operators is empty");
  for (int k = 0; k < gen_n_items(names); k++) parse_one(g, entry, gen_item(names, k), family);
}
