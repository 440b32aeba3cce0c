/* Lists of parts: from what a runtime has used, and to a runtime that has no others. */
#include "parts.h"

#include <string.h>

#include "base/cpu.h"
#include "base/near.h"
#include "exec/exec.h"
#include "exec/host.h"
#include "plan/select/match.h"
#include "registry/builtin.h"

enum { NAME = 300, LINE = 512 };

/* "Conv", "tenon::Region"; domain NULL: as in tn_op. */
static const char *op_name(const char *domain, const char *name, char buf[NAME]) {
  return cli_op_text(domain && strcmp(domain, "ai.onnx") ? domain : "", name, buf, NAME);
}

/* ---- a runtime of these alone ---- */

/* What query_chosen answers, in memory of its own. */
static struct {
  tn_arena memory;
  tn_plugin plugin;
} chosen;

static const tn_plugin *query_chosen(uint32_t host_major, uint32_t host_minor) {
  (void)host_major;
  (void)host_minor;
  return &chosen.plugin;
}

/* Pointers of `from` for which the list has "what name". */
#define CHOOSE(type, from, n, what, out, out_n)                                         \
  do {                                                                                  \
    const type **made = tn_arena_alloc(&chosen.memory, ((n) + 1) * sizeof *made);       \
    if (!made) return TN_ERR_MEMORY;                                                    \
    uint32_t kept = 0;                                                                  \
    for (uint32_t k = 0; k < (n); k++)                                                  \
      if (tn_part_list_has(list, (what), (from)[k]->name, 0)) made[kept++] = (from)[k]; \
    (out) = made;                                                                       \
    (out_n) = kept;                                                                     \
  } while (0)

static tn_status choose_ops(const tn_plugin *all, tn_part_list *list) {
  const tn_op **made = tn_arena_alloc(&chosen.memory, ((uint64_t)all->n_ops + 1) * sizeof *made);
  tn_op *copies = tn_arena_alloc(&chosen.memory, ((uint64_t)all->n_ops + 1) * sizeof *copies);
  char name[NAME];
  uint32_t n = 0;
  if (!made || !copies) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < all->n_ops; k++) {
    const tn_op *op = all->ops[k];
    op_name(op->domain, op->name, name);
    const bool lowers = tn_part_list_has(list, "lower", name, op->since);
    if (!tn_part_list_has(list, "op", name, op->since)) continue;
    copies[n] = *op;
    if (!lowers) copies[n].lower = NULL;
    made[n] = &copies[n];
    n++;
  }
  chosen.plugin.ops = made;
  chosen.plugin.n_ops = n;
  return TN_OK;
}

static tn_status choose(tn_part_list *list) {
  const tn_plugin *all = tn_builtin_query(TN_ABI_MAJOR, TN_ABI_MINOR);
  tn_arena_clear(&chosen.memory);
  tn_arena_init(&chosen.memory, tn_default_allocator());
  chosen.plugin = *all;
  tn_status s = choose_ops(all, list);
  if (s) return s;
  CHOOSE(tn_kernel, all->kernels, all->n_kernels, "kernel", chosen.plugin.kernels,
         chosen.plugin.n_kernels);
  CHOOSE(tn_rewrite, all->rewrites, all->n_rewrites, "rewrite", chosen.plugin.rewrites,
         chosen.plugin.n_rewrites);
  CHOOSE(tn_format, all->formats, all->n_formats, "format", chosen.plugin.formats,
         chosen.plugin.n_formats);
  CHOOSE(tn_device_driver, all->drivers, all->n_drivers, "driver", chosen.plugin.drivers,
         chosen.plugin.n_drivers);
  chosen.plugin.n_device_kernels = 0;
  return TN_OK;
}

