/* Operators that give the same elements another shape: Reshape, Flatten, Squeeze, Unsqueeze,
 * Identity. All become one region over the whole tensor, which the planner turns into an alias. */
#include "shape.h"

#include "shape.gen.h"

tn_status alias_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  if (call->inputs[0]->kind != TN_KIND_TENSOR)
    return TN_ERR_UNSUPPORTED; /* Identity of a sequence or optional */
  return tn_lower_to_alias(call, graph, node, 0);
}

/* Resolves 0 (copy the input's dim) and finds -1. Copied dims count on neither side when -1 is
 * worked out, so that it has an answer for empty tensors, too. */
static tn_status resolve_dims(const tn_call *call, bool allow_zero, int64_t *dims, int64_t n) {
  const tn_tensor *in = call->inputs[0];
  int64_t unknown = -1, known = 1, total = 1;
  bool copied[TN_MAX_RANK] = {false};
  for (int64_t k = 0; k < n; k++) {
    if (dims[k] == 0 && !allow_zero) {
      if (k >= in->rank)
        return call->host->fail(
            call->ctx, TN_ERR_SHAPE,
            "shape[%lld] is 0 (copy the input's dim), but the input has rank %d", (long long)k,
            (int)in->rank);
      dims[k] = in->shape[k];
      copied[k] = true;
    } else if (dims[k] == -1) {
      if (unknown >= 0)
        return call->host->fail(call->ctx, TN_ERR_INVALID, "shape has more than one -1");
      unknown = k;
    } else if (dims[k] < -1) {
      return call->host->fail(call->ctx, TN_ERR_INVALID, "shape[%lld] is %lld", (long long)k,
                              (long long)dims[k]);
    } else if (tn_mul_i64(known, dims[k], &known)) {
      return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                              "the elements of the new shape do not fit in 64 bits");
    }
  }
  if (unknown < 0) return TN_OK;
  for (int32_t k = 0; k < in->rank; k++)
    if (k >= n || !copied[k]) total *= in->shape[k];
  if (known == 0 || total % known)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE,
        "shape[%lld] is -1, but %lld elements do not divide into groups of %lld",
        (long long)unknown, (long long)total, (long long)known);
  dims[unknown] = total / known;
  return TN_OK;
}

tn_status reshape_infer(const tn_call *call) {
  const tn_reshape_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t dims[TN_MAX_RANK], n, elements;
  tn_status s = tn_const_elements(call, 1, &n);
  if (!s) s = shape_check_rank(call, n);
  if (!s) s = tn_const_ints(call, 1, dims, TN_MAX_RANK, &n);
  if (!s) s = resolve_dims(call, a->allowzero != 0, dims, n);
  if (s) return s;
  if (tn_dims_product(dims, (int32_t)n, &elements) || elements != tn_elements(in)) {
    char from[TN_TENSOR_TEXT], to[TN_TENSOR_TEXT];
    tn_tensor wanted = tn_tensor_make(in->dtype, (int32_t)n, dims, NULL);
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE, "%s cannot become %s: they differ in the number of elements",
        tn_tensor_text(in, from, sizeof from), tn_tensor_text(&wanted, to, sizeof to));
  }
  tn_infer_shape(call, 0, in->dtype, (int32_t)n, dims);
  return TN_OK;
}

tn_status flatten_infer(const tn_call *call) {
  const tn_flatten_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t axis = a->axis < 0 ? a->axis + in->rank : a->axis, dims[2] = {1, 1};
  if (axis < 0 || axis > in->rank)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "axis %lld is outside -%d .. %d",
                            (long long)a->axis, (int)in->rank, (int)in->rank);
  for (int32_t k = 0; k < in->rank; k++) dims[k >= axis] *= in->shape[k];
  tn_infer_shape(call, 0, in->dtype, 2, dims);
  return TN_OK;
}

tn_status squeeze_infer(const tn_call *call) {
  const tn_tensor *in = call->inputs[0];
  int64_t axes[TN_MAX_RANK], n = 0, dims[TN_MAX_RANK];
  uint32_t mask = 0;
  int32_t rank = 0;
  bool given = tn_has_input(call, 1);
  tn_status s = given ? tn_const_ints(call, 1, axes, TN_MAX_RANK, &n) : TN_OK;
  if (!s) s = shape_axes_mask(call, axes, n, in->rank, &mask);
  if (s) return s;
  for (int32_t k = 0; k < in->rank; k++) {
    bool drop = given ? mask >> k & 1 : in->shape[k] == 1;
    if (drop && in->shape[k] != 1)
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "dim %d cannot be squeezed: its size is %lld, not 1", (int)k,
                              (long long)in->shape[k]);
    if (!drop) dims[rank++] = in->shape[k];
  }
  tn_infer_shape(call, 0, in->dtype, rank, dims);
  return TN_OK;
}

tn_status unsqueeze_infer(const tn_call *call) {
  const tn_tensor *in = call->inputs[0];
  int64_t axes[TN_MAX_RANK], n, dims[TN_MAX_RANK];
  uint32_t mask = 0;
  tn_status s = tn_const_elements(call, 1, &n);
  if (!s) s = shape_check_rank(call, in->rank + n);
  if (!s) s = tn_const_ints(call, 1, axes, TN_MAX_RANK, &n);
  if (!s) s = shape_axes_mask(call, axes, n, in->rank + (int32_t)n, &mask);
  if (s) return s;
  for (int32_t k = 0, from = 0; k < in->rank + (int32_t)n; k++)
    dims[k] = mask >> k & 1 ? 1 : in->shape[from++];
  tn_infer_shape(call, 0, in->dtype, in->rank + (int32_t)n, dims);
  return TN_OK;
}

/* Before operator set 13, axes was an attribute. */
tn_status squeeze_v1_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_squeeze_v1_attrs *a = call->attrs;
  int32_t inputs[2] = {tn_node_input(call, graph, node, 0), -1};
  if (a->has_axes) inputs[1] = tn_emit_ints(call, graph, a->axes.data, a->axes.size);
  return tn_lower_as(call, graph, node, "Squeeze", inputs, a->has_axes ? 2 : 1, NULL, 0);
}

tn_status unsqueeze_v1_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_unsqueeze_v1_attrs *a = call->attrs;
  int32_t inputs[2] = {tn_node_input(call, graph, node, 0),
                       tn_emit_ints(call, graph, a->axes.data, a->axes.size)};
  return tn_lower_as(call, graph, node, "Unsqueeze", inputs, 2, NULL, 0);
}

tn_status reshape_v1_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_reshape_v1_attrs *a = call->attrs;
  const int32_t inputs[2] = {tn_node_input(call, graph, node, 0),
                             tn_emit_ints(call, graph, a->shape.data, a->shape.size)};
  return tn_lower_as(call, graph, node, "Reshape", inputs, 2, NULL, 0);
}

/* Identity of what is no tensor; tensors are lowered. */
tn_status identity_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  return call->host->output_set(call->ctx, 0, call->inputs[0]);
}

tn_status identity_reference(const tn_call *call) {
  if (call->inputs[0]->kind == TN_KIND_TENSOR) return shape_reference_copy(call);
  return call->host->output_set(call->ctx, 0, call->inputs[0]);
}
