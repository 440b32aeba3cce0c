/* Normalisations. */
#include "aten.h"
#include "aten_layers.gen.h"

/* Input k, or a constant of so many numbers. */
static int32_t or_constant(const tn_lowering *l, uint32_t k, uint32_t dtype, double number,
                           int32_t rank, const int64_t *shape) {
  if (tn_low_type(l, k)) return at_in(l, k, dtype);
  return at_full(l, tn_low_number(l, dtype, number), rank, shape);
}

/* Number k of each channel, with as many dims as the input. */
static int32_t by_channel(const tn_lowering *l, uint32_t k) {
  const tn_tensor *x = tn_low_type(l, 0);
  int64_t shape[TN_MAX_RANK];
  for (int32_t d = 0; d < x->rank; d++) shape[d] = d == 1 ? x->shape[1] : 1;
  return tn_low_reshape(l, at_in(l, k, x->dtype), x->rank, shape);
}

/* By mean and variance of the batch; nothing remembers them. Behind y: mean, 1 / deviation. */
static tn_status by_batch(const tn_lowering *l) {
  const tn_tensor *x = tn_low_type(l, 0);
  int64_t dims[TN_MAX_RANK];
  const int32_t n = x->rank - 1;
  for (int32_t k = 0; k < n; k++) dims[k] = k ? k + 1 : 0;
  const int32_t mean = at_reduce(l, "ReduceMean", tn_low_in(l, 0), dims, n, true),
                centred = tn_low_2(l, "Sub", tn_low_in(l, 0), mean),
                square = tn_low_2(l, "Mul", centred, centred),
                var = at_reduce(l, "ReduceMean", square, dims, n, true),
                eps = tn_low_number(l, x->dtype, tn_low_float(l, "eps", 1e-5)),
                deviation = tn_low_1(l, "Sqrt", tn_low_2(l, "Add", var, eps));
  int32_t y = tn_low_2(l, "Div", centred, deviation);
  if (tn_low_type(l, 1)) y = tn_low_2(l, "Mul", y, by_channel(l, 1));
  if (tn_low_type(l, 2)) y = tn_low_2(l, "Add", y, by_channel(l, 2));
  const int64_t *channels = &x->shape[1];
  const int32_t out[] = {y, tn_low_reshape(l, mean, 1, channels),
                         tn_low_1(l, "Reciprocal", tn_low_reshape(l, deviation, 1, channels))};
  const uint32_t n_out = tn_low_node(l)->n_outputs;
  return n_out > 3 ? TN_ERR_INTERNAL : tn_low_done_many(l, out, n_out);
}

/* batch_norm and its native forms, of which the outputs behind the first are for training. */
tn_status aten_batch_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const uint32_t mean_k = 3, var_k = 4;
  if (x->rank < 2) return at_fail(&l, TN_ERR_SHAPE, "it has fewer than two dims");
  const bool remembers = tn_low_type(&l, mean_k) || tn_low_type(&l, var_k);
  if (tn_low_int(&l, "training", 0) && !remembers) return by_batch(&l);
  if (tn_low_int(&l, "training", 0) || !tn_low_type(&l, mean_k) || !tn_low_type(&l, var_k))
    return tn_low_unsupported(&l, "statistics of the batch: export the model in eval mode");
  const int64_t *c = &x->shape[1];
  const uint32_t dtype = tn_low_type(&l, mean_k)->dtype; /* may be f32 where x is half as wide */
  const int32_t in[] = {tn_low_in(&l, 0), or_constant(&l, 1, dtype, 1, 1, c),
                        or_constant(&l, 2, dtype, 0, 1, c), tn_low_in(&l, mean_k),
                        tn_low_in(&l, var_k)};
  const tn_attr eps = tn_attr_float("epsilon", tn_low_float(&l, "eps", 1e-5));
  int32_t out[8] = {tn_low_emit(&l, "BatchNormalization", in, 5, &eps, 1)};
  const int64_t empty[] = {0};
  const uint32_t n = tn_low_node(&l)->n_outputs;
  for (uint32_t k = 1; k < n && k < 8; k++)
    out[k] = at_full(&l, tn_low_number(&l, dtype, 0), 1, empty);
  return n > 8 ? TN_ERR_INTERNAL : tn_low_done_many(&l, out, n);
}

/* Of each image and channel. */
tn_status aten_instance_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const tn_attr eps = tn_attr_float("epsilon", tn_low_float(&l, "eps", 1e-5));
  if (x->rank < 3) return at_fail(&l, TN_ERR_SHAPE, "it has fewer than three dims");
  const int32_t scale = or_constant(&l, 1, x->dtype, 1, 1, &x->shape[1]),
                bias = or_constant(&l, 2, x->dtype, 0, 1, &x->shape[1]);
  if (!tn_low_int(&l, "use_input_stats", 1)) {
    const int32_t in[] = {tn_low_in(&l, 0), scale, bias, tn_low_in(&l, 3), tn_low_in(&l, 4)};
    return tn_low_done(&l, tn_low_emit(&l, "BatchNormalization", in, 5, &eps, 1));
  }
  const int32_t in[] = {tn_low_in(&l, 0), scale, bias};
  return tn_low_done(&l, tn_low_emit(&l, "InstanceNormalization", in, 3, &eps, 1));
}

