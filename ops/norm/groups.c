/* Instance, group, layer and RMS normalisation: shapes, inference and references. */
#include <math.h>

#include "groups.h"

groups groups_of_instance(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  int64_t channels = x->shape[1], n = tn_dims_size(x->shape + 2, x->rank - 2);
  return (groups){.groups = tn_dims_size(x->shape, 2),
                  .n = n,
                  .repeat = channels ? channels : 1,
                  .step = 1,
                  .run = n ? n : 1,
                  .period = 1,
                  .epsilon = ((const tn_instance_normalization_attrs *)call->attrs)->epsilon,
                  .centred = true};
}

groups groups_of_group(const tn_call *call) {
  const tn_group_normalization_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t plane = tn_dims_size(x->shape + 2, x->rank - 2), each = x->shape[1] / a->num_groups;
  groups s = {.groups = x->shape[0] * a->num_groups,
              .n = each * plane,
              .repeat = a->num_groups,
              .epsilon = a->epsilon,
              .centred = true};
  bool per_group = call->version < 21;
  s.step = per_group ? 1 : each;
  s.run = per_group || !plane ? tn_max_i64(s.n, 1) : plane;
  s.period = per_group ? 1 : tn_max_i64(each, 1);
  return s;
}

groups groups_of_layer(const tn_call *call, int64_t axis, double epsilon, bool centred) {
  const tn_tensor *x = call->inputs[0];
  int32_t first = (int32_t)(axis < 0 ? axis + x->rank : axis);
  int64_t n = tn_dims_size(x->shape + first, x->rank - first);
  return (groups){.groups = tn_dims_size(x->shape, first),
                  .n = n,
                  .repeat = 1,
                  .run = 1,
                  .period = n ? n : 1,
                  .epsilon = epsilon,
                  .centred = centred};
}

tn_status instance_normalization_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "input has rank %d; it needs [N, C, ...]",
                            x->rank);
  for (uint32_t k = 1; k < 3; k++)
    if (tn_elements(call->inputs[k]) != x->shape[1])
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "input %u needs one value per channel (%lld)", k,
                              (long long)x->shape[1]);
  return tn_infer_like(call, 0, 0);
}

tn_status group_normalization_infer(const tn_call *call) {
  const tn_group_normalization_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 2 || a->num_groups < 1 || x->shape[1] % a->num_groups ||
      a->num_groups > tn_max_i64(1, x->shape[1]))
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "num_groups is %lld, which does not divide the channels of X",
                            (long long)a->num_groups);
  int64_t want = call->version < 21 ? a->num_groups : x->shape[1];
  if (tn_elements(call->inputs[1]) != want || tn_elements(call->inputs[2]) != want)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "scale and bias need %lld values",
                            (long long)want);
  return tn_infer_like(call, 0, 0);
}

/* Scale and bias must cover the normalised dims. */
static tn_status layer_infer(const tn_call *call, int64_t axis_attr) {
  const tn_tensor *x = call->inputs[0];
  int32_t axis = 0;
  tn_status s = tn_axis_normalize(call, axis_attr, x->rank, &axis);
  if (s) return s;
  for (uint32_t k = 1; k < call->n_inputs; k++)
    if (call->inputs[k] &&
        tn_elements(call->inputs[k]) != tn_dims_size(x->shape + axis, x->rank - axis))
      return call->host->fail(
          call->ctx, TN_ERR_UNSUPPORTED,
          "not supported: scale or bias that broadcasts inside the normalised dims");
  const tn_tensor *scale = call->inputs[1];
  tn_infer_shape(call, 0, scale->dtype, x->rank, x->shape);
  for (uint32_t k = 1; k < call->n_outputs; k++) {
    if (!call->outputs[k]) continue;
    tn_infer_shape(call, k, TN_F32, x->rank, x->shape);
    for (int32_t d = axis; d < x->rank; d++) call->outputs[k]->shape[d] = 1;
  }
  return TN_OK;
}

tn_status layer_normalization_infer(const tn_call *call) {
  return layer_infer(call, ((const tn_layer_normalization_attrs *)call->attrs)->axis);
}

tn_status rms_normalization_infer(const tn_call *call) {
  return layer_infer(call, ((const tn_rms_normalization_attrs *)call->attrs)->axis);
}

/* ---- references ---- */

static void reference_group(const tn_call *call, const groups *s, int64_t g) {
  const tn_tensor *x = call->inputs[0], *scale = call->inputs[1], *bias = tn_input(call, 2);
  tn_tensor *y = call->outputs[0];
  double mean = 0, power = 0;
  for (int64_t i = 0; i < s->n && s->centred; i++)
    mean += tn_load_f64(x->dtype, x->data, g * s->n + i);
  if (s->centred) mean /= (double)s->n; /* of nothing: NaN */
  for (int64_t i = 0; i < s->n; i++) {
    double d = tn_load_f64(x->dtype, x->data, g * s->n + i) - mean;
    power += d * d;
  }
  double inverse = 1 / sqrt(power / (double)s->n + s->epsilon);
  for (int64_t i = 0; i < s->n; i++) {
    int64_t place = groups_place(s, g, i);
    double v = (tn_load_f64(x->dtype, x->data, g * s->n + i) - mean) * inverse *
               tn_load_f64(scale->dtype, scale->data, place);
    tn_store_f64(y->dtype, y->data, g * s->n + i,
                 v + (bias ? tn_load_f64(bias->dtype, bias->data, place) : 0));
  }
  if (tn_has_output(call, 1)) tn_store_f64(TN_F32, call->outputs[1]->data, g, mean);
  if (tn_has_output(call, 2)) tn_store_f64(TN_F32, call->outputs[2]->data, g, inverse);
}

static tn_status reference(const tn_call *call, groups s) {
  for (int64_t g = 0; g < s.groups; g++) reference_group(call, &s, g);
  return TN_OK;
}

tn_status instance_normalization_reference(const tn_call *call) {
  return reference(call, groups_of_instance(call));
}
tn_status group_normalization_reference(const tn_call *call) {
  return reference(call, groups_of_group(call));
}

tn_status layer_normalization_reference(const tn_call *call) {
  const tn_layer_normalization_attrs *a = call->attrs;
  return reference(call, groups_of_layer(call, a->axis, a->epsilon, true));
}

tn_status rms_normalization_reference(const tn_call *call) {
  const tn_rms_normalization_attrs *a = call->attrs;
  return reference(call, groups_of_layer(call, a->axis, a->epsilon, false));
}
