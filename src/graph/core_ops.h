/* The operators that planning makes by itself, and two of ONNX: the only ones that the core knows
 * by name. */
#ifndef TN_GRAPH_CORE_OPS_H
#define TN_GRAPH_CORE_OPS_H

#include <string.h>

#include "graph/graph.h"

#define TN_CORE_DOMAIN "tenon"
#define TN_CORE_REGION "Region"     /* a strided copy */
#define TN_CORE_CAST "Cast"         /* to another dtype */
#define TN_CORE_REORDER "Reorder"   /* to another layout */
#define TN_CORE_TRANSFER "Transfer" /* to another device */
#define TN_CORE_ISLAND "Island"     /* nodes that a compiler has taken */

/* op: one of those above. */
static inline bool tn_is_core_op(const tn_gnode *n, const char *op) {
  return !strcmp(n->node.op, op) && !strcmp(n->node.domain, TN_CORE_DOMAIN);
}

/* Adds a node from one value to another that has one attribute, an integer: a cast, reorder or
 * transfer. Its id; negative: a status. */
int32_t tn_graph_add_core(tn_graph *g, const char *op, const char *name, int32_t from, int32_t to,
                          const char *attribute, int64_t value);

static inline bool tn_is_region(const tn_gnode *n) { return tn_is_core_op(n, TN_CORE_REGION); }
static inline bool tn_is_onnx_op(const tn_gnode *n, const char *op) {
  return !strcmp(n->node.op, op) && !*n->node.domain;
}
static inline bool tn_is_loop(const tn_gnode *n) { return tn_is_onnx_op(n, "Loop"); }
static inline bool tn_is_identity(const tn_gnode *n) { return tn_is_onnx_op(n, "Identity"); }

#endif
