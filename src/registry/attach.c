/* Which kernel belongs to which operator: names, versions, and whether the calls look alike. */
#include <string.h>

#include "registry/internal.h"

tn_versions tn_op_versions(const tn_op *op) {
  return (tn_versions){op->since, op->until ? op->until : INT32_MAX};
}

tn_versions tn_kernel_versions(const tn_kernel *kernel) {
  return (tn_versions){kernel->since, kernel->until ? kernel->until : INT32_MAX};
}

bool tn_versions_meet(tn_versions a, tn_versions b) {
  return a.since <= b.until && b.since <= a.until;
}

bool tn_op_is(const tn_op *op, const char *domain, const char *name) {
  return !strcmp(op->name, name) && !strcmp(op->domain, domain);
}

static bool same_arg(const tn_arg *a, const tn_arg *b) {
  return a->base == b->base && a->list == b->list && a->optional == b->optional &&
         a->optional_element == b->optional_element && a->role == b->role &&
         a->offset == b->offset && a->present_offset == b->present_offset &&
         !strcmp(a->name, b->name);
}

bool tn_schema_same_call(const tn_schema *a, const tn_schema *b) {
  if (a->n_args != b->n_args || a->n_returns != b->n_returns || a->attrs_size != b->attrs_size)
    return false;
  for (int32_t k = 0; k < a->n_args; k++)
    if (!same_arg(&a->args[k], &b->args[k])) return false;
  for (int32_t k = 0; k < a->n_returns; k++)
    if (!same_arg(&a->returns[k], &b->returns[k])) return false;
  return true;
}

bool tn_kernel_attaches(const tn_kernel_entry *kernel, const tn_opdef *op) {
  return tn_op_is(&op->op, kernel->def.domain, kernel->def.op) &&
         tn_versions_meet(tn_kernel_versions(&kernel->def.kernel), tn_op_versions(&op->op)) &&
         tn_schema_same_call(&kernel->vetted->schema, &op->schema);
}

const tn_opdef *tn_kernel_op(const tn_kernel *kernel, tn_op_slot *ops, int32_t n) {
  const tn_opdef *found = NULL;
  for (int32_t k = n - 1; k >= 0; k--) {
    const tn_opdef *op = ops[k];
    if (!tn_versions_meet(tn_op_versions(&op->op), tn_kernel_versions(kernel))) continue;
    if (!found || tn_op_infers(&op->op)) found = op;
  }
  return found;
}

const char *tn_domain_normal(const char *domain) {
  return domain && strcmp(domain, "ai.onnx") ? domain : "";
}
