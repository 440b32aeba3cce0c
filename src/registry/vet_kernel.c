/* Vetting of kernels: members, versions, device, what they accept, and that there is an operator
 * they fit. */
#include <string.h>

#include "base/abi.h"
#include "registry/internal.h"

static const tn_member kernel_members[] = {
    TN_MEMBER(tn_kernel, name, TN_MEMBER_NAME, true, 0),
    TN_MEMBER(tn_kernel, op, TN_MEMBER_TEXT, true, 2 * TN_LIMIT_NAME),
    TN_MEMBER(tn_kernel, device, TN_MEMBER_NAME, false, 0),
    TN_MEMBER(tn_kernel, refuse, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_kernel, plan, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_kernel, prepare, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_kernel, run, TN_MEMBER_FUNCTION, true, 0),
    TN_MEMBER(tn_kernel, finish, TN_MEMBER_FUNCTION, false, 0),
    TN_MEMBER(tn_kernel, source, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
};

static const tn_member accept_members[] = {
    TN_MEMBER(tn_accept, arg, TN_MEMBER_TEXT, true, TN_LIMIT_NAME),
};

static bool vet_versions(tn_vet *v, const tn_kernel *kernel) {
  if (kernel->since < 0)
    return tn_vet_fail(v, TN_ERR_INVALID, "since", "is %d, must not be negative", kernel->since);
  if (kernel->until < 0 || (kernel->until && kernel->until < kernel->since))
    return tn_vet_fail(v, TN_ERR_INVALID, "until", "is %d, which is before since = %d",
                       kernel->until, kernel->since);
  return true;
}

static bool vet_device(tn_vet *v, const char *device) {
  if (!device || !strcmp(device, "cpu")) return true;
  return tn_vet_fail(v, TN_ERR_UNSUPPORTED, "device", "is '%s', this host knows 'cpu' only",
                     device);
}

/* ---- rows ---- */

static bool is_layout(tn_layout layout) {
  return layout == TN_PLAIN || layout == TN_CHANNELS_LAST || layout == TN_ANY_LAYOUT ||
         layout == TN_BLOCKED(4) || layout == TN_BLOCKED(8) || layout == TN_BLOCKED(16) ||
         layout == TN_BLOCKED(32);
}

static bool vet_ranks(tn_vet *v, const tn_accept *row) {
  if (!row->rank_max && row->rank_min)
    return tn_vet_fail(v, TN_ERR_INVALID, "accepts",
                       "row '%s' has rank_min %d with rank_max 0, which means any rank", row->arg,
                       row->rank_min);
  if (row->rank_min < 0 || row->rank_max < row->rank_min || row->rank_max > TN_MAX_RANK)
    return tn_vet_fail(v, TN_ERR_INVALID, "accepts",
                       "row '%s' has ranks %d to %d, which is no range within 0 to %d", row->arg,
                       row->rank_min, row->rank_max, TN_MAX_RANK);
  return true;
}

static bool vet_row(tn_vet *v, const void *raw, tn_accept *row) {
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_accept, flags), sizeof *row, row)) return false;
  if (!tn_vet_members(v, row, accept_members, sizeof accept_members / sizeof *accept_members))
    return false;
  bool ok = tn_vet_flags(v, "accepts: dtypes", row->dtypes, TN_MASK_KNOWN | TN_ANY_DTYPE);
  ok = tn_vet_flags(v, "accepts: flags", row->flags,
                    TN_ACCEPT_CONST | TN_ACCEPT_ABSENT | TN_ACCEPT_PRESENT | TN_ACCEPT_PACKED) &&
       ok;
  if (row->dtypes & TN_ANY_DTYPE && row->dtypes != TN_ANY_DTYPE)
    ok = tn_vet_fail(v, TN_ERR_INVALID, "accepts: dtypes", "has TN_ANY_DTYPE beside other types");
  if (!row->dtypes && !(row->flags & TN_ACCEPT_ABSENT))
    ok = tn_vet_fail(v, TN_ERR_INVALID, "accepts",
                     "row '%s' takes no dtype: name them, or say TN_ANY_DTYPE", row->arg);
  if (!strcmp(row->arg, "*") && row->flags & ~(uint64_t)TN_ACCEPT_ABSENT)
    ok = tn_vet_fail(v, TN_ERR_INVALID, "accepts",
                     "row '*' has flags 0x%llx, which an argument has in a row of its own",
                     (unsigned long long)row->flags);
  if (!is_layout(row->layout))
    ok = tn_vet_fail(v, TN_ERR_UNSUPPORTED, "accepts", "row '%s' has layout 0x%llx, which is none",
                     row->arg, (unsigned long long)row->layout);
  if ((row->flags & TN_ACCEPT_ABSENT) && (row->flags & (TN_ACCEPT_PRESENT | TN_ACCEPT_CONST)))
    ok = tn_vet_fail(v, TN_ERR_INVALID, "accepts",
                     "row '%s' wants the argument to be left out and to be there", row->arg);
  return vet_ranks(v, row) && ok;
}

