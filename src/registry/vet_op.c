/* Vetting of operators: members, versions, flags, schema, type rules, inference, and no two for one
 * version. */
#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "registry/internal.h"

enum {
  KNOWN_OP_FLAGS = TN_OP_IMPURE | TN_OP_ELEMENTWISE | TN_OP_SAME_AS_INPUT | TN_OP_BROADCAST |
                   TN_OP_LOWER_EARLY | TN_OP_LOWER_ALWAYS | TN_OP_TYPES_ONLY | TN_OP_FOLD_LATE |
                   TN_OP_OPEN_ATTRS
};

static const tn_member op_members[] = {
    /* first: it names the operator in all messages that follow */
    TN_MEMBER(tn_op, name, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_op, schema, TN_MEMBER_TEXT, true, TN_LIMIT_TEXT),
    TN_MEMBER(tn_op, infer, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_op, flops, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_op, lower, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_op, reference, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_op, epilogue, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_op, doc, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
    TN_MEMBER(tn_op, source, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
};

static const tn_member rule_members[] = {
    TN_MEMBER(tn_type_rule, name, TN_MEMBER_TEXT, true, TN_LIMIT_NAME),
    TN_MEMBER(tn_type_rule, args, TN_MEMBER_TEXT, true, TN_LIMIT_TEXT),
};

static bool vet_domain(tn_vet *v, tn_op *op) {
  const char *domain = op->domain;
  op->domain = "";
  if (!domain || (tn_image_readable(v->image, domain) && !*domain)) return true;
  if (!tn_vet_trusts(v) && !tn_vet_name(v, "domain", domain)) return false;
  op->domain = tn_domain_normal(domain);
  return true;
}

static bool vet_versions(tn_vet *v, const tn_op *op) {
  if (op->since < 1)
    return tn_vet_fail(v, TN_ERR_INVALID, "since", "is %d, versions begin at 1", op->since);
  if (op->until && op->until < op->since)
    return tn_vet_fail(v, TN_ERR_INVALID, "until", "is %d, which is before since = %d", op->until,
                       op->since);
  return true;
}

static bool vet_cases(tn_vet *v, tn_op *op) {
  if (!tn_vet_table(v, "cases", op->cases, op->n_cases, TN_LIMIT_PARTS)) {
    op->n_cases = 0;
    return false;
  }
  bool ok = true;
  for (uint32_t k = 0; ok && k < op->n_cases; k++)
    ok = tn_vet_text(v, "cases", tn_vet_row(op->cases, k), TN_LIMIT_TEXT);
  return ok;
}

/* ---- type rules ---- */

static const tn_arg *entry_of(const tn_schema *schema, int32_t entry) {
  return entry < schema->n_inputs ? tn_schema_input(schema, entry)
                                  : tn_schema_output(schema, entry - schema->n_inputs);
}

/* Binds the argument `name` to a rule: its input and its output, where both have that name. */
static bool bind_arg(tn_vet *v, tn_opdef *def, int32_t rule, tn_str name) {
  const int32_t n = def->schema.n_inputs + def->schema.n_outputs;
  int32_t found = 0;
  for (int32_t k = 0; k < n; k++) {
    if (!tn_str_is(name, entry_of(&def->schema, k)->name)) continue;
    found++;
    if (def->arg_rule[k] >= 0)
      return tn_vet_fail(v, TN_ERR_INVALID, "types", "name argument '%.*s' more than once",
                         (int)name.size, name.data);
    def->arg_rule[k] = rule;
    def->arg_dtypes[k] = def->op.types[rule]->dtypes;
  }
  if (found) return true;
  return tn_vet_fail(v, TN_ERR_INVALID, "types",
                     "rule '%s' names '%.*s', which is no tensor input or output of the schema",
                     def->op.types[rule]->name, (int)name.size, name.data);
}

static bool bind_args(tn_vet *v, tn_opdef *def, int32_t rule) {
  bool ok = true;
  for (const char *p = def->op.types[rule]->args; p;) {
    const char *comma = strchr(p, ',');
    tn_str name = {p, comma ? comma - p : (int64_t)strlen(p)};
    for (; name.size && *name.data == ' '; name.data++) name.size--;
    while (name.size && name.data[name.size - 1] == ' ') name.size--;
    ok = bind_arg(v, def, rule, name) && ok;
    p = comma ? comma + 1 : NULL;
  }
  return ok;
}

static bool vet_rule(tn_vet *v, const void *raw, tn_type_rule *rule) {
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_type_rule, dtypes), sizeof *rule, rule)) return false;
  if (!tn_vet_members(v, rule, rule_members, sizeof rule_members / sizeof *rule_members))
    return false;
  if (!rule->dtypes)
    return tn_vet_fail(v, TN_ERR_INVALID, "types", "rule '%s' allows no dtype", rule->name);
  return tn_vet_flags(v, "types: dtypes", rule->dtypes, TN_MASK_KNOWN);
}