/* How many of the last dims normalized_shape names; below 0: a status. */
static int32_t normalised_dims(const tn_lowering *l) {
  const tn_tensor *x = tn_low_type(l, 0);
  const tn_ints shape = tn_low_ints(l, "normalized_shape");
  if (shape.size < 1 || shape.size > x->rank)
    return at_fail(l, TN_ERR_INVALID, "normalized_shape does not fit");
  for (int64_t k = 0; k < shape.size; k++)
    if (shape.data[k] != x->shape[x->rank - shape.size + k])
      return at_fail(l, TN_ERR_SHAPE, "normalized_shape is not that of the input");
  return (int32_t)shape.size;
}

tn_status aten_layer_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t n = normalised_dims(&l);
  if (n < 0) return n;
  const tn_attr attrs[] = {tn_attr_float("epsilon", tn_low_float(&l, "eps", 1e-5)),
                           tn_attr_int("axis", -n)};
  const int32_t in[] = {tn_low_in(&l, 0),
                        or_constant(&l, 1, x->dtype, 1, n, x->shape + (x->rank - n)),
                        tn_low_type(&l, 2) ? at_in(&l, 2, x->dtype) : TN_NO_ID};
  int32_t out[3];
  const uint32_t outputs = tn_low_node(&l)->n_outputs;
  const tn_status s = tn_low_emit_many(&l, "LayerNormalization", in, in[2] < 0 ? 2 : 3, attrs, 2,
                                       outputs > 1 ? 3 : 1, out);
  return s ? s : tn_low_done_many(&l, out, outputs);
}

tn_status aten_rms_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t n = normalised_dims(&l);
  const at_scalar eps = at_number(&l, "eps");
  if (n < 0) return n;
  const double least = x->dtype == TN_F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  const tn_attr attrs[] = {tn_attr_float("epsilon", eps.is_there ? eps.f : least),
                           tn_attr_int("axis", -n)};
  const int32_t in[] = {tn_low_in(&l, 0),
                        or_constant(&l, 1, x->dtype, 1, n, x->shape + (x->rank - n))};
  return tn_low_done(&l, tn_low_emit(&l, "RMSNormalization", in, 2, attrs, 2));
}

/* Of each image and group: the mean, and 1 / sqrt(variance + eps). */
static void group_statistics(const tn_lowering *l, int64_t groups, double eps, int32_t out[2]) {
  const tn_tensor *x = tn_low_type(l, 0);
  const int64_t shape[] = {x->shape[0], groups, 0}, last = 2;
  int64_t rows[] = {shape[0], groups, x->shape[1] / groups};
  for (int32_t k = 2; k < x->rank; k++) rows[2] *= x->shape[k];
  const int32_t row = tn_low_reshape(l, tn_low_in(l, 0), 3, rows),
                mean = at_reduce(l, "ReduceMean", row, &last, 1, true),
                from = tn_low_2(l, "Sub", row, mean),
                variance =
                    at_reduce(l, "ReduceMean", tn_low_2(l, "Mul", from, from), &last, 1, false),
                safe = tn_low_2(l, "Add", variance, tn_low_number(l, x->dtype, eps));
  out[0] = tn_low_reshape(l, mean, 2, shape);
  out[1] = tn_low_1(l, "Reciprocal", tn_low_1(l, "Sqrt", safe));
}

tn_status aten_group_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t groups = tn_low_int(&l, at_has(&l, "group") ? "group" : "num_groups", 1);
  if (x->rank < 2 || groups < 1 || x->shape[1] % groups)
    return at_fail(&l, TN_ERR_SHAPE, "the groups do not divide the channels");
  const double eps = tn_low_float(&l, "eps", 1e-5);
  const tn_attr attrs[] = {tn_attr_float("epsilon", eps), tn_attr_int("num_groups", groups)};
  const int32_t in[] = {tn_low_in(&l, 0), or_constant(&l, 1, x->dtype, 1, 1, &x->shape[1]),
                        or_constant(&l, 2, x->dtype, 0, 1, &x->shape[1])};
  const int32_t y = tn_low_emit(&l, "GroupNormalization", in, 3, attrs, 2);
  if (tn_low_node(&l)->n_outputs < 2) return tn_low_done(&l, y);
  int32_t out[3] = {y};
  group_statistics(&l, groups, eps, out + 1);
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* v (g / |v|) */
tn_status aten_weight_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *v = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), v->rank);
  int64_t dims[TN_MAX_RANK];
  int32_t n = 0;
  if (dim < 0) return dim;
  for (int32_t k = 0; k < v->rank; k++)
    if (k != dim) dims[n++] = k;
  const int32_t norm = at_reduce(&l, "ReduceL2", tn_low_in(&l, 0), dims, n, true);
  const int32_t ratio = tn_low_2(&l, "Div", tn_low_in(&l, 1), norm);
  const int32_t out[] = {tn_low_2(&l, "Mul", tn_low_in(&l, 0), ratio), norm};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}