static bool is_second_row(const tn_kernel *kernel, uint32_t index) {
  for (uint32_t k = 0; k < index; k++)
    if (!strcmp(kernel->accepts[k]->arg, kernel->accepts[index]->arg)) return true;
  return false;
}

static bool vet_rows(tn_vet *v, tn_kernel *kernel) {
  const void *raw = kernel->accepts;
  const uint32_t n = kernel->n_accepts;
  kernel->n_accepts = 0;
  if (!tn_vet_table(v, "accepts", raw, n, TN_LIMIT_ROWS)) return false;
  tn_accept *rows = tn_vet_alloc(v, n, sizeof *rows);
  const tn_accept **table = tn_vet_alloc(v, n, sizeof *table);
  if (!rows || !table) return false;
  kernel->accepts = table;
  for (uint32_t k = 0; k < n; k++) {
    table[k] = &rows[k];
    v->row[0] = "row ", v->row[1] = " of accepts", v->row_index = k;
    const bool good = vet_row(v, tn_vet_row(raw, k), &rows[k]);
    v->row[0] = NULL;
    if (!good) return false;
    if (is_second_row(kernel, k))
      return tn_vet_fail(v, TN_ERR_INVALID, "accepts", "has two rows for '%s'", rows[k].arg);
  }
  kernel->n_accepts = n;
  return true;
}

/* ---- the operator ---- */

typedef struct tn_search {
  const tn_opdef *early; /* lowered before kernels are chosen: fits only if nothing else does */
  int32_t n_of_name;     /* of any version */
} tn_search;

/* Takes the operators of one list that the kernel serves: of the plug-in, or known NULL, of what is
 * registered. All have to be called alike. */
static bool search(tn_vet *v, tn_kernel_entry *entry, const tn_tables *known, tn_search *s) {
  const tn_plug *plug = v->plug;
  const tn_op *const *rows = known ? known->op_rows : plug->op_rows;
  int32_t n;
  const int32_t first = tn_ops_find(rows, known ? known->n_ops : (int32_t)plug->n_ops,
                                    entry->def.domain, entry->def.op, &n);
  s->n_of_name += n;
  for (int32_t k = first; k < first + n; k++) {
    if (!tn_versions_meet(tn_op_versions(rows[k]), tn_kernel_versions(&entry->def.kernel)))
      continue;
    const tn_opdef *op = known ? tn_tables_op(known, k) : plug->ops[k];
    if (!op) return tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
    if (!tn_op_infers(&op->op))
      s->early = op;
    else if (!entry->vetted)
      entry->vetted = op;
    else if (!tn_schema_same_call(&entry->vetted->schema, &op->schema))
      return tn_vet_fail(v, TN_ERR_INVALID, "since",
                         "serves %s since %d and since %d, whose arguments differ: limit the "
                         "versions with since and until",
                         entry->def.kernel.op, entry->vetted->op.since, op->op.since);
  }
  return true;
}

static bool find_op(tn_vet *v, tn_kernel_entry *entry) {
  tn_search s = {NULL, 0};
  if (!search(v, entry, NULL, &s) || !search(v, entry, v->known, &s)) return false;
  if (!entry->vetted) entry->vetted = s.early;
  if (entry->vetted) {
    tn_vet_need(v, entry->vetted->owner);
    return true;
  }
  const char *op = entry->def.kernel.op;
  if (v->ops_are_missing) return false; /* it may be one of those that were refused */
  if (!s.n_of_name)
    return tn_vet_fail(v, TN_ERR_NOT_FOUND, "op",
                       "is '%s', which neither this plug-in nor any loaded before it offers", op);
  return tn_vet_fail(v, TN_ERR_NOT_FOUND, "since",
                     "serves versions %d..%d (0 is open) of '%s', none of which is registered",
                     entry->def.kernel.since, entry->def.kernel.until, op);
}

static bool is_tensor_input(const tn_schema *schema, const char *name) {
  for (int32_t k = 0; k < schema->n_inputs; k++)
    if (!strcmp(tn_schema_input(schema, k)->name, name)) return true;
  return false;
}

