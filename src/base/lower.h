/* Helpers for the lower functions of operators: strided copies of up to 16 dims that become
 * regions, and the small things of writing nodes and constants into a graph. All use nothing but
 * call->host, so that they serve any part. */
#ifndef TN_BASE_LOWER_H
#define TN_BASE_LOWER_H

#include <stdbool.h>

#include "base/checked.h"
#include "tenon/tenon.h"

enum { TN_MOVE_MAX_RANK = 2 * TN_MAX_RANK };

/* A strided copy as tn_region, with room for the dims that Tile and DepthToSpace split. */
typedef struct tn_move {
  int32_t input, rank;
  int64_t src_offset, dst_offset;
  int64_t size[TN_MOVE_MAX_RANK], src_stride[TN_MOVE_MAX_RANK], dst_stride[TN_MOVE_MAX_RANK];
} tn_move;

/* Adds a dim inside of those that are there. */
void tn_move_push(tn_move *m, int64_t size, int64_t src_stride, int64_t dst_stride);

/* Regions being collected. The first problem sticks in status; later calls do nothing. */
typedef struct tn_moves {
  const tn_call *call;
  tn_graph *graph;
  tn_region *regions; /* memory of host->alloc; freed by tn_moves_become and tn_moves_drop */
  int64_t n, cap;
  tn_status status;
} tn_moves;

tn_moves tn_moves_begin(const tn_call *call, tn_graph *graph);
/* Merges dims; a move that still has more than TN_MAX_RANK of them becomes several regions. Empty
 * moves vanish. */
void tn_moves_add(tn_moves *moves, const tn_move *move);
/* One region: n elements from src_offset to dst_offset, both contiguous. */
void tn_moves_add_run(tn_moves *moves, int32_t input, int64_t src_offset, int64_t dst_offset,
                      int64_t n);
/* Turns the node into tenon::Region; fill as for tn_graph_api.set_regions. Answers the status;
 * frees the regions. */
tn_status tn_moves_become(tn_moves *moves, int32_t node, const int32_t *inputs, uint32_t n_inputs,
                          int32_t fill);
/* Adds a new tenon::Region with an output of this type, which becomes *out_value. Keeps nothing of
 * the regions. */
tn_status tn_moves_emit(tn_moves *moves, const tn_tensor *type, const int32_t *inputs,
                        uint32_t n_inputs, int32_t fill, int32_t *out_value);
void tn_moves_drop(tn_moves *moves);

/* The node is a copy of input `input`, element by element in row-major order, whatever the two
 * shapes: one region that the planner can make an alias. */
tn_status tn_lower_to_alias(const tn_call *call, tn_graph *graph, int32_t node, uint32_t input);

/* Value id of input `input` of the node; -1: left out. */
int32_t tn_node_input(const tn_call *call, const tn_graph *graph, int32_t node, uint32_t input);

/* A new constant value; answers its id or a negative status. data is copied. */
int32_t tn_emit_const(const tn_call *call, tn_graph *graph, const tn_tensor *data);
int32_t tn_emit_ints(const tn_call *call, tn_graph *graph, const int64_t *data,
                     int64_t n); /* i64[n] */
int32_t tn_emit_floats(const tn_call *call, tn_graph *graph, const double *data,
                       int64_t n); /* f32[n] */

/* A constant of rank 0 and of this dtype, to which the number is rounded. */
int32_t tn_emit_number(const tn_call *call, tn_graph *graph, uint32_t dtype, double number);

/* A new node of the newest version of `op` (domain ai.onnx) with one output, whose id is answered,
 * or a negative status. Negative inputs below -1 are statuses of tn_emit_...: they are answered. */
int32_t tn_emit_node(const tn_call *call, tn_graph *graph, const char *name, const char *op,
                     const int32_t *inputs, uint32_t n_inputs, const tn_attr *attrs,
                     uint32_t n_attrs);

tn_attr tn_attr_int(const char *name, int64_t i);
tn_attr tn_attr_float(const char *name, double f);
tn_attr tn_attr_str(const char *name, const char *text);
tn_attr tn_attr_ints(const char *name, tn_ints ints);

/* Replaces the node by one of the newest version of `op` (domain ai.onnx; NULL: its own) with these
 * inputs (ids, perhaps those of the node itself; -1: left out), these attributes and as many
 * outputs. Negative ids below -1 are statuses of tn_emit_...: they are answered. */
tn_status tn_lower_as(const tn_call *call, tn_graph *graph, int32_t node, const char *op,
                      const int32_t *inputs, uint32_t n_inputs, const tn_attr *attrs,
                      uint32_t n_attrs);
/* The same by an operator of Tenon's own domain. */
tn_status tn_lower_to_own(const tn_call *call, tn_graph *graph, int32_t node, const char *op,
                          const int32_t *inputs, uint32_t n_inputs, const tn_attr *attrs,
                          uint32_t n_attrs);
/* Adds a node of the operator and version of node `like`, of as many outputs, with these inputs and
 * with its attributes, but for those of the same names in attrs, which it gets, too. out_values:
 * room for its outputs, new values. */
tn_status tn_emit_like(const tn_call *call, tn_graph *graph, int32_t like, const int32_t *inputs,
                       uint32_t n_inputs, const tn_attr *attrs, uint32_t n_attrs,
                       int32_t *out_values);
/* Replaces the node by such a one. */
tn_status tn_lower_like(const tn_call *call, tn_graph *graph, int32_t node, int32_t like,
                        const int32_t *inputs, uint32_t n_inputs, const tn_attr *attrs,
                        uint32_t n_attrs);
/* Replaces the node by the newest version of its own operator (domain ai.onnx), with the same
 * inputs and with all its attributes but those in `dropped`, a list that ends with NULL. */
tn_status tn_lower_without(const tn_call *call, tn_graph *graph, int32_t node,
                           const char *const *dropped);

#endif