tn_status cli_parts_add(tn_runtime *runtime, tn_part_list *list, tn_diag *diag) {
  tn_status s = choose(list);
  for (const char *const *name = tn_part_services; *name; name++)
    (void)tn_part_list_has(list, "service", *name, 0); /* programs have these, plans do not */
  for (int k = 0; k < TN_FEATURE_COUNT; k++)
    if (!tn_part_list_has_feature(list, k)) runtime->features.left_out |= 1u << k;
  if (!s) s = tn_part_list_check(list, diag);
  if (s) return s;
  return tn_registry_add(runtime->registry, query_chosen, TN_ORIGIN_BUILT_IN, &tn_runtime_host,
                         NULL, 0, diag);
}

/* ---- what was used ---- */

static tn_status add(tn_part_list *to, const char *what, const char *name, int32_t since) {
  char line[LINE];
  if (since)
    snprintf(line, sizeof line, "%s %s %d", what, name, since);
  else
    snprintf(line, sizeof line, "%s %s", what, name);
  return tn_part_list_add(to, line);
}

static bool is_used(const tn_part_owner *owner, const tn_uses *uses, unsigned use) {
  return owner && owner->is_builtin && atomic_load((tn_uses *)(uintptr_t)uses) & use;
}

static tn_status add_op(const tn_opdef *def, bool all, tn_part_list *to) {
  const uint64_t flags = TN_OP_LOWER_EARLY | TN_OP_LOWER_ALWAYS;
  char name[NAME];
  op_name(def->op.domain, def->op.name, name);
  tn_status s = add(to, "op", name, def->op.since);
  const bool lowers = all || def->op.flags & flags || !tn_op_infers(&def->op) ||
                      is_used(def->owner, &def->uses, TN_USE_LOWERED);
  return s || !def->op.lower || !lowers ? s : add(to, "lower", name, def->op.since);
}

/* Of the operators of a domain the one of the newest version that needs no code: so that models of
 * that version are not taken for newer than what is known. */
static const tn_opdef *newest_of(const tn_registry *r, const char *domain) {
  const uint64_t flags = TN_OP_SAME_AS_INPUT | TN_OP_BROADCAST;
  const tn_opdef *newest = NULL;
  for (int32_t k = 0; k < tn_registry_n_ops(r); k++) {
    const tn_opdef *def = tn_registry_op_at(r, k);
    if (!def->owner->is_builtin || strcmp(def->op.domain, domain)) continue;
    const bool later = !newest || def->op.since > newest->op.since;
    const bool lighter = newest && def->op.since == newest->op.since &&
                         (!def->op.infer && def->op.flags & flags) && newest->op.infer;
    if (later || lighter) newest = def;
  }
  return newest;
}

static tn_status add_newest(const tn_registry *r, tn_part_list *to) {
  const char *domain = NULL;
  tn_status s = TN_OK;
  for (int32_t k = 0; k < tn_registry_n_ops(r) && !s; k++) { /* sorted by domain */
    const tn_opdef *def = tn_registry_op_at(r, k);
    if (!is_used(def->owner, &def->uses, TN_USE_TAKEN)) continue;
    if (domain && !strcmp(domain, def->op.domain)) continue;
    domain = def->op.domain;
    s = add_op(newest_of(r, domain), false, to);
  }
  return s;
}

static tn_status add_rewrites(const tn_registry *r, const tn_opdef *def, tn_part_list *to) {
  const tn_rewritedef *const *rewrites;
  const int32_t n = tn_registry_rewrites(r, def, &rewrites);
  tn_status s = TN_OK;
  for (int32_t k = 0; k < n && !s; k++)
    if (is_used(rewrites[k]->owner, &rewrites[k]->uses, TN_USE_TAKEN))
      s = add(to, "rewrite", rewrites[k]->rewrite.name, 0);
  return s;
}

