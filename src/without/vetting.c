/* In place of vetting the parts that are built in (registry/add_builtin.c): a selected build takes
 * its own table as it is, from a form of it that has no pointers (gen/emit_compact.c). The
 * generator wrote it from families of which every part is vetted and tested in the whole library.
 * What lists can lack is still told: the operator of a kernel or of a rewrite. Plug-ins that are
 * linked in are vetted as ever. */
#include <stdlib.h>
#include <string.h>

#include "registry/builtin.h"
#include "registry/load.h"
#include "without/schema.h"
#include "without/without.h"

const char tn_without_vetting = 0;

/* Those of a table are settled at once. */
tn_status tn_op_settle(tn_plug *plug, const char *domain, const char *name) {
  return (void)plug, (void)domain, (void)name, TN_OK;
}
const tn_kernel_entry *tn_kernel_settle(tn_plug *plug, uint32_t k) { return plug->kernels[k]; }

typedef void (*any_function)(void);
extern const char tn_selected_texts[];
extern const any_function tn_selected_functions[];
extern const tn_format *const *const tn_selected_formats;

typedef struct reader {
  tn_plug *plug;
  const char *at;
  const any_function *function; /* the next one */
  uint64_t functions;           /* of a part: bit 0 is for the next one */
} reader;

static const char *text(reader *r) {
  const char *s = r->at;
  r->at += strlen(s) + 1;
  return s;
}

static uint64_t number(reader *r) { return strtoull(text(r), NULL, 16); }
static int32_t small(reader *r) { return (int32_t)number(r); }

static any_function function(reader *r) {
  const any_function f = r->functions & 1 ? *r->function++ : NULL;
  r->functions >>= 1;
  return f;
}

static void *room(reader *r, uint64_t bytes) { return tn_arena_alloc(&r->plug->arena, bytes); }

/* Is name one of "X, Y"? */
static bool names_it(const char *args, const char *name) {
  const size_t n = strlen(name);
  for (const char *p = args; (p = strstr(p, name)); p += n)
    if ((p == args || strchr(", ", p[-1])) && (!p[n] || strchr(", ", p[n]))) return true;
  return false;
}

static void bind_types(tn_opdef *def) {
  const tn_schema *schema = &def->schema;
  for (int32_t e = 0; e < schema->n_inputs + schema->n_outputs; e++) {
    const tn_arg *arg = e < schema->n_inputs ? tn_schema_input(schema, e)
                                             : tn_schema_output(schema, e - schema->n_inputs);
    def->arg_dtypes[e] = TN_MASK_KNOWN;
    def->arg_rule[e] = -1;
    for (uint32_t k = 0; k < def->op.n_types; k++) {
      if (!names_it(def->op.types[k]->args, arg->name)) continue;
      def->arg_rule[e] = (int32_t)k;
      def->arg_dtypes[e] = def->op.types[k]->dtypes;
    }
  }
}

static tn_status read_types(reader *r, tn_op *op) {
  op->n_types = (uint32_t)number(r);
  const tn_type_rule **rows = room(r, (op->n_types + 1) * sizeof *rows);
  op->types = rows;
  for (uint32_t k = 0; rows && k < op->n_types; k++) {
    tn_type_rule *rule = room(r, sizeof *rule);
    if (!rule) return TN_ERR_MEMORY;
    rule->head = (tn_head)TN_HEAD(tn_type_rule);
    rule->name = text(r);
    rule->args = text(r);
    rule->dtypes = number(r);
    rows[k] = rule;
  }
  return rows ? TN_OK : TN_ERR_MEMORY;
}

static tn_status read_op(reader *r, tn_op *op) {
  op->head = (tn_head)TN_HEAD(tn_op);
  op->name = text(r);
  op->domain = tn_domain_normal(text(r));
  op->schema = text(r);
  op->since = small(r);
  op->until = small(r);
  op->flags = number(r);
  r->functions = number(r);
  op->infer = (tn_status(*)(const tn_call *))function(r);
  op->flops = (tn_status(*)(const tn_call *, double *))function(r);
  op->lower = (tn_status(*)(const tn_call *, tn_graph *, int32_t))function(r);
  op->epilogue = (tn_status(*)(const tn_call *, tn_epilogue *))function(r);
  if (!op->since) op->since = 1;
  return read_types(r, op);
}

