/* LpNormalization, LRN, MeanVarianceNormalization: references, and the lowering of the last. */
#include <math.h>

#include "norm.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"

tn_status lp_normalization_infer(const tn_call *call) {
  const tn_lp_normalization_attrs *a = call->attrs;
  int32_t axis = 0;
  tn_status s = tn_axis_normalize(call, a->axis, call->inputs[0]->rank, &axis);
  if (s) return s;
  if (a->p != 1 && a->p != 2)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'p' is %lld; 1 and 2 are allowed",
                            (long long)a->p);
  return tn_infer_like(call, 0, 0);
}

tn_status lrn_infer(const tn_call *call) {
  int64_t size = ((const tn_lrn_attrs *)call->attrs)->size;
  if (size < 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'size' is %lld", (long long)size);
  return tn_infer_like(call, 0, 0);
}

tn_status lp_normalization_reference(const tn_call *call) {
  const tn_lp_normalization_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int32_t axis = 0;
  tn_status s = tn_axis_normalize(call, a->axis, x->rank, &axis);
  if (s) return s;
  int64_t inner = 1, n = x->shape[axis], total = tn_elements(x);
  for (int32_t k = axis + 1; k < x->rank; k++) inner *= x->shape[k];
  for (int64_t k = 0; k < total; k++) {
    int64_t base = k / (inner * n) * inner * n + k % inner;
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
      sum += pow(fabs(tn_load_f64(x->dtype, x->data, base + j * inner)), (double)a->p);
    double norm = pow(sum, 1 / (double)a->p);
    tn_store_f64(x->dtype, call->outputs[0]->data, k,
                 norm == 0 ? 0 : tn_load_f64(x->dtype, x->data, k) / norm);
  }
  return TN_OK;
}

tn_status lrn_reference(const tn_call *call) {
  const tn_lrn_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t channels = x->rank > 1 ? x->shape[1] : 1, total = tn_elements(x), plane = 1;
  for (int32_t k = 2; k < x->rank; k++) plane *= x->shape[k];
  for (int64_t k = 0; k < total; k++) {
    int64_t c = k / plane % channels, lo = c - (a->size - 1) / 2,
            hi = c + a->size / 2; /* floor and ceil of (size-1)/2 */
    double sum = 0;
    for (int64_t j = lo < 0 ? 0 : lo; j <= hi && j < channels; j++) {
      double v = tn_load_f64(x->dtype, x->data, k + (j - c) * plane);
      sum += v * v;
    }
    double v = tn_load_f64(x->dtype, x->data, k) /
               pow(a->bias + a->alpha / (double)a->size * sum, a->beta);
    tn_store_f64(x->dtype, call->outputs[0]->data, k, v);
  }
  return TN_OK;
}

static bool has_axis(tn_ints axes, int32_t rank, int32_t k) {
  for (int64_t j = 0; j < axes.size; j++)
    if ((axes.data[j] < 0 ? axes.data[j] + rank : axes.data[j]) == k) return true;
  return false;
}

/* True if elements a and b are summed into the same statistics: they differ in normalised dims
 * only. */
static bool same_group(const tn_tensor *x, tn_ints axes, int64_t a, int64_t b) {
  for (int32_t k = x->rank - 1; k >= 0; k--) {
    if (a % x->shape[k] != b % x->shape[k] && !has_axis(axes, x->rank, k)) return false;
    a /= x->shape[k];
    b /= x->shape[k];
  }
  return true;
}

tn_status mean_variance_normalization_reference(const tn_call *call) {
  tn_ints axes = ((const tn_mean_variance_normalization_attrs *)call->attrs)->axes;
  const tn_tensor *x = call->inputs[0];
  int64_t total = tn_elements(x);
  for (int64_t k = 0; k < total; k++) {
    double sum = 0, squares = 0, n = 0;
    for (int64_t j = 0; j < total; j++) {
      if (!same_group(x, axes, k, j)) continue;
      double v = tn_load_f64(x->dtype, x->data, j);
      sum += v, squares += v * v, n++;
    }
    double mean = sum / n, deviation = sqrt(squares / n - mean * mean);
    tn_store_f64(x->dtype, call->outputs[0]->data, k,
                 (tn_load_f64(x->dtype, x->data, k) - mean) / (deviation + 1e-9));
  }
  return TN_OK;
}

static int32_t emit(const tn_call *call, tn_graph *g, const char *op, int32_t a, int32_t b) {
  const int32_t inputs[2] = {a, b};
  return tn_emit_node(call, g, "", op, inputs, b == -1 ? 1 : 2, NULL, 0);
}

tn_status mean_variance_normalization_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  tn_ints list = ((const tn_mean_variance_normalization_attrs *)call->attrs)->axes;
  const tn_tensor *x_type = call->inputs[0];
  double tiny = 1e-9;
  tn_tensor eps = tn_tensor_make(x_type->dtype, 0, NULL, NULL);
  char element[16] = {0};
  tn_store_f64(x_type->dtype, element, 0, tiny);
  eps.data = element;
  int32_t x = tn_node_input(call, graph, node, 0),
          axes = tn_emit_ints(call, graph, list.data, list.size);
  int32_t small = tn_emit_const(call, graph, &eps);
  if (axes < 0 || small < 0) return TN_ERR_MEMORY;
  int32_t centred = emit(call, graph, "Sub", x, emit(call, graph, "ReduceMean", x, axes));
  int32_t var = emit(call, graph, "ReduceMean", emit(call, graph, "Mul", centred, centred), axes);
  int32_t y = emit(call, graph, "Div", centred,
                   emit(call, graph, "Add", emit(call, graph, "Sqrt", var, -1), small));
  return y < 0 ? y : call->host->graph->replace_node(graph, node, &y, 1);
}