tn_status cli_parts_used(const tn_runtime *runtime, const tn_model *model, tn_part_list *to) {
  const tn_registry *r = runtime->registry;
  const int ticket = tn_registry_enter(r);
  tn_status s = TN_OK;
  for (int32_t k = 0; k < tn_registry_n_ops(r) && !s; k++) {
    const tn_opdef *def = tn_registry_op_at(r, k);
    if (is_used(def->owner, &def->uses, TN_USE_TAKEN)) s = add_op(def, false, to);
    if (!s) s = add_rewrites(r, def, to);
  }
  for (int32_t k = 0; k < tn_registry_n_kernels(r) && !s; k++) {
    const tn_kerneldef *def = tn_registry_kernel_at(r, k);
    if (is_used(def->owner, &def->uses, TN_USE_TAKEN)) s = add(to, "kernel", def->kernel.name, 0);
  }
  if (!s) s = add_newest(r, to);
  for (int k = 0; k < TN_FEATURE_COUNT && !s; k++)
    if (atomic_load((atomic_uint *)(uintptr_t)&runtime->features.used) >> k & 1)
      s = add(to, "feature", tn_feature_names[k], 0);
  const tn_format *formats[] = {model ? model->format : NULL, model ? model->part_format : NULL};
  for (size_t k = 0; k < sizeof formats / sizeof *formats && !s; k++) {
    const tn_part_owner *owner = formats[k] ? tn_registry_format_owner(r, formats[k]) : NULL;
    if (owner && owner->is_builtin) s = add(to, "format", formats[k]->name, 0);
  }
  tn_registry_leave(r, ticket);
  return s;
}

tn_status cli_parts_asked(const tn_runtime *runtime, tn_part_list *to) {
  const tn_registry *r = runtime->registry;
  const int ticket = tn_registry_enter(r);
  tn_status s = TN_OK;
  for (int32_t k = 0; k < tn_registry_n_kernels(r) && !s; k++) {
    const tn_kerneldef *def = tn_registry_kernel_at(r, k);
    if (is_used(def->owner, &def->uses, TN_USE_ASKED)) s = add(to, "kernel", def->kernel.name, 0);
  }
  tn_registry_leave(r, ticket);
  return s;
}

bool cli_parts_moves_data(const char *kernel) {
  const tn_plugin *all = tn_builtin_query(TN_ABI_MAJOR, TN_ABI_MINOR);
  for (uint32_t k = 0; k < all->n_kernels; k++)
    if (!strcmp(all->kernels[k]->name, kernel))
      return !strcmp(all->kernels[k]->op, "tenon::Region") ||
             !strcmp(all->kernels[k]->op, "tenon::Reorder");
  return false;
}

/* ---- by hand ---- */

static bool takes(const tn_kernel *kernel, uint64_t dtypes) {
  bool found = !kernel->n_accepts;
  for (uint32_t k = 0; k < kernel->n_accepts; k++) {
    const uint64_t have = kernel->accepts[k]->dtypes;
    found = found || have == TN_ANY_DTYPE || have & dtypes;
  }
  return found;
}

static tn_status add_kernels(const tn_registry *r, const tn_opdef *def, uint64_t isa,
                             uint64_t dtypes, tn_part_list *to) {
  const tn_kerneldef *const *kernels;
  const int32_t n = tn_registry_kernels(r, def, &kernels);
  tn_status s = TN_OK;
  for (int32_t k = 0; k < n && !s; k++) {
    const tn_kernel *kernel = &kernels[k]->kernel;
    const bool fits = !kernels[k]->device && !(kernel->isa & ~isa) && takes(kernel, dtypes);
    if (fits && kernels[k]->owner->is_builtin) s = add(to, "kernel", kernel->name, 0);
  }
  return s;
}