static bool is_output(const tn_schema *schema, const char *name) {
  for (int32_t k = 0; k < schema->n_outputs; k++)
    if (!strcmp(tn_schema_output(schema, k)->name, name)) return true;
  return false;
}

static const char *entry_name(const tn_schema *schema, int32_t k) {
  return k < schema->n_inputs ? tn_schema_input(schema, k)->name
                              : tn_schema_output(schema, k - schema->n_inputs)->name;
}

static bool has_row(const tn_kernel *kernel, const char *arg) {
  for (uint32_t k = 0; k < kernel->n_accepts; k++)
    if (!strcmp(kernel->accepts[k]->arg, arg) || !strcmp(kernel->accepts[k]->arg, "*")) return true;
  return false;
}

/* Does a type rule bind entry k to an argument that has a row? */
static bool is_bound(const tn_kernel *kernel, const tn_opdef *op, int32_t k) {
  const tn_schema *schema = &op->schema;
  for (int32_t i = 0; op->arg_rule[k] >= 0 && i < schema->n_inputs + schema->n_outputs; i++)
    if (op->arg_rule[i] == op->arg_rule[k] && has_row(kernel, entry_name(schema, i))) return true;
  return false;
}

/* What a kernel does not name, it may not be given. */
static bool vet_coverage(tn_vet *v, const tn_kernel_entry *entry) {
  const tn_kernel *kernel = &entry->def.kernel;
  const tn_schema *schema = &entry->vetted->schema;
  bool ok = true;
  for (int32_t k = 0; k < schema->n_inputs + schema->n_outputs; k++) {
    const char *name = entry_name(schema, k);
    if (!has_row(kernel, name) && !is_bound(kernel, entry->vetted, k))
      ok = tn_vet_fail(v, TN_ERR_INVALID, "accepts",
                       "%s %s has no row: say what the kernel takes for it, in a row of its own or "
                       "in one for '*'",
                       k < schema->n_inputs ? "input" : "output", name);
  }
  return ok;
}

static bool vet_row_args(tn_vet *v, const tn_kernel_entry *entry) {
  const tn_kernel *kernel = &entry->def.kernel;
  const tn_schema *schema = &entry->vetted->schema;
  bool ok = true;
  for (uint32_t k = 0; k < kernel->n_accepts; k++) {
    const tn_accept *row = kernel->accepts[k];
    if (!strcmp(row->arg, "*")) continue;
    const bool input = is_tensor_input(schema, row->arg);
    if (!input && !is_output(schema, row->arg))
      ok = tn_vet_fail(v, TN_ERR_INVALID, "accepts",
                       "row '%s' names no tensor input or output of %s, whose schema is %s",
                       row->arg, kernel->op, entry->vetted->op.schema);
    else if (!input && (row->flags & TN_ACCEPT_CONST))
      ok = tn_vet_fail(v, TN_ERR_INVALID, "accepts", "row '%s' wants an output to be constant",
                       row->arg);
  }
  return ok;
}

/* ---- kernels ---- */

static bool vet_unique(tn_vet *v, const char *name) {
  if (tn_map_get(&v->names, name, 0))
    return tn_vet_fail(v, TN_ERR_INVALID, "name", "is the name of another kernel of this plug-in");
  if (tn_map_set(&v->names, name, 1)) return tn_vet_fail(v, TN_ERR_MEMORY, NULL, "out of memory");
  return true;
}

bool tn_vet_kernel_defaults(tn_vet *v, tn_kernel_entry *entry) {
  tn_kernel *kernel = &entry->def.kernel;
  if (!kernel->rank) kernel->rank = TN_RANK_PLUGIN;
  if (!kernel->device) kernel->device = "cpu";
  return tn_vet_op_name(v, "op", kernel->op, &entry->def.domain, &entry->def.op);
}

/* What rows of all kernels have to be, wherever they run. */
static bool vet_fit(tn_vet *v, tn_kernel_entry *entry, bool ok) {
  tn_kernel *kernel = &entry->def.kernel;
  ok = vet_versions(v, kernel) && ok;
  ok = tn_vet_flags(v, "flags", kernel->flags, TN_KERNEL_EPILOGUE | TN_KERNEL_SERIAL) && ok;
  ok = vet_rows(v, kernel) && ok;
  if (!kernel->op || !tn_vet_kernel_defaults(v, entry)) return false;
  if (ok && tn_vet_left_out(v, entry->def.domain, entry->def.op, tn_kernel_versions(kernel))) {
    tn_vet_warn(v, "is left out, as is the op of this plug-in that it is for");
    return false;
  }
  return ok && find_op(v, entry) && vet_row_args(v, entry) && vet_coverage(v, entry);
}

