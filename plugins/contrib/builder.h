/* Writing nodes of domain ai.onnx into a graph, for lower functions. The first problem sticks in
 * `status`; after it, nothing is added and the values that are answered mean nothing. */
#ifndef CONTRIB_BUILDER_H
#define CONTRIB_BUILDER_H

#include "elements.h"
#include "tenon/kit/lower.h"

typedef struct builder {
  const tn_call *call;
  tn_graph *graph;
  int32_t node;
  tn_status status;
} builder;

builder build_begin(const tn_call *call, tn_graph *graph, int32_t node);
/* Replaces the node by these values, one per output (-1: nobody asked for it), if all went well. */
tn_status build_end(builder *b, const int32_t *values, uint32_t n);

/* Value id of input k of the node; -1: left out. */
int32_t build_input(builder *b, uint32_t k);
/* Constants: a copy of a tensor, i64[n], and one element of any float type or i32. */
int32_t build_const(builder *b, const tn_tensor *t);
int32_t build_ints(builder *b, const int64_t *data, int64_t n);
int32_t build_scalar(builder *b, uint32_t dtype, double value);

/* Inputs and attributes end where n_... says; -1 among the inputs: left out. */
void build_node(builder *b, const char *op, const int32_t *inputs, uint32_t n_inputs,
                const tn_attr *attrs, uint32_t n_attrs, int32_t *out, uint32_t n_outputs);
/* A node with the attributes of the one that it replaces but `drop` (NULL: all of them), of any
 * domain ("": ai.onnx). */
void build_like(builder *b, const char *domain, const char *op, const char *drop,
                const int32_t *inputs, uint32_t n_inputs, int32_t *out, uint32_t n_outputs);
/* As build_node, of another domain. */
void build_domain(builder *b, const char *domain, const char *op, const int32_t *inputs,
                  uint32_t n_inputs, const tn_attr *attrs, uint32_t n_attrs, int32_t *out,
                  uint32_t n_outputs);
/* A node of another domain, without attributes. */
void build_other(builder *b, const char *domain, const char *op, const int32_t *inputs,
                 uint32_t n_inputs, int32_t *out, uint32_t n_outputs);
/* Attribute of the node that is replaced; NULL: it has none of this name. */
const tn_attr *build_find_attr(const builder *b, const char *name);
int32_t build_unary(builder *b, const char *op, int32_t x);
int32_t build_binary(builder *b, const char *op, int32_t x, int32_t y);
int32_t build_reshape(builder *b, int32_t x, const int64_t *dims, int64_t n);
int32_t build_scalar_of(builder *b, int32_t x); /* one element, of whatever rank */
int32_t build_transpose(builder *b, int32_t x, const int64_t *perm, int64_t n);
/* Moves the channels of [batch, channels, ...] to the end, or back. */
int32_t build_move_channels(builder *b, int32_t x, int64_t rank, bool to_end);
int32_t build_cast(builder *b, int32_t x, uint32_t dtype); /* floats, bool, i32, i64 */
/* Input x, with the scale and the zero point (may be left out) of all of it in these two; and y
 * quantised by these. like: a value of the type to be made where there is no zero point. */
int32_t build_dequantised(builder *b, uint32_t x, uint32_t scale, uint32_t zero);
int32_t build_quantised(builder *b, int32_t y, uint32_t scale, uint32_t zero, int32_t like);
void build_split(builder *b, int32_t x, int64_t axis, const int64_t *sizes, uint32_t n,
                 int32_t *out);
int32_t build_concat(builder *b, const int32_t *inputs, uint32_t n, int64_t axis);

#endif