static tn_status take_op(reader *r) {
  tn_opdef *def = room(r, sizeof *def);
  tn_status s = def ? read_op(r, &def->op) : TN_ERR_MEMORY;
  if (!s) s = tn_schema_trust(def->op.schema, &r->plug->arena, &def->schema);
  if (s) return s;
  def->owner = &r->plug->owner;
  const uint64_t n = (uint64_t)(def->schema.n_inputs + def->schema.n_outputs);
  def->arg_dtypes = room(r, (n + 1) * sizeof *def->arg_dtypes);
  def->arg_rule = room(r, (n + 1) * sizeof *def->arg_rule);
  if (!def->arg_dtypes || !def->arg_rule) return TN_ERR_MEMORY;
  if (def->op.flags & TN_OP_OPEN_ATTRS) tn_schema_open(&def->schema);
  bind_types(def);
  r->plug->ops[r->plug->n_ops++] = def;
  return TN_OK;
}

/* "Foo", "com.acme::Foo": its operators, of all versions. */
static tn_op_slot *find_ops(tn_plug *plug, const char *text, const char **out_domain,
                            const char **out_name, int32_t *out_n) {
  const char *colons = strstr(text, "::");
  const char *domain = colons ? tn_arena_strn(&plug->arena, text, colons - text) : "";
  *out_name = colons ? colons + 2 : text;
  *out_domain = domain ? tn_domain_normal(domain) : "";
  return plug->ops +
         tn_ops_find(plug->op_rows, (int32_t)plug->n_ops, *out_domain, *out_name, out_n);
}

static tn_status lacks(const char *what, const char *name, const char *op, tn_diag *diag) {
  return tn_fail(diag, TN_ERR_NOT_FOUND, "%s '%s': the parts lack its operator '%s'", what, name,
                 op);
}

static tn_status read_accepts(reader *r, tn_kernel *kernel) {
  kernel->n_accepts = (uint32_t)number(r);
  const tn_accept **rows = room(r, (kernel->n_accepts + 1) * sizeof *rows);
  kernel->accepts = rows;
  for (uint32_t k = 0; rows && k < kernel->n_accepts; k++) {
    tn_accept *row = room(r, sizeof *row);
    if (!row) return TN_ERR_MEMORY;
    row->head = (tn_head)TN_HEAD(tn_accept);
    row->arg = text(r);
    row->dtypes = number(r);
    row->layout = (tn_layout)number(r);
    row->rank_min = small(r);
    row->rank_max = small(r);
    row->flags = number(r);
    rows[k] = row;
  }
  return rows ? TN_OK : TN_ERR_MEMORY;
}

static tn_status read_kernel(reader *r, tn_kernel *kernel) {
  kernel->head = (tn_head)TN_HEAD(tn_kernel);
  kernel->name = text(r);
  kernel->op = text(r);
  kernel->device = text(r);
  kernel->since = small(r);
  kernel->until = small(r);
  kernel->isa = number(r);
  kernel->flags = number(r);
  kernel->rank = small(r);
  r->functions = number(r);
  kernel->refuse = (const char *(*)(const tn_call *))function(r);
  kernel->plan = (tn_status(*)(const tn_call *, tn_kernel_plan *))function(r);
  kernel->prepare = (tn_status(*)(const tn_call *))function(r);
  kernel->run = (tn_status(*)(const tn_call *, uint32_t, int64_t, int64_t, uint32_t))function(r);
  kernel->finish = (void (*)(const tn_call *))function(r);
  if (!kernel->rank) kernel->rank = TN_RANK_PLUGIN;
  return read_accepts(r, kernel);
}

static tn_status take_kernel(reader *r, tn_diag *diag) {
  tn_plug *plug = r->plug;
  tn_kernel_entry *entry = room(r, sizeof *entry);
  const tn_status s = entry ? read_kernel(r, &entry->def.kernel) : TN_ERR_MEMORY;
  int32_t n;
  if (s) return s;
  const tn_kernel *kernel = &entry->def.kernel;
  entry->def.owner = &plug->owner;
  tn_op_slot *ops = find_ops(plug, kernel->op, &entry->def.domain, &entry->def.op, &n);
  entry->vetted = tn_kernel_op(kernel, ops, n);
  if (!entry->vetted) return lacks("kernel", kernel->name, kernel->op, diag);
  plug->kernels[plug->n_kernels++] = entry;
  return TN_OK;
}

