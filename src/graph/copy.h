/* Deep copies of what callers pass to graph functions, into an arena. Structs of older callers may
 * be shorter: members beyond their size read as zero. */
#ifndef TN_GRAPH_COPY_H
#define TN_GRAPH_COPY_H

#include "graph/graph.h"

tn_status tn_copy_node(tn_graph *g, const tn_node *from, tn_node *to);
const tn_attr *tn_copy_attr(tn_arena *arena, const tn_attr *from);       /* NULL: no memory */
const tn_tensor *tn_copy_tensor(tn_arena *arena, const tn_tensor *from); /* with its data */
/* Copies min(from's size, size) bytes of a struct that begins with tn_head; the rest is zero. */
void tn_copy_head(void *to, const void *from, size_t size);

#endif