static bool vet_kernel(tn_vet *v, const void *raw, uint32_t index, tn_kernel_entry *entry) {
  tn_kernel *kernel = &entry->def.kernel;
  tn_vet_part(v, "kernel", index);
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_kernel, source), sizeof *kernel, kernel)) return false;
  bool ok = tn_vet_named(v, "kernel", kernel, kernel_members,
                         sizeof kernel_members / sizeof *kernel_members);
  if (kernel->name) ok = vet_unique(v, kernel->name) && ok;
  ok = vet_device(v, kernel->device) && ok;
  return vet_fit(v, entry, ok);
}

/* As for the CPU, but for device and run. */
static bool vet_device_members(tn_vet *v, tn_kernel *kernel) {
  static const tn_member members[] = {
      TN_MEMBER(tn_kernel, name, TN_MEMBER_NAME, true, 0),
      TN_MEMBER(tn_kernel, op, TN_MEMBER_TEXT, true, 2 * TN_LIMIT_NAME),
      TN_MEMBER(tn_kernel, device, TN_MEMBER_NAME, true, 0),
      TN_MEMBER(tn_kernel, refuse, TN_MEMBER_FUNCTION, false, 0),
      TN_MEMBER(tn_kernel, plan, TN_MEMBER_FUNCTION, false, 0),
      TN_MEMBER(tn_kernel, prepare, TN_MEMBER_FUNCTION, false, 0),
      TN_MEMBER(tn_kernel, finish, TN_MEMBER_FUNCTION, false, 0),
      TN_MEMBER(tn_kernel, source, TN_MEMBER_TEXT, false, TN_LIMIT_TEXT),
  };
  bool ok = tn_vet_named(v, "device kernel", kernel, members, sizeof members / sizeof *members);
  if (kernel->device && !strcmp(kernel->device, "cpu"))
    ok = tn_vet_fail(v, TN_ERR_INVALID, "device", "is 'cpu', whose kernels have no programs");
  if (kernel->run) ok = tn_vet_fail(v, TN_ERR_INVALID, "run", "must be NULL: programs do the work");
  return ok;
}

bool tn_vet_device_row(tn_vet *v, const void *raw, const tn_device_kernel *programs) {
  tn_plug *plug = v->plug;
  tn_kernel_entry *entry = tn_vet_alloc(v, 1, sizeof *entry);
  if (!entry || !plug->kernels) return false;
  entry->def.owner = &plug->owner;
  entry->def.device = programs;
  tn_kernel *kernel = &entry->def.kernel;
  if (!tn_vet_struct(v, raw, TN_UPTO(tn_kernel, source), sizeof *kernel, kernel)) return false;
  bool ok = vet_device_members(v, kernel);
  if (kernel->name) ok = vet_unique(v, kernel->name) && ok;
  if (!vet_fit(v, entry, ok)) return false;
  plug->kernels[plug->n_kernels++] = entry;
  return true;
}

/* Two kernels of one name for one op are legal, but a pin cannot tell them apart. */
static void warn_of_namesakes(const tn_vet *v) {
  for (int32_t i = 0; i < v->known->n_plugs; i++) {
    const tn_plug *plug = v->known->plugs[i];
    for (uint32_t k = 0; !plug->info.refused && k < plug->n_kernels; k++) {
      const char *name = tn_plug_kernel_row(plug, k)->name;
      if (tn_map_get(&v->names, name, 0))
        tn_diag_add(v->diag, TN_DIAG_WARNING,
                    "%s, kernel '%s': plug-in '%s' has a kernel of that name too; both are in use",
                    v->where, name, plug->info.name);
    }
  }
}

void tn_vet_kernels(tn_vet *v) {
  tn_plug *plug = v->plug;
  const uint32_t n = plug->plugin.n_kernels;
  const uint64_t room = (uint64_t)n + plug->plugin.n_device_kernels; /* which follow */
  plug->kernels = tn_vet_alloc(v, room, sizeof *plug->kernels);
  if (plug->is_settled_later) { /* in order, as those of devices are behind them */
    plug->n_kernels = plug->kernels ? (uint32_t)room : 0;
    plug->n_first_run = plug->kernels ? n : 0;
    return;
  }
  tn_kernel_entry *entries = tn_vet_alloc(v, n, sizeof *entries);
  if (!plug->kernels || !entries) return;
  for (uint32_t k = 0; k < n; k++) {
    entries[k].def.owner = &plug->owner;
    if (vet_kernel(v, tn_vet_row(plug->plugin.kernels, k), k, &entries[k]))
      plug->kernels[plug->n_kernels++] = &entries[k];
  }
  warn_of_namesakes(v);
}