static tn_status take_rewrite(reader *r, tn_diag *diag) {
  tn_plug *plug = r->plug;
  tn_rewritedef *def = room(r, sizeof *def);
  int32_t n;
  if (!def) return TN_ERR_MEMORY;
  def->rewrite.head = (tn_head)TN_HEAD(tn_rewrite);
  def->rewrite.name = text(r);
  def->rewrite.root = text(r);
  def->rewrite.makes = text(r);
  def->rewrite.apply = (tn_status(*)(const tn_call *, tn_graph *, int32_t)) * r->function++;
  def->owner = &plug->owner;
  if (!*def->rewrite.makes) def->rewrite.makes = NULL;
  find_ops(plug, def->rewrite.root, &def->domain, &def->op, &n);
  if (!n) return lacks("rewrite", def->rewrite.name, def->rewrite.root, diag);
  plug->rewrites[plug->n_rewrites++] = def;
  return TN_OK;
}

static tn_status take_formats(reader *r) {
  tn_plug *plug = r->plug;
  uint32_t n = 0;
  while (tn_selected_formats[n]) n++;
  plug->formats = room(r, (n + 1) * sizeof *plug->formats);
  if (!plug->formats) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n; k++) {
    tn_formatdef *def = room(r, sizeof *def);
    if (!def) return TN_ERR_MEMORY;
    def->format = *tn_selected_formats[k];
    def->owner = &plug->owner;
    plug->formats[plug->n_formats++] = &def->format;
  }
  return TN_OK;
}

/* The head, and room for as many parts of each kind as it says. */
static tn_status begin(reader *r) {
  tn_plug *plug = r->plug;
  plug->plugin.head = (tn_head)TN_HEAD(tn_plugin);
  plug->plugin.name = plug->owner.name = plug->info.name = "tenon";
  plug->info.flags = plug->plugin.flags = TN_PLUGIN_LAZY_CONSTANTS;
  plug->owner.is_lazy = true;
  plug->plugin.version = plug->info.version = text(r);
  plug->plugin.license = plug->info.license = text(r);
  plug->plugin.build_id = plug->info.build_id = text(r);
  const uint64_t n = number(r) + 1;
  plug->ops = room(r, n * sizeof *plug->ops);
  plug->kernels = room(r, n * sizeof *plug->kernels);
  plug->rewrites = room(r, n * sizeof *plug->rewrites);
  return plug->ops && plug->kernels && plug->rewrites ? take_formats(r) : TN_ERR_MEMORY;
}

static tn_status sort_ops(tn_plug *plug) {
  tn_ops_sort(plug->ops, plug->n_ops);
  return tn_plug_list_ops(plug);
}

/* As tn_plug_vet, of a table that is what it says: operators, which are found in order, then
 * kernels, then rewrites. */
static tn_status trust(tn_registry *registry, tn_plug *plug, tn_plugin_query_fn query,
                       tn_diag *diag) {
  (void)registry, (void)query;
  reader r = {.plug = plug, .at = tn_selected_texts, .function = tn_selected_functions};
  bool sorted = false;
  tn_status s = begin(&r);
  for (char kind; !s && (kind = *text(&r)) != '.';) {
    if (kind != 'o' && !sorted) s = sort_ops(plug);
    sorted = kind != 'o';
    if (s) break;
    s = kind == 'o' ? take_op(&r) : kind == 'k' ? take_kernel(&r, diag) : take_rewrite(&r, diag);
  }
  if (!s && !sorted) s = sort_ops(plug);
  plug->info.n_ops = (uint32_t)plug->n_ops;
  plug->info.n_kernels = (uint32_t)plug->n_kernels;
  plug->info.n_rewrites = (uint32_t)plug->n_rewrites;
  plug->info.n_formats = (uint32_t)plug->n_formats;
  return s;
}

/* What it answers is not asked for. */
static const tn_plugin *no_query(uint32_t host_major, uint32_t host_minor) {
  (void)host_major, (void)host_minor;
  return NULL;
}

tn_status tn_registry_add_builtin(tn_registry *r, tn_diag *diag) {
  const tn_offer offer = {TN_ORIGIN_BUILT_IN, NULL, NULL, 0, trust, NULL, NULL};
  return tn_plug_add(r, no_query, &offer, diag);
}
