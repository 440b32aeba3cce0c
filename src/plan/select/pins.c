/* Pins: the user names a kernel for a node or an operator; that one runs, or there is an error. So
 * a pinned node is neither lowered nor folded nor fused past what its kernel takes. A pin with !=
 * leaves kernels out, and nothing else. Both are errors if there is no such kernel. */
#include <string.h>

#include "base/text.h"
#include "plan/passes/passes.h"

/* "LEFT=kernel", "LEFT!=kernel": LEFT is a node's name, an operator, or "domain::Operator". */
typedef struct rule {
  const char *left, *kernel;
  size_t n; /* bytes of left */
  bool leaves_out;
} rule;

/* The runtime has checked that there is a = with something on both sides. */
static rule read_pin(const tn_planner *p, uint32_t k) {
  const char *equals = strrchr(p->pins[k], '=');
  const bool leaves_out = equals[-1] == '!';
  return (rule){p->pins[k], equals + 1, (size_t)(equals - p->pins[k]) - leaves_out, leaves_out};
}

static bool is(const rule *pin, const char *domain, const char *dots, const char *op) {
  const size_t n = strlen(domain), m = strlen(dots), l = strlen(op);
  return pin->n == n + m + l && !memcmp(pin->left, domain, n) && !memcmp(pin->left + n, dots, m) &&
         !memcmp(pin->left + n + m, op, l);
}

static bool names_op(const rule *pin, const char *domain, const char *op) {
  return is(pin, "", "", op) || is(pin, *domain ? domain : "ai.onnx", "::", op);
}

static bool names_node(const rule *pin, const tn_node *node) {
  return node->name && strlen(node->name) == pin->n && !memcmp(node->name, pin->left, pin->n);
}

/* A name, or its beginning and "*". */
static bool fits(const char *pattern, const char *name) {
  const size_t n = strlen(pattern);
  return n && pattern[n - 1] == '*' ? !strncmp(pattern, name, n - 1) : !strcmp(pattern, name);
}

static const char *find_pin(const tn_planner *p, const tn_node *node, bool by_name) {
  for (uint32_t k = 0; k < p->n_pins; k++) {
    const rule one = read_pin(p, k);
    if (!one.leaves_out &&
        (by_name ? names_node(&one, node) : names_op(&one, node->domain, node->op)))
      return one.kernel;
  }
  return NULL;
}

const char *tn_pin_of(const tn_planner *p, const tn_gnode *node) {
  const char *kernel = find_pin(p, &node->node, true);
  return kernel ? kernel : find_pin(p, &node->node, false);
}

bool tn_pin_excludes(const tn_planner *p, const tn_gnode *node, const char *kernel) {
  for (uint32_t k = 0; k < p->n_pins; k++) {
    const rule one = read_pin(p, k);
    if (one.leaves_out && fits(one.kernel, kernel) &&
        (names_node(&one, &node->node) || names_op(&one, node->node.domain, node->node.op)))
      return true;
  }
  return false;
}

/* ---- pins that cannot be meant --------------------------------------------------------------- */

/* Nodes without a name of their own are called like their operator. */
static bool is_node(const tn_graph *g, const rule *pin) {
  for (int32_t id = 0; id < (int32_t)g->nodes.n; id++) {
    const tn_gnode *n = tn_graph_node(g, id);
    if (names_node(pin, &n->node) && !names_op(pin, n->node.domain, n->node.op)) return true;
    for (uint32_t k = 0; k < n->n_subgraphs; k++)
      if (is_node(n->subgraphs[k], pin)) return true;
  }
  return false;
}

static bool is_op(const tn_planner *p, const rule *pin) {
  for (int32_t k = 0; k < tn_registry_n_ops(p->registry); k++) {
    const tn_opdef *def = tn_registry_op_at(p->registry, k);
    if (def && names_op(pin, def->op.domain, def->op.name)) return true;
  }
  return false;
}

/* Is there a kernel like the one that the pin names? list: those of the operator. A node keeps its
 * name when it becomes others: a pin of a node may mean a kernel of any operator. */
static bool has_kernel(const tn_planner *p, const rule *pin, bool of_any, tn_text *list) {
  bool found = false;
  for (int32_t k = 0; k < tn_registry_n_kernels(p->registry); k++) {
    const tn_kerneldef *def = tn_registry_kernel_at(p->registry, k);
    if (!def || (!of_any && !names_op(pin, def->domain, def->op))) continue;
    const char *name = def->kernel.name;
    found = found || (pin->leaves_out ? fits(pin->kernel, name) : !strcmp(pin->kernel, name));
    if (!of_any) tn_text_add(list, "%s%s", list->n ? ", " : "; it has ", name);
  }
  return found;
}

tn_status tn_pins_check(const tn_planner *p, const tn_graph *g, tn_diag *diag) {
  tn_status status = TN_OK;
  for (uint32_t k = 0; k < p->n_pins; k++) {
    const rule one = read_pin(p, k);
    const bool of_node = is_node(g, &one), of_op = is_op(p, &one);
    tn_text list;
    tn_text_init(&list, p->a);
    if (!of_node && !of_op)
      tn_diag_add(diag, TN_DIAG_WARNING,
                  "pin '%s' has no effect: the model has no node, and nobody offers an operator, "
                  "of the name '%.*s'",
                  p->pins[k], (int)one.n, one.left);
    else if (!has_kernel(p, &one, of_node, &list))
      status =
          tn_fail(diag, TN_ERR_UNSUPPORTED, "pin '%s': no kernel%s has the name '%s'%s", p->pins[k],
                  of_node ? "" : " of this operator", one.kernel, tn_text_get(&list));
    tn_text_free(&list);
  }
  return status;
}

/* ---- what pins allow ------------------------------------------------------------------------- */

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
  const char *by_name = find_pin(p, &node->node, true);
  if (!by_name) return find_pin(p, &node->node, false) != NULL;
  return has_kernel_named(p, node->def, by_name) ||
         !has_kernel_named(p, tn_registry_op(p->registry, TN_CORE_DOMAIN, TN_CORE_REGION, 0),
                           by_name);
}
