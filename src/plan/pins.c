/* Pins: the user names a kernel for a node or an operator; that one runs, or there is an error. So
 * a pinned node is neither lowered nor folded nor fused past what its kernel takes. A pin with !=
 * leaves kernels out, and nothing else. */
#include <string.h>

#include "plan/passes.h"

/* "LEFT=kernel", "LEFT!=kernel": LEFT is a node's name, an operator, or "domain::Operator". */
static bool pin_names(const char *pin, size_t n, const tn_gnode *node, bool by_name) {
  const tn_node *p = &node->node;
  if (by_name) return p->name && strlen(p->name) == n && !memcmp(p->name, pin, n);
  size_t domain = strlen(p->domain), op = strlen(p->op);
  if (n == op && !memcmp(pin, p->op, op)) return true;
  return n == domain + 2 + op && !memcmp(pin, p->domain, domain) &&
         !memcmp(pin + domain, "::", 2) && !memcmp(pin + domain + 2, p->op, op);
}

static const char *find_pin(const tn_planner *p, const tn_gnode *node, bool by_name) {
  for (uint32_t k = 0; k < p->n_pins; k++) {
    const char *equals = p->pins[k] ? strrchr(p->pins[k], '=') : NULL;
    if (equals && equals[-1] != '!' &&
        pin_names(p->pins[k], (size_t)(equals - p->pins[k]), node, by_name))
      return equals + 1;
  }
  return NULL;
}

/* A name, or its beginning and "*". */
static bool fits(const char *pattern, const char *name) {
  const size_t n = strlen(pattern);
  return n && pattern[n - 1] == '*' ? !strncmp(pattern, name, n - 1) : !strcmp(pattern, name);
}

bool tn_pin_excludes(const tn_planner *p, const tn_gnode *node, const char *kernel) {
  for (uint32_t k = 0; k < p->n_pins; k++) {
    const char *equals = p->pins[k] ? strrchr(p->pins[k], '=') : NULL;
    if (!equals || equals[-1] != '!' || !fits(equals + 1, kernel)) continue;
    const size_t n = (size_t)(equals - 1 - p->pins[k]);
    if (pin_names(p->pins[k], n, node, true) || pin_names(p->pins[k], n, node, false)) return true;
  }
  return false;
}

const char *tn_pin_of(const tn_planner *p, const tn_gnode *node) {
  const char *pin = find_pin(p, node, true);
  return pin ? pin : find_pin(p, node, false);
}

static bool has_kernel(const tn_planner *p, const tn_opdef *def, const char *name) {
  const tn_kerneldef *const *kernels;
  int32_t n = def ? tn_registry_kernels(p->registry, def, &kernels) : 0;
  for (int32_t k = 0; k < n; k++)
    if (!strcmp(kernels[k]->kernel.name, name)) return true;
  return false;
}

/* Data movement keeps the node's name when it becomes a region: a kernel of regions may be named
 * for it. */
bool tn_pin_forbids_lowering(const tn_planner *p, const tn_gnode *node) {
  const char *by_name = find_pin(p, node, true);
  if (!by_name) return find_pin(p, node, false) != NULL;
  return has_kernel(p, node->def, by_name) ||
         !has_kernel(p, tn_registry_op(p->registry, "tenon", "Region", 0), by_name);
}
