/* Operators that move elements or pick some of them. */
#include "lower.h"
#include "tensorflow.gen.h"

static tn_status one_axis(const tn_lowering *l, uint32_t k, int32_t rank, int32_t *out) {
  int64_t axis[TN_MAX_RANK], n;
  const tn_status s = lo_const_ints(l, k, axis, TN_MAX_RANK, &n);
  if (s) return s;
  return n == 1 ? tn_axis_normalize(l->call, axis[0], rank, out)
                : tn_low_unsupported(l, "other than one axis");
}

/* Inputs from .. from + n, along the axis that input `at` names. */
static tn_status concat(const tn_lowering *l, uint32_t from, uint32_t n, uint32_t at) {
  int32_t axis = 0;
  if (!n) return tn_low_unsupported(l, "nothing to join");
  const tn_status s = one_axis(l, at, tn_low_type(l, from)->rank, &axis);
  if (s) return s;
  int32_t *parts = l->call->host->alloc(l->call->ctx, ((uint64_t)n + 1) * sizeof *parts);
  if (!parts) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n; k++) parts[k] = tn_low_in(l, from + k);
  const int32_t y = lo_concat(l, parts, n, axis);
  l->call->host->free(l->call->ctx, parts);
  return tn_low_done(l, y);
}

tn_status tf_concat_v2(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return concat(&l, 0, call->n_inputs - 1, call->n_inputs - 1);
}

tn_status tf_concat(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return concat(&l, 1, call->n_inputs - 1, 0);
}

/* Ranks are the same but for batch dims, which both have. */
tn_status tf_gather_v2(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *indices = tn_low_type(&l, 1);
  int64_t batch = tn_low_int(&l, "batch_dims", 0);
  int32_t axis = 0;
  const tn_status s = one_axis(&l, 2, x->rank, &axis);
  if (s) return s;
  if (batch < 0) batch += indices->rank;
  const tn_attr a = tn_attr_int(batch ? "batch_dims" : "axis", batch ? batch : axis);
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 1)};
  if (!batch) return tn_low_done(&l, tn_low_emit(&l, "Gather", in, 2, &a, 1));
  if (axis != batch) return tn_low_unsupported(&l, "an axis behind the batch dims");
  const int32_t nd[] = {tn_low_in(&l, 0), lo_unsqueeze(&l, tn_low_in_i64(&l, 1), -1)};
  return tn_low_done(&l, tn_low_emit(&l, "GatherND", nd, 2, &a, 1));
}

tn_status tf_mirror_pad(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 1)};
  const tn_attr a = tn_attr_int("mode", lo_says(&l, "mode", "SYMMETRIC"));
  return tn_low_done(&l, tn_low_emit(&l, "tflite::MIRROR_PAD", in, 2, &a, 1));
}

tn_status tf_size(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t type = tn_low_int(&l, "out_type", tn_onnx_of_dtype(TN_I32));
  const int32_t n = tn_low_1(&l, "Size", tn_low_in(&l, 0));
  return tn_low_done(&l, tn_low_cast(&l, n, tn_dtype_of_onnx(type)));
}

/* Shapes of several inputs. */
tn_status tf_shape_n(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  enum { MOST = 256 };
  int32_t out[MOST];
  const uint32_t dtype = tn_dtype_of_onnx(tn_low_int(&l, "out_type", tn_onnx_of_dtype(TN_I32)));
  if (call->n_outputs > MOST || call->n_outputs > call->n_inputs)
    return tn_low_unsupported(&l, "so many inputs");
  for (uint32_t k = 0; k < call->n_outputs; k++) {
    out[k] = tn_low_1(&l, "Shape", tn_low_in(&l, k));
    if (dtype != TN_I64) out[k] = tn_low_cast(&l, out[k], dtype);
  }
  return tn_low_done_many(&l, out, call->n_outputs);
}

tn_status tf_ones_like(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  return tn_low_done(&l, tn_low_2(&l, "Expand", tn_low_number(&l, x->dtype, 1),
                                  tn_low_ints_const(&l, x->shape, x->rank)));
}

