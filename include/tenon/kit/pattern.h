/* Helpers for rewrites that recognise what a chain of simple operators spells out. All read the
 * graph through host->graph, so that they serve any part; ids that are -1 match nothing. */
#ifndef TN_KIT_PATTERN_H
#define TN_KIT_PATTERN_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tenon/graph.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

typedef struct tn_pattern {
  const tn_graph_api *api;
  tn_graph *graph;
} tn_pattern;

/* The node, if nothing was fused onto it yet: rewrites see a graph again when shapes are known,
 * after epilogues were made, and what such a node computes is more than its operator. */
TN_KIT_FN const tn_node *tn_pattern_root(const tn_pattern *p, int32_t node);

/* Input k of the node; -1: left out. */
static inline int32_t tn_pattern_input(const tn_node *n, uint32_t k) {
  return k < n->n_inputs ? n->inputs[k] : -1;
}

/* The node that computes the value, if it is of this operator of ai.onnx and nothing was fused onto
 * it; NULL: it is not. */
TN_KIT_FN const tn_node *tn_pattern_node(const tn_pattern *p, int32_t value, const char *op);

/* True if nodes read the value at n_users places, and nobody else does. */
TN_KIT_FN bool tn_pattern_is_read(const tn_pattern *p, int32_t value, int32_t n_users);

/* As tn_pattern_node, of a value that is read at one place. */
TN_KIT_FN const tn_node *tn_pattern_inner(const tn_pattern *p, int32_t value, const char *op);

/* The attribute of that name and kind; NULL: the node has none. */
TN_KIT_FN const tn_attr *tn_pattern_attr(const tn_node *n, const char *name, uint32_t kind);

TN_KIT_FN int64_t tn_pattern_int(const tn_node *n, const char *name, int64_t otherwise);

TN_KIT_FN double tn_pattern_float(const tn_node *n, const char *name, double otherwise);

/* Type of the value if it is a tensor whose dtype and dims are known; NULL: it is not. */
TN_KIT_FN const tn_tensor *tn_pattern_type(const tn_pattern *p, int32_t value);

/* The value is a constant of one element. */
TN_KIT_FN bool tn_pattern_number(const tn_pattern *p, int32_t value, double *out);

/* The value is a tenon::Cast to f32 of this one, of f16 or bf16; -1: it is not. */
TN_KIT_FN int32_t tn_pattern_widened(const tn_pattern *p, int32_t value);

/* value = other op number, in either order where `swaps`. */
TN_KIT_FN bool tn_pattern_with_number(const tn_node *n, const tn_pattern *p, bool swaps,
                                      int32_t *out_other, double *out);

#ifdef TN_KIT_BODIES

TN_KIT_FN const tn_node *tn_pattern_root(const tn_pattern *p, int32_t node) {
  uint32_t n_steps = 0;
  const tn_node *n = node < 0 ? NULL : p->api->node(p->graph, node);
  if (n) p->api->node_epilogue(p->graph, node, &n_steps);
  return n_steps ? NULL : n;
}

TN_KIT_FN const tn_node *tn_pattern_node(const tn_pattern *p, int32_t value, const char *op) {
  const tn_node *n = value < 0 ? NULL : tn_pattern_root(p, p->api->value_producer(p->graph, value));
  return n && !*n->domain && !strcmp(n->op, op) ? n : NULL;
}

TN_KIT_FN bool tn_pattern_is_read(const tn_pattern *p, int32_t value, int32_t n_users) {
  return value >= 0 && p->api->value_n_users(p->graph, value) == n_users &&
         !(p->api->value_flags(p->graph, value) & TN_VALUE_OUTPUT);
}

TN_KIT_FN const tn_node *tn_pattern_inner(const tn_pattern *p, int32_t value, const char *op) {
  return tn_pattern_is_read(p, value, 1) ? tn_pattern_node(p, value, op) : NULL;
}

TN_KIT_FN const tn_attr *tn_pattern_attr(const tn_node *n, const char *name, uint32_t kind) {
  for (uint32_t k = 0; k < n->n_attrs; k++)
    if (n->attrs[k]->kind == kind && !strcmp(n->attrs[k]->name, name)) return n->attrs[k];
  return NULL;
}

TN_KIT_FN int64_t tn_pattern_int(const tn_node *n, const char *name, int64_t otherwise) {
  const tn_attr *a = tn_pattern_attr(n, name, TN_ATTR_INT);
  return a ? a->i : otherwise;
}

TN_KIT_FN double tn_pattern_float(const tn_node *n, const char *name, double otherwise) {
  const tn_attr *a = tn_pattern_attr(n, name, TN_ATTR_FLOAT);
  return a ? a->f : otherwise;
}

TN_KIT_FN const tn_tensor *tn_pattern_type(const tn_pattern *p, int32_t value) {
  const tn_tensor *t = value < 0 ? NULL : p->api->value_type(p->graph, value);
  return t && t->kind == TN_KIND_TENSOR && t->dtype != TN_NONE && tn_elements(t) >= 0 ? t : NULL;
}

TN_KIT_FN bool tn_pattern_number(const tn_pattern *p, int32_t value, double *out) {
  const tn_tensor *t = tn_pattern_type(p, value);
  if (!t || !t->data || t->dtype == TN_STRING || tn_elements(t) != 1) return false;
  *out = tn_load_f64(t->dtype, t->data, 0);
  return true;
}

TN_KIT_FN int32_t tn_pattern_widened(const tn_pattern *p, int32_t value) {
  const int32_t producer = value < 0 ? -1 : p->api->value_producer(p->graph, value);
  const tn_node *n = producer < 0 ? NULL : tn_pattern_root(p, producer);
  if (!n || strcmp(n->op, "Cast") != 0 || strcmp(n->domain, "tenon") != 0) return -1;
  const tn_tensor *to = tn_pattern_type(p, value), *from = tn_pattern_type(p, n->inputs[0]);
  const bool is_half = from && (from->dtype == TN_F16 || from->dtype == TN_BF16);
  return is_half && to && to->dtype == TN_F32 ? n->inputs[0] : -1;
}

TN_KIT_FN bool tn_pattern_with_number(const tn_node *n, const tn_pattern *p, bool swaps,
                                      int32_t *out_other, double *out) {
  for (int k = 1; n && n->n_inputs == 2 && k >= (swaps ? 0 : 1); k--) {
    *out_other = n->inputs[1 - k];
    if (tn_pattern_number(p, n->inputs[k], out)) return true;
  }
  return false;
}

#endif

#endif