static tn_status parse_dtypes(const char *text, uint64_t *out_dtypes, tn_diag *diag) {
  *out_dtypes = *text ? 0 : UINT64_MAX;
  while (*text) {
    const size_t n = strcspn(text, ",");
    uint64_t bit = 0;
    for (uint32_t d = TN_NONE + 1; d < TN_DTYPE_COUNT; d++)
      if (strlen(tn_dtype_name(d)) == n && !strncmp(tn_dtype_name(d), text, n)) bit = TN_MASK(d);
    if (!bit) return tn_fail(diag, TN_ERR_INVALID, "--add: '%.*s' is no dtype", (int)n, text);
    *out_dtypes |= bit;
    text += n + (text[n] == ',');
  }
  return TN_OK;
}

tn_status cli_parts_by_hand(const tn_runtime *runtime, const char *text, tn_part_list *to,
                            tn_diag *diag) {
  const tn_registry *r = runtime->registry;
  const size_t n = strcspn(text, "=");
  char name[NAME], meant[TN_NEAR_TEXT], wanted[NAME];
  uint64_t dtypes = 0;
  bool found = false;
  snprintf(wanted, sizeof wanted, "%.*s", (int)(n < NAME ? n : NAME - 1), text);
  tn_status s = parse_dtypes(text[n] ? text + n + 1 : "", &dtypes, diag);
  const int ticket = tn_registry_enter(r);
  for (int32_t k = 0; k < tn_registry_n_ops(r) && !s; k++) {
    const tn_opdef *def = tn_registry_op_at(r, k);
    if (!def->owner->is_builtin || strcmp(op_name(def->op.domain, def->op.name, name), wanted))
      continue;
    found = true;
    s = add_op(def, true, to);
    if (!s) s = add_kernels(r, def, runtime->isa, dtypes, to);
  }
  for (int k = 0; k < TN_FEATURE_COUNT && found && !s; k++) /* of what models, nobody knows */
    s = add(to, "feature", tn_feature_names[k], 0);
  tn_registry_leave(r, ticket);
  if (s || found) return s;
  return tn_fail(diag, TN_ERR_NOT_FOUND, "--add: there is no operator '%s'%s", wanted,
                 cli_near_op(runtime, wanted, meant));
}

/* ---- for people ---- */

static const tn_kerneldef *find_kernel(const tn_registry *r, const char *name) {
  for (int32_t k = 0; k < tn_registry_n_kernels(r); k++) {
    const tn_kerneldef *def = tn_registry_kernel_at(r, k);
    if (def->owner->is_builtin && !strcmp(def->kernel.name, name)) return def;
  }
  return NULL;
}

static void print_accept(const tn_accept *a, bool first, tn_arena *arena, tn_text *to) {
  if (a->flags & TN_ACCEPT_ABSENT) return;
  const char *dtypes = a->dtypes == TN_ANY_DTYPE ? "any" : tn_dtypes_text(a->dtypes, arena);
  tn_text_add(to, "%s%s %s", first ? ": " : ", ", a->arg, dtypes ? dtypes : "");
  if (a->layout != TN_PLAIN) tn_text_add(to, " %s", tn_layout_text(a->layout));
}

static void print_kernel(const tn_kerneldef *def, tn_text *to) {
  char name[NAME], isa[128];
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  tn_text_add(to, "  # %s", op_name(def->domain, def->op, name));
  for (uint32_t k = 0; k < def->kernel.n_accepts; k++)
    print_accept(def->kernel.accepts[k], !k, &arena, to);
  if (def->kernel.isa) tn_text_add(to, "; %s", tn_isa_text(def->kernel.isa, isa, sizeof isa));
  tn_arena_clear(&arena);
}

void cli_parts_print(const tn_runtime *runtime, const char *line, tn_text *to) {
  const int ticket = tn_registry_enter(runtime->registry);
  const bool is_kernel = !strncmp(line, "kernel ", 7);
  const tn_kerneldef *def = is_kernel ? find_kernel(runtime->registry, line + 7) : NULL;
  tn_text_add(to, "%s", line);
  if (def) print_kernel(def, to);
  tn_text_add(to, "\n");
  tn_registry_leave(runtime->registry, ticket);
}