static bool bind_rules(tn_vet *v, tn_opdef *def) {
  bool ok = true;
  for (uint32_t k = 0; ok && k < def->op.n_types; k++) ok = bind_args(v, def, (int32_t)k);
  return ok;
}

static bool vet_rules(tn_vet *v, tn_opdef *def) {
  const void *raw = def->op.types;
  const uint32_t n = def->op.n_types;
  if (tn_vet_trusts(v)) return bind_rules(v, def);
  if (!tn_vet_table(v, "types", raw, n, TN_LIMIT_ROWS)) return false;
  tn_type_rule *rules = tn_vet_alloc(v, n, sizeof *rules);
  const tn_type_rule **table = tn_vet_alloc(v, n, sizeof *table);
  bool ok = rules && table;
  for (uint32_t k = 0; ok && k < n; k++) {
    table[k] = &rules[k];
    v->row[0] = "type rule ", v->row[1] = "", v->row_index = k;
    ok = vet_rule(v, tn_vet_row(raw, k), &rules[k]);
  }
  v->row[0] = NULL;
  def->op.types = table;
  return ok && bind_rules(v, def);
}

/* ---- schema and inference ---- */

static bool parse_schema(tn_vet *v, tn_opdef *def) {
  tn_arena *arena = &v->plug->arena;
  tn_status status = tn_schema_parse(def->op.schema, arena, NULL, NULL, &def->schema);
  if (!status) return true;
  if (status == TN_ERR_MEMORY) return tn_vet_fail(v, status, NULL, "out of memory");
  char where[4096], what[4200]; /* once more, for what is wrong with it */
  tn_vet_where(v, where, sizeof where);
  snprintf(what, sizeof what, "%s, member schema", where);
  status = tn_schema_parse(def->op.schema, arena, what, v->diag, &def->schema);
  v->n_breaches++;
  if (!v->status) v->status = status;
  return false;
}

static bool make_entries(tn_vet *v, tn_opdef *def) {
  const int32_t n = def->schema.n_inputs + def->schema.n_outputs;
  def->arg_dtypes = tn_vet_alloc(v, (uint64_t)n, sizeof *def->arg_dtypes);
  def->arg_rule = tn_vet_alloc(v, (uint64_t)n, sizeof *def->arg_rule);
  if (!def->arg_dtypes || !def->arg_rule) return false;
  uint64_t any = 0; /* types that the operator's author can have meant */
  for (uint32_t d = TN_NONE + 1; d < TN_DTYPE_COUNT; d++)
    if (tn_abi_has_dtype(def->op.head.minor, d)) any |= TN_MASK(d);
  for (int32_t k = 0; k < n; k++) {
    def->arg_dtypes[k] = any;
    def->arg_rule[k] = -1;
  }
  return true;
}

