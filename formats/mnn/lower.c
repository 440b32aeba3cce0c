/* Operators of the domain mnn, which become others when the types of their inputs are known. */
#include "mnn.gen.h"
#include "tenon/kit/lowering.h"

/* The axis is a constant, or what the network computes of a rank. */
tn_status mnn_gather(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&c, 2);
  int32_t axis = 0;
  if (!t || t->dtype != TN_I32 || tn_elements(t) != 1)
    return tn_low_unsupported(&c, "an axis that is not one number");
  if (!t->data) return TN_NEEDS_DATA;
  memcpy(&axis, t->data, sizeof axis);
  const int32_t in[] = {tn_low_in(&c, 0), tn_low_in(&c, 1)};
  const tn_attr a = tn_attr_int("axis", axis);
  return tn_low_done(&c, tn_low_emit(&c, "Gather", in, 2, &a, 1));
}

tn_status mnn_by_channel(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  int64_t shape[TN_MAX_RANK];
  const tn_tensor *v = tn_low_type(&c, 0);
  const int32_t rank = tn_low_type(&c, 1)->rank > 1 ? tn_low_type(&c, 1)->rank - 1 : 1;
  for (int32_t k = 0; k < rank; k++) shape[k] = k ? 1 : v->shape[0];
  return tn_low_done(&c, tn_low_reshape(&c, tn_low_in(&c, 0), rank, shape));
}

tn_status mnn_either(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const int64_t n = tn_elements(tn_low_type(&c, 0)), x = tn_elements(tn_low_type(&c, 2)),
                y = tn_elements(tn_low_type(&c, 3));
  const bool spreads = x != 1 && y != 1 && (x != n) != (y != n);
  return tn_low_done(&c, tn_low_in(&c, spreads ? 1 : 0));
}

/* Sizes in the file, or times what x has. */
static int32_t stored_sizes(const tn_lowering *c, const tn_tensor *x) {
  static const char *const names[] = {"depth", "height", "width"}, *const scales[] = {
                                                                       "depth_scale",
                                                                       "height_scale",
                                                                       "width_scale"};
  int64_t shape[TN_MAX_RANK];
  bool is_said = true;
  for (int32_t k = 2; k < x->rank; k++) is_said &= tn_low_int(c, names[k + 3 - x->rank], 0) > 0;
  for (int32_t k = 0; k < x->rank; k++) {
    shape[k] = x->shape[k];
    if (k < 2) continue;
    const int32_t at = k + 3 - x->rank;
    if (is_said) shape[k] = tn_low_int(c, names[at], 0);
    if (!is_said) shape[k] = (int64_t)((float)x->shape[k] * (float)tn_low_float(c, scales[at], 0));
  }
  return tn_low_ints_const(c, shape, x->rank);
}

tn_status mnn_interp(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&c, 0), *size = tn_low_type(&c, 1);
  const tn_node *n = tn_low_node(&c);
  tn_attr attrs[4];
  int32_t in[] = {tn_low_in(&c, 0), TN_NO_ID, TN_NO_ID, TN_NO_ID};
  if (x->rank < 3 || x->rank > 5) return tn_low_unsupported(&c, "what is no image");
  for (uint32_t k = 0; k < 4; k++) attrs[k] = *n->attrs[k]; /* as the reader wrote them */
  if (size && size->dtype == TN_F32) {
    if (tn_elements(size) != x->rank) return tn_low_unsupported(&c, "scales of some of its dims");
    in[2] = tn_low_in(&c, 1);
  } else if (size && tn_elements(size) == x->rank) {
    in[3] = tn_low_in_i64(&c, 1);
  } else if (size) {
    const int32_t both[] = {tn_low_ints_const(&c, x->shape, 2), tn_low_in_i64(&c, 1)};
    const tn_attr axis = tn_attr_int("axis", 0);
    if (tn_elements(size) != x->rank - 2) return tn_low_unsupported(&c, "a size of other dims");
    in[3] = tn_low_emit(&c, "Concat", both, 2, &axis, 1);
  } else {
    in[3] = stored_sizes(&c, x);
  }
  return tn_low_done(&c, tn_low_emit(&c, "Resize", in, in[3] == TN_NO_ID ? 3 : 4, attrs, 4));
}

/* Of x with one dim of space the windows have a second one of size 1. */
tn_status mnn_pool(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 6 };
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&c, 0);
  const tn_node *n = tn_low_node(&c);
  const char *op = tn_low_int(&c, "mean", 0) ? "AveragePool" : "MaxPool";
  tn_attr attrs[MOST];
  uint32_t n_attrs = 0;
  for (uint32_t k = 0; k < n->n_attrs && n_attrs < MOST; k++)
    if (strcmp(n->attrs[k]->name, "mean")) attrs[n_attrs++] = *n->attrs[k];
  int32_t in = tn_low_in(&c, 0);
  if (x->rank != 3) return tn_low_done(&c, tn_low_emit(&c, op, &in, 1, attrs, n_attrs));
  const int64_t last = 3;
  const int32_t axes = tn_low_ints_const(&c, &last, 1);
  in = tn_low_2(&c, "Unsqueeze", in, axes);
  return tn_low_done(&c,
                     tn_low_2(&c, "Squeeze", tn_low_emit(&c, op, &in, 1, attrs, n_attrs), axes));
}

tn_status mnn_mod(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const bool is_float = tn_low_type(&c, 0)->dtype != TN_I32;
  const tn_attr a = tn_attr_int("fmod", is_float != (tn_low_int(&c, "floors", 0) != 0));
  const int32_t in[] = {tn_low_in(&c, 0), tn_low_in(&c, 1)};
  return tn_low_done(&c, tn_low_emit(&c, "Mod", in, 2, &a, 1));
}

tn_status mnn_transpose(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&c, 0), *order = tn_low_type(&c, 1);
  int32_t perm[TN_MAX_RANK];
  if (order->dtype != TN_I32 || tn_elements(order) != x->rank)
    return tn_low_unsupported(&c, "an order of other dims");
  if (!order->data) return TN_NEEDS_DATA;
  memcpy(perm, order->data, (size_t)x->rank * sizeof *perm);
  return tn_low_done(&c, tn_low_transpose(&c, tn_low_in(&c, 0), x->rank, perm));
}