tn_status tf_roll(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  int64_t shift[4 * TN_MAX_RANK], axes[4 * TN_MAX_RANK], n, m;
  tn_status s = lo_const_ints(&l, 1, shift, 4 * TN_MAX_RANK, &n);
  if (!s) s = lo_const_ints(&l, 2, axes, 4 * TN_MAX_RANK, &m);
  if (!s && n != m) s = tn_low_unsupported(&l, "not one shift for each axis");
  int32_t y = tn_low_in(&l, 0);
  for (int64_t k = 0; k < n && !s; k++) {
    int32_t axis = 0;
    s = tn_axis_normalize(call, axes[k], x->rank, &axis);
    const int64_t size = s ? 0 : x->shape[axis];
    if (s || size < 1) continue;
    const int64_t by = ((shift[k] % size) + size) % size;
    const int32_t parts[] = {lo_slice(&l, y, axis, size - by, size),
                             lo_slice(&l, y, axis, 0, size - by)};
    if (by) y = lo_concat(&l, parts, 2, axis);
  }
  return s ? s : tn_low_done(&l, y == tn_low_in(&l, 0) ? tn_low_1(&l, "Identity", y) : y);
}

/* indices of where each number of 0 .. n stands */
tn_status tf_invert_permutation(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const tn_status s = lo_rank(&l, 0, 1);
  if (s) return s;
  const int32_t zero = tn_low_number(&l, TN_I64, 0), one = tn_low_number(&l, TN_I64, 1),
                n = tn_low_number(&l, TN_I64, (double)x->shape[0]);
  const int32_t range = tn_low_cast(&l, tn_low_3(&l, "Range", zero, n, one), x->dtype);
  const int32_t in[] = {tn_low_in(&l, 0), lo_unsqueeze(&l, tn_low_in_i64(&l, 0), -1), range};
  return tn_low_done(&l, tn_low_emit(&l, "ScatterND", in, 3, NULL, 0));
}

/* ---- scattering ---- */

static tn_status scatter(const tn_call *call, tn_graph *graph, int32_t node, const char *how) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in_i64(&l, 1), tn_low_in(&l, 2)};
  const tn_attr a = tn_attr_str("reduction", how);
  return tn_low_done(&l, tn_low_emit(&l, "ScatterND", in, 3, &a, 1));
}

tn_status tf_scatter_update(const tn_call *call, tn_graph *graph, int32_t node) {
  return scatter(call, graph, node, "none");
}
tn_status tf_scatter_add(const tn_call *call, tn_graph *graph, int32_t node) {
  return scatter(call, graph, node, "add");
}
tn_status tf_scatter_max(const tn_call *call, tn_graph *graph, int32_t node) {
  return scatter(call, graph, node, "max");
}
tn_status tf_scatter_min(const tn_call *call, tn_graph *graph, int32_t node) {
  return scatter(call, graph, node, "min");
}
tn_status tf_scatter_sub(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in_i64(&l, 1),
                        tn_low_1(&l, "Neg", tn_low_in(&l, 2))};
  const tn_attr a = tn_attr_str("reduction", "add");
  return tn_low_done(&l, tn_low_emit(&l, "ScatterND", in, 3, &a, 1));
}

/* ---- bands of matrices ---- */

/* row - column in -upper .. lower; a negative number keeps all on its side. */
tn_status tf_matrix_band_part(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  int64_t lower = 0, upper = 0, n;
  tn_status s = lo_const_ints(&l, 1, &lower, 1, &n);
  if (!s) s = lo_const_ints(&l, 2, &upper, 1, &n);
  if (s) return s;
  if (x->rank < 2) return tn_low_unsupported(&l, "fewer than 2 dims");
  int32_t y = tn_low_in(&l, 0);
  for (int up = 0; up < 2; up++) {
    const int64_t width = up ? upper : lower;
    if (width < 0) continue;
    const int32_t in[] = {y, tn_low_number(&l, TN_I64, (double)(up ? width : -width))};
    const tn_attr a = tn_attr_int("upper", !up);
    y = tn_low_emit(&l, "Trilu", in, 2, &a, 1);
  }
  return tn_low_done(&l, y == tn_low_in(&l, 0) ? tn_low_1(&l, "Identity", y) : y);
}

/* The shape that two shapes broadcast to. */
tn_status tf_broadcast_args(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t a[TN_MAX_RANK], b[TN_MAX_RANK], out[TN_MAX_RANK], n_a, n_b;
  tn_status s = lo_const_ints(&l, 0, a, TN_MAX_RANK, &n_a);
  if (!s) s = lo_const_ints(&l, 1, b, TN_MAX_RANK, &n_b);
  if (s) return s;
  const int64_t n = tn_max_i64(n_a, n_b);
  for (int64_t k = 1; k <= n; k++) {
    const int64_t x = k <= n_a ? a[n_a - k] : 1, y = k <= n_b ? b[n_b - k] : 1;
    if (x != y && x != 1 && y != 1)
      return tn_low_unsupported(&l, "shapes that do not fit together");
    out[n - k] = x == 1 ? y : x;
  }
  return tn_low_done(&l, tn_low_cast(&l, tn_low_ints_const(&l, out, n), tn_low_type(&l, 0)->dtype));
}
