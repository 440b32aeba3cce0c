/* Pins: the user names a kernel for a node or an operator; that one runs, or there is an error. So
 * a pinned node is neither lowered nor folded nor fused past what its kernel takes. A pin with !=
 * leaves kernels out, and nothing else; it is an error if there is no such kernel. */
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

/* What pin k leaves out if it says != of this node, else NULL. *out_by_name: it names the node, not
 * its operator. */
static const char *left_out(const tn_planner *p, uint32_t k, const tn_gnode *node,
                            bool *out_by_name) {
  const char *equals = p->pins[k] ? strrchr(p->pins[k], '=') : NULL;
  if (!equals || equals == p->pins[k] || equals[-1] != '!') return NULL;
  const size_t n = (size_t)(equals - 1 - p->pins[k]);
  *out_by_name = pin_names(p->pins[k], n, node, true);
  return *out_by_name || pin_names(p->pins[k], n, node, false) ? equals + 1 : NULL;
}

bool tn_pin_excludes(const tn_planner *p, const tn_gnode *node, const char *kernel) {
  bool by_name;
  for (uint32_t k = 0; k < p->n_pins; k++) {
    const char *pattern = left_out(p, k, node, &by_name);
    if (pattern && fits(pattern, kernel)) return true;
  }
  return false;
}

/* A node keeps its name when it becomes others: a pin by name may mean a kernel of any operator. */
static bool is_kernel(const tn_planner *p, const tn_node *node, const char *pattern, bool of_any) {
  const int32_t n = tn_registry_n_kernels(p->registry);
  for (int32_t k = 0; k < n; k++) {
    const tn_kerneldef *def = tn_registry_kernel_at(p->registry, k);
    if (def && fits(pattern, def->kernel.name) &&
        (of_any || (!strcmp(def->op, node->op) && !strcmp(def->domain, node->domain))))
      return true;
  }
  return false;
}

tn_status tn_pins_check(const tn_planner *p, const tn_gnode *node, tn_diag *diag) {
  char text[TN_NODE_TEXT];
  bool by_name;
  for (uint32_t k = 0; k < p->n_pins; k++) {
    const char *pattern = left_out(p, k, node, &by_name);
    if (pattern && !is_kernel(p, &node->node, pattern, by_name))
      return tn_fail(diag, TN_ERR_UNSUPPORTED,
                     "%s: pin '%s' leaves a kernel out, but no kernel%s has that name",
                     tn_node_text(node, text, sizeof text), p->pins[k],
                     by_name ? "" : " of this operator");
  }
  return TN_OK;
}

const char *tn_pin_of(const tn_planner *p, const tn_gnode *node) {
  const char *pin = find_pin(p, node, true);
  return pin ? pin : find_pin(p, node, false);
}

bool tn_pin_allows(const tn_planner *p, const tn_gnode *node, const char *kernel) {
  const char *pin = tn_pin_of(p, node);
  return (!pin || !strcmp(pin, kernel)) && !tn_pin_excludes(p, node, kernel);
}

static bool has_kernel_named(const tn_planner *p, const tn_opdef *def, const char *name) {
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
  return has_kernel_named(p, node->def, by_name) ||
         !has_kernel_named(p, tn_registry_op(p->registry, "tenon", "Region", 0), by_name);
}
