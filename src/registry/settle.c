/* The parts of the library, settled: of more than a thousand operators a program asks for a few
 * dozen, so an operator, what follows from its schema, and which of the library's kernels are for
 * it are made of the library's own table when a look-up first finds it. Those of plug-ins are made
 * while they are vetted. */
#include "registry/internal.h"

static tn_opdef *make_op(tn_plug *plug, const tn_op *row) {
  tn_vet v = {.plug = plug, .where = plug->info.name};
  tn_opdef *def = tn_vet_alloc(&v, 1, sizeof *def);
  if (!def) return NULL;
  def->op = *row;
  def->owner = &plug->owner;
  return tn_vet_op_schema(&v, def) ? def : NULL;
}

/* The rows of its programs stay where they are. */
static tn_kernel_entry *make_kernel(tn_plug *plug, uint32_t k) {
  const tn_plugin *p = &plug->plugin;
  tn_vet v = {.plug = plug, .where = plug->info.name};
  tn_kernel_entry *entry = tn_vet_alloc(&v, 1, sizeof *entry);
  if (!entry) return NULL;
  entry->def.kernel = *tn_plug_kernel_row(plug, k);
  entry->def.owner = &plug->owner;
  entry->def.device = k < p->n_kernels ? NULL : p->device_kernels[k - p->n_kernels];
  entry->order = plug->first_order + k;
  return tn_vet_kernel_defaults(&v, entry) ? entry : NULL;
}

/* Under the lock. */
static tn_kernel_entry *kernel_of(tn_plug *plug, uint32_t k) {
  if (!plug->kernels[k]) plug->kernels[k] = make_kernel(plug, k);
  return plug->kernels[k];
}

static tn_status settle_kernels(tn_plug *plug, const tn_op *op, tn_op_slot *ops, int32_t n) {
  for (int second = 0; second < 2; second++) {
    uint32_t end;
    for (uint32_t k = tn_plug_run(plug, second, op->domain, op->name, &end); k < end; k++) {
      tn_kernel_entry *entry = kernel_of(plug, k);
      if (!entry) return TN_ERR_MEMORY;
      entry->vetted = tn_kernel_op(&entry->def.kernel, ops, n);
    }
  }
  return TN_OK;
}

/* All versions of an operator: a kernel may serve several. The last that is done is the first that
 * others look at. */
static tn_status settle_all(tn_plug *plug, int32_t first, int32_t n) {
  if (plug->ops[first]) return TN_OK; /* another thread was quicker */
  tn_op_slot *made = tn_arena_alloc(&plug->arena, (uint64_t)n * sizeof *made);
  if (!made) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < n; k++) {
    made[k] = make_op(plug, plug->op_rows[first + k]);
    if (!made[k]) return TN_ERR_MEMORY;
  }
  const tn_status status = settle_kernels(plug, plug->op_rows[first], made, n);
  for (int32_t k = n - 1; k >= 0 && !status; k--) plug->ops[first + k] = made[k];
  return status;
}

tn_status tn_op_settle(tn_plug *plug, const char *domain, const char *name) {
  int32_t n;
  if (!plug->is_settled_later) return TN_OK;
  const int32_t first = tn_ops_find(plug->op_rows, (int32_t)plug->n_ops, domain, name, &n);
  if (!n || plug->ops[first]) return TN_OK;
  pthread_mutex_lock(&plug->settling);
  const tn_status status = settle_all(plug, first, n);
  pthread_mutex_unlock(&plug->settling);
  return status;
}

const tn_kernel_entry *tn_kernel_settle(tn_plug *plug, uint32_t k) {
  if (plug->kernels[k]) return plug->kernels[k];
  pthread_mutex_lock(&plug->settling);
  const tn_kernel_entry *entry = kernel_of(plug, k);
  pthread_mutex_unlock(&plug->settling);
  return entry;
}
