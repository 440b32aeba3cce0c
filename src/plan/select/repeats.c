/* Selection: nodes that are like one before. Long models repeat themselves: callbacks of kernels
 * are functions of their call, so that the same call gets the same answers, which are kept once. */
#include <string.h>

#include "plan/select/select.h"

/* A node whose call is told by operator, attributes, types and constants alone. */
static bool is_plain(const tn_gnode *n) {
  return !n->n_epilogue && !n->n_regions && !n->n_subgraphs && n->def;
}

static bool same_values(const tn_graph *g, const int32_t *a, const int32_t *b, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) {
    if (a[k] < 0 && b[k] < 0) continue;
    if (a[k] < 0 || b[k] < 0) return false;
    const tn_value *x = tn_graph_val(g, a[k]), *y = tn_graph_val(g, b[k]);
    if (x->constant != y->constant || x->known != y->known || !tn_same_type(x->type, y->type))
      return false;
  }
  return true;
}

static bool same_call(const tn_graph *g, const tn_gnode *a, const tn_gnode *b) {
  return is_plain(b) && a->def == b->def && a->node.version == b->node.version &&
         a->n_formal == b->n_formal && a->node.n_inputs == b->node.n_inputs &&
         a->node.n_outputs == b->node.n_outputs &&
         !memcmp(a->attrs, b->attrs, (size_t)a->def->schema.attrs_size) &&
         same_values(g, a->node.inputs, b->node.inputs, a->node.n_inputs) &&
         same_values(g, a->node.outputs, b->node.outputs, a->node.n_outputs);
}

static uint64_t hash_values(const tn_graph *g, const int32_t *ids, uint32_t n, uint64_t hash) {
  for (uint32_t k = 0; k < n; k++) {
    if (ids[k] < 0) continue;
    const tn_tensor *t = tn_graph_val(g, ids[k])->type;
    hash = tn_hash_bytes(t->shape, sizeof *t->shape * (uint64_t)tn_max_i64(t->rank, 0), hash);
    hash = tn_hash_bytes(&t->dtype, sizeof t->dtype, hash);
  }
  return hash;
}

/* Pins go by names, and devices and measured times change options once they are there. */
int32_t tn_select_repeated(tn_selection *s, int32_t node) {
  const tn_gnode *n = tn_graph_node(s->g, node);
  const bool has_reasons = s->p->n_pins || s->p->n_devices || s->p->n_accelerators;
  if (has_reasons || s->is_tuned || !is_plain(n)) return -1;
  uint64_t hash = tn_hash_bytes(n->def->op.name, strlen(n->def->op.name), 0);
  hash = hash_values(s->g, n->node.inputs, n->node.n_inputs, hash);
  hash = hash_values(s->g, n->node.outputs, n->node.n_outputs, hash);
  int32_t *seen = s->seen[hash % TN_SEEN];
  for (int k = 0; k < TN_SEEN_EACH; k++)
    if (seen[k] >= 0 && same_call(s->g, n, tn_graph_node(s->g, seen[k]))) return seen[k];
  memmove(seen + 1, seen, (TN_SEEN_EACH - 1) * sizeof *seen);
  seen[0] = node;
  return -1;
}
