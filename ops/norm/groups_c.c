/* Portable kernels of the normalisations over groups; an item is a group. Sums are kept in f64, in
 * four parts. */
#include <math.h>

#include "groups.h"

static tn_status plan(const groups *s, tn_kernel_plan *out) {
  out->items[0] = s->groups;
  out->elements_per_item = s->n;
  out->grain[0] = tn_grain(4000, (double)s->n);
  out->cost_ns = (double)s->groups * (double)s->n + 200;
  return TN_OK;
}

tn_status instance_normalization_plan(const tn_call *call, tn_kernel_plan *out) {
  groups s = groups_of_instance(call);
  return plan(&s, out);
}

tn_status group_normalization_plan(const tn_call *call, tn_kernel_plan *out) {
  groups s = groups_of_group(call);
  return plan(&s, out);
}

/* LayerNormalization and RMSNormalization: both attribute structs begin with axis. */
tn_status layer_normalization_plan(const tn_call *call, tn_kernel_plan *out) {
  groups s =
      groups_of_layer(call, ((const tn_rms_normalization_attrs *)call->attrs)->axis, 0, true);
  return plan(&s, out);
}

#define GROUPS(T)                                                                             \
  static double sum_##T(const T *x, int64_t n, double mean, int squares) {                    \
    double part[4] = {0, 0, 0, 0};                                                            \
    for (int64_t i = 0; i < n; i++) {                                                         \
      double d = (double)x[i] - mean;                                                         \
      part[i & 3] += squares ? d * d : d;                                                     \
    }                                                                                         \
    return (part[0] + part[1]) + (part[2] + part[3]);                                         \
  }                                                                                           \
  static void normalise_##T(const tn_call *call, const groups *s, int64_t g) {                \
    const T *x = (const T *)call->inputs[0]->data + g * s->n, *scale = call->inputs[1]->data; \
    const T *bias = tn_has_input(call, 2) ? call->inputs[2]->data : NULL;                     \
    T *y = (T *)call->outputs[0]->data + g * s->n;                                            \
    double mean = s->centred ? sum_##T(x, s->n, 0, 0) / (double)s->n : 0;                     \
    double inverse = 1 / sqrt(sum_##T(x, s->n, mean, 1) / (double)s->n + s->epsilon);         \
    const T m = (T)mean, f = (T)inverse;                                                      \
    int64_t base = groups_place(s, g, 0);                                                     \
    for (int64_t at = 0; at < s->n; at += s->run * s->period)                                 \
      for (int64_t p = 0; p < s->period; p++) {                                               \
        if (s->run == 1) {                                                                    \
          y[at + p] = (x[at + p] - m) * f * scale[base + p] + (bias ? bias[base + p] : 0);    \
          continue;                                                                           \
        }                                                                                     \
        T a = f * scale[base + p], b = bias ? bias[base + p] : 0;                             \
        for (int64_t i = at + p * s->run; i < at + (p + 1) * s->run; i++)                     \
          y[i] = (x[i] - m) * a + b;                                                          \
      }                                                                                       \
    if (tn_has_output(call, 1)) ((float *)call->outputs[1]->data)[g] = (float)mean;           \
    if (tn_has_output(call, 2)) ((float *)call->outputs[2]->data)[g] = (float)inverse;        \
  }
GROUPS(float)
GROUPS(double)

#define RUN(name, T, SHAPE)                                                       \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                    \
    groups s = SHAPE;                                                             \
    for (int64_t g = begin; g < end; g++) normalise_##T(call, &s, g);             \
    return TN_OK;                                                                 \
  }
#define LAYER(op, centred)                                            \
  groups_of_layer(call, ((const tn_##op##_attrs *)call->attrs)->axis, \
                  ((const tn_##op##_attrs *)call->attrs)->epsilon, centred)

RUN(instance_normalization_f32_c, float, groups_of_instance(call))
RUN(instance_normalization_f64_c, double, groups_of_instance(call))
RUN(group_normalization_f32_c, float, groups_of_group(call))
RUN(group_normalization_f64_c, double, groups_of_group(call))
RUN(layer_normalization_f32_c, float, LAYER(layer_normalization, true))
RUN(layer_normalization_f64_c, double, LAYER(layer_normalization, true))
RUN(rms_normalization_f32_c, float, LAYER(rms_normalization, false))
RUN(rms_normalization_f64_c, double, LAYER(rms_normalization, false))
