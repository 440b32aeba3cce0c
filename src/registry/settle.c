/* The operators of the library, settled: of more than a thousand a program asks for a few dozen, so
 * the schema of one, what follows from it, and which of the library's kernels are for it are made
 * when a look-up first finds it. Those of plug-ins are settled while they are vetted. */
#include "registry/internal.h"

static tn_status settle_ops(tn_plug *plug, tn_opdef *const *ops, int32_t n) {
  tn_vet v = {.plug = plug, .where = plug->info.name};
  for (int32_t k = 0; k < n; k++)
    if (!tn_vet_op_schema(&v, ops[k])) return v.status;
  return TN_OK;
}

static void settle_kernels(tn_plug *plug, const tn_opdef *const *ops, int32_t n) {
  uint32_t k = tn_kernels_find(plug->kernels, plug->n_kernels, ops[0]->op.domain, ops[0]->op.name);
  for (; k < plug->n_kernels; k++) {
    tn_kernel_entry *entry = plug->kernels[k];
    if (!tn_op_is(ops[0], entry->def.domain, entry->def.op)) return;
    entry->vetted = tn_kernel_op(&entry->def.kernel, ops, n);
  }
}

/* All versions of an operator: a kernel may serve several. */
static tn_status settle_name(tn_plug *plug, const char *domain, const char *name) {
  int32_t n;
  const tn_opdef *const *all = (const tn_opdef *const *)plug->ops;
  tn_opdef **ops = plug->ops + tn_ops_find(all, (int32_t)plug->n_ops, domain, name, &n);
  const tn_status status = settle_ops(plug, ops, n);
  if (status) return status;
  settle_kernels(plug, (const tn_opdef *const *)ops, n);
  for (int32_t k = 0; k < n; k++) atomic_store(&ops[k]->is_unsettled, false);
  return TN_OK;
}

void tn_op_settle(const tn_opdef *def) {
  if (!atomic_load_explicit(&((tn_opdef *)(uintptr_t)def)->is_unsettled, memory_order_acquire))
    return;
  tn_plug *plug = tn_plug_of(def->owner);
  pthread_mutex_lock(&plug->settling);
  if (def->is_unsettled) (void)settle_name(plug, def->op.domain, def->op.name);
  pthread_mutex_unlock(&plug->settling);
}