static bool vet_inference(tn_vet *v, const tn_opdef *def) {
  const tn_op *op = &def->op;
  const uint64_t early = op->flags & (TN_OP_LOWER_EARLY | TN_OP_LOWER_ALWAYS);
  const uint64_t declared = op->flags & (TN_OP_SAME_AS_INPUT | TN_OP_BROADCAST);
  if (early && !op->lower)
    return tn_vet_fail(v, TN_ERR_INVALID, "lower", "must be given: flags ask for lowering");
  if (declared && !def->schema.n_inputs)
    return tn_vet_fail(v, TN_ERR_INVALID, "flags",
                       "say that shapes follow from the inputs, but the schema has none");
  if (op->infer || op->lower || declared) return true;
  return tn_vet_fail(v, TN_ERR_INVALID, "infer",
                     "must be given, or lower, or a flag (TN_OP_SAME_AS_INPUT, TN_OP_BROADCAST)");
}

bool tn_vet_op_schema(tn_vet *v, tn_opdef *def) {
  if (!parse_schema(v, def) || !make_entries(v, def)) return false;
  if (def->op.flags & TN_OP_OPEN_ATTRS) tn_schema_open(&def->schema);
  return vet_rules(v, def);
}

static void name_part(tn_vet *v, const tn_op *op, uint32_t index) {
  tn_vet_part(v, "op", index);
  if (!op->name) return;
  v->domain = op->domain;
  v->name = op->name;
  v->since = op->since;
}

static tn_opdef *vet_op(tn_vet *v, const void *raw, uint32_t index) {
  tn_vet_part(v, "op", index);
  tn_opdef *def = tn_vet_alloc(v, 1, sizeof *def);
  if (!def) return NULL;
  tn_op *op = &def->op;
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_op, source), sizeof *op, op)) return NULL;
  def->owner = &v->plug->owner;
  bool ok = vet_domain(v, op);
  ok = tn_vet_members(v, op, op_members, 1) && ok;
  if (!op->since) op->since = 1;
  name_part(v, op, index);
  ok = tn_vet_members(v, op, op_members + 1, sizeof op_members / sizeof *op_members - 1) && ok;
  ok = vet_versions(v, op) && ok;
  ok = tn_vet_flags(v, "flags", op->flags, KNOWN_OP_FLAGS) && ok;
  ok = vet_cases(v, op) && ok;
  if (!op->schema) return NULL;
  ok = tn_vet_op_schema(v, def) && ok;
  if (!def->arg_rule) return NULL; /* there is no schema to look at */
  ok = vet_inference(v, def) && ok;
  return ok ? def : NULL;
}

/* ---- one operator for one version ---- */

static bool vet_neighbours(tn_vet *v) {
  bool ok = true;
  for (uint32_t k = 1; k < v->plug->n_ops; k++) {
    const tn_opdef *a = v->plug->ops[k - 1], *b = v->plug->ops[k];
    if (!tn_op_is(&a->op, b->op.domain, b->op.name) ||
        !tn_versions_meet(tn_op_versions(&a->op), tn_op_versions(&b->op)))
      continue;
    name_part(v, &b->op, k);
    ok =
        tn_vet_fail(v, TN_ERR_INVALID, "since",
                    "overlaps the versions of the same op since %d in this plug-in (until %d; 0 is "
                    "the newest)",
                    a->op.since, a->op.until);
  }
  return ok;
}

static bool same_op(tn_vet *v, const tn_opdef *a, const tn_opdef *b) {
  if (a->op.since != b->op.since || a->op.until != b->op.until) return false;
  tn_text one, two;
  tn_text_init(&one, v->plug->a);
  tn_text_init(&two, v->plug->a);
  tn_schema_print(&a->schema, &one);
  tn_schema_print(&b->schema, &two);
  const bool same = !one.status && !two.status && !strcmp(tn_text_get(&one), tn_text_get(&two));
  tn_text_free(&one);
  tn_text_free(&two);
  return same;
}

