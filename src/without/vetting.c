/* In place of vetting the parts that are built in (registry/add_builtin.c): a selected build takes
 * its own table as it is. The generator wrote it from families of which every part is vetted and
 * tested in the whole library. What lists can lack is still told: the operator of a kernel or of a
 * rewrite. Plug-ins that are linked in are vetted as ever. */
#include <string.h>

#include "registry/builtin.h"
#include "registry/load.h"
#include "without/schema.h"
#include "without/without.h"

const char tn_without_vetting = 0;

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

static tn_status take_op(tn_plug *plug, const tn_op *op) {
  tn_arena *arena = &plug->arena;
  tn_opdef *def = tn_arena_alloc(arena, sizeof *def);
  if (!def) return TN_ERR_MEMORY;
  def->op = *op;
  def->op.domain = tn_domain_normal(op->domain);
  if (!op->since) def->op.since = 1;
  def->owner = &plug->owner;
  const tn_status s = tn_schema_trust(op->schema, arena, &def->schema);
  if (s) return s;
  const uint64_t n = (uint64_t)(def->schema.n_inputs + def->schema.n_outputs);
  def->arg_dtypes = tn_arena_alloc(arena, (n + 1) * sizeof *def->arg_dtypes);
  def->arg_rule = tn_arena_alloc(arena, (n + 1) * sizeof *def->arg_rule);
  if (!def->arg_dtypes || !def->arg_rule) return TN_ERR_MEMORY;
  if (op->flags & TN_OP_OPEN_ATTRS) tn_schema_open(&def->schema);
  bind_types(def);
  plug->ops[plug->n_ops++] = def;
  return TN_OK;
}

/* "Foo", "com.acme::Foo": its operators, of all versions. */
static const tn_opdef *const *find_ops(tn_plug *plug, const char *text, const char **out_domain,
                                       const char **out_name, int32_t *out_n) {
  const char *colons = strstr(text, "::");
  const char *domain = colons ? tn_arena_strn(&plug->arena, text, colons - text) : "";
  *out_name = colons ? colons + 2 : text;
  *out_domain = domain ? tn_domain_normal(domain) : "";
  const tn_opdef *const *ops = (const tn_opdef *const *)plug->ops;
  return ops + tn_ops_find(ops, (int32_t)plug->n_ops, *out_domain, *out_name, out_n);
}

static tn_status lacks(const char *what, const char *name, const char *op, tn_diag *diag) {
  return tn_fail(diag, TN_ERR_NOT_FOUND, "%s '%s': the parts lack its operator '%s'", what, name,
                 op);
}

static tn_status take_kernel(tn_plug *plug, const tn_kernel *kernel, tn_diag *diag) {
  tn_kernel_entry *entry = tn_arena_alloc(&plug->arena, sizeof *entry);
  int32_t n;
  if (!entry) return TN_ERR_MEMORY;
  entry->def.kernel = *kernel;
  entry->def.owner = &plug->owner;
  if (!kernel->device) entry->def.kernel.device = "cpu";
  if (!kernel->rank) entry->def.kernel.rank = TN_RANK_PLUGIN;
  const tn_opdef *const *ops = find_ops(plug, kernel->op, &entry->def.domain, &entry->def.op, &n);
  for (int32_t k = n - 1; k >= 0; k--) { /* one that infers, if there is one */
    if (!tn_versions_meet(tn_op_versions(&ops[k]->op), tn_kernel_versions(kernel))) continue;
    if (!entry->vetted || tn_op_infers(&ops[k]->op)) entry->vetted = ops[k];
  }
  if (!entry->vetted) return lacks("kernel", kernel->name, kernel->op, diag);
  plug->kernels[plug->n_kernels++] = entry;
  return TN_OK;
}

static tn_status take_rewrite(tn_plug *plug, const tn_rewrite *rewrite, tn_diag *diag) {
  tn_rewritedef *def = tn_arena_alloc(&plug->arena, sizeof *def);
  const char *domain, *name;
  int32_t n;
  if (!def) return TN_ERR_MEMORY;
  def->rewrite = *rewrite;
  def->owner = &plug->owner;
  find_ops(plug, rewrite->root, &domain, &name, &n);
  if (!n) return lacks("rewrite", rewrite->name, rewrite->root, diag);
  plug->rewrites[plug->n_rewrites++] = def;
  return TN_OK;
}

static tn_status take_format(tn_plug *plug, const tn_format *format) {
  tn_formatdef *def = tn_arena_alloc(&plug->arena, sizeof *def);
  if (!def) return TN_ERR_MEMORY;
  def->format = *format;
  def->owner = &plug->owner;
  plug->formats[plug->n_formats++] = &def->format;
  return TN_OK;
}

static void name_it(tn_plug *plug, const tn_plugin *p) {
  plug->plugin = *p;
  plug->owner.name = plug->info.name = p->name;
  plug->owner.is_lazy = (p->flags & TN_PLUGIN_LAZY_CONSTANTS) != 0;
  plug->info.version = p->version;
  plug->info.license = p->license;
  plug->info.build_id = p->build_id;
  plug->info.flags = p->flags;
  plug->info.n_ops = p->n_ops;
  plug->info.n_kernels = p->n_kernels;
  plug->info.n_rewrites = p->n_rewrites;
  plug->info.n_formats = p->n_formats;
}

static tn_status make_room(tn_plug *plug, const tn_plugin *p) {
  tn_arena *arena = &plug->arena;
  plug->ops = tn_arena_alloc(arena, (p->n_ops + 1) * sizeof *plug->ops);
  plug->kernels = tn_arena_alloc(arena, (p->n_kernels + 1) * sizeof *plug->kernels);
  plug->rewrites = tn_arena_alloc(arena, (p->n_rewrites + 1) * sizeof *plug->rewrites);
  plug->formats = tn_arena_alloc(arena, (p->n_formats + 1) * sizeof *plug->formats);
  return plug->ops && plug->kernels && plug->rewrites && plug->formats ? TN_OK : TN_ERR_MEMORY;
}

/* As tn_plug_vet, of a table that is what it says. */
static tn_status trust(tn_registry *r, tn_plug *plug, tn_plugin_query_fn query, tn_diag *diag) {
  (void)r;
  const tn_plugin *p = query(TN_ABI_MAJOR, TN_ABI_MINOR);
  name_it(plug, p);
  tn_status s = make_room(plug, p);
  for (uint32_t k = 0; k < p->n_ops && !s; k++) s = take_op(plug, p->ops[k]);
  if (!s) tn_ops_sort(plug->ops, plug->n_ops);
  for (uint32_t k = 0; k < p->n_kernels && !s; k++) s = take_kernel(plug, p->kernels[k], diag);
  for (uint32_t k = 0; k < p->n_rewrites && !s; k++) s = take_rewrite(plug, p->rewrites[k], diag);
  for (uint32_t k = 0; k < p->n_formats && !s; k++) s = take_format(plug, p->formats[k]);
  return s;
}

tn_status tn_registry_add_builtin(tn_registry *r, const tn_host *host, tn_diag *diag) {
  const tn_offer offer = {TN_ORIGIN_BUILT_IN, host, NULL, 0, trust};
  return tn_plug_add(r, tn_builtin_query, &offer, diag);
}