/* An operator that is registered already stays as it is, unless nothing is known of it but how it
 * is lowered: then one that says more comes before it, and is lowered as it was where no kernel of
 * its own takes a node. */
typedef enum fate {
  KEEP,
  SAME, /* as the registered one: kernels of this plug-in serve that one, too */
  CLASH /* overlaps it, and differs: it is left out with all that was made for it */
} fate;

static fate find_fate(tn_vet *v, tn_opdef *def) {
  int32_t n;
  const int32_t first =
      tn_ops_find(v->known->op_rows, v->known->n_ops, def->op.domain, def->op.name, &n);
  for (int32_t k = first; k < first + n; k++) {
    if (!tn_versions_meet(tn_op_versions(&def->op), tn_op_versions(v->known->op_rows[k]))) continue;
    const tn_opdef *other = tn_tables_op(v->known, k);
    if (!other) return tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory"), CLASH;
    if (!tn_op_infers(&other->op) && tn_op_infers(&def->op)) {
      if (!def->op.lower) def->op.lower = other->op.lower;
      tn_vet_need(v, other->owner);
      continue;
    }
    name_part(v, &def->op, 0);
    if (same_op(v, def, other)) {
      tn_vet_warn(v,
                  "plug-in '%s' has registered this op with the same schema; that one stays in "
                  "use, with the kernels of both",
                  other->owner->name);
      tn_vet_need(v, other->owner);
      return SAME;
    }
    tn_vet_warn(v,
                "is left out, with its kernels and rewrites: it overlaps versions %d..%d (0 is the "
                "newest) of the same op of plug-in '%s', whose versions or schema differ and which "
                "stays in use; operators are not replaced: offer kernels for the registered one, "
                "or use a domain of your own",
                other->op.since, other->op.until, other->owner->name);
    return CLASH;
  }
  return KEEP;
}

/* Those that clash come to stand behind those that are kept. */
static void keep_ops(tn_vet *v) {
  tn_plug *plug = v->plug;
  const uint32_t n = plug->n_ops;
  tn_opdef **clashing = tn_vet_alloc(v, n, sizeof *clashing);
  plug->n_ops = 0;
  for (uint32_t k = 0; clashing && k < n; k++) {
    const fate what = find_fate(v, plug->ops[k]);
    if (what == KEEP) plug->ops[plug->n_ops++] = plug->ops[k];
    if (what == CLASH) clashing[plug->n_left_out++] = plug->ops[k];
  }
  for (uint32_t k = 0; k < plug->n_left_out; k++) plug->ops[plug->n_ops + k] = clashing[k];
}

bool tn_vet_left_out(const tn_vet *v, const char *domain, const char *name, tn_versions versions) {
  const tn_plug *plug = v->plug;
  for (uint32_t k = plug->n_ops; k < plug->n_ops + plug->n_left_out; k++) {
    const tn_opdef *op = plug->ops[k];
    if (tn_op_is(&op->op, domain, name) && tn_versions_meet(tn_op_versions(&op->op), versions))
      return true;
  }
  return false;
}

void tn_vet_ops(tn_vet *v) {
  tn_plug *plug = v->plug;
  const uint32_t n = plug->plugin.n_ops;
  plug->ops = tn_vet_alloc(v, n, sizeof *plug->ops);
  if (!plug->ops) return;
  if (tn_vet_trusts(v)) { /* in order: the generator has sorted them */
    plug->op_rows = plug->plugin.ops;
    plug->n_ops = n;
    plug->is_settled_later = true;
    return;
  }
  for (uint32_t k = 0; k < n; k++) {
    tn_opdef *def = vet_op(v, tn_vet_row(plug->plugin.ops, k), k);
    if (def) plug->ops[plug->n_ops++] = def;
    v->ops_are_missing = v->ops_are_missing || !def;
  }
  tn_ops_sort(plug->ops, plug->n_ops);
  if (vet_neighbours(v)) keep_ops(v);
  if (tn_plug_list_ops(plug)) tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
}
