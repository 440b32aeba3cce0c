/* Instance, group, layer and RMS normalisation in f32 for AVX-512 and AVX2: the whole of
 * groups_avx512.c and groups_avx2.c. An item is a group. Sums are kept in f32 over CHUNK elements,
 * in four vectors, and in f64 over chunks. */
#include <math.h>

#include "groups.h"
#include "tenon/kit/simd_math.h"

enum { CHUNK = 1024, PARTS = 4 };

static tn_status plan(const groups *s, tn_kernel_plan *out) {
  out->items[0] = s->groups;
  out->elements_per_item = s->n;
  out->grain[0] = tn_grain(16000, (double)s->n);
  out->cost_ns = (double)s->groups * (double)s->n / 6 + 100;
  return TN_OK;
}

tn_status TN_SIMD_NAME(instance_normalization_plan)(const tn_call *call, tn_kernel_plan *out) {
  const groups s = groups_of_instance(call);
  return plan(&s, out);
}

tn_status TN_SIMD_NAME(group_normalization_plan)(const tn_call *call, tn_kernel_plan *out) {
  const groups s = groups_of_group(call);
  return plan(&s, out);
}

/* LayerNormalization and RMSNormalization: both attribute structs begin with axis. */
tn_status TN_SIMD_NAME(layer_normalization_plan)(const tn_call *call, tn_kernel_plan *out) {
  const groups s =
      groups_of_layer(call, ((const tn_rms_normalization_attrs *)call->attrs)->axis, 0, true);
  return plan(&s, out);
}

/* The next n elements, at most a vector; 0 behind them. */
static tn_vf load_first(const float *x, int64_t n) {
  return n >= TN_VF_LANES ? tn_vf_load(x) : tn_vf_load_mask(tn_vf_mask_first(n), x);
}

/* Sum of x over n <= CHUNK elements. */
static double chunk_sum(const float *x, int64_t n) {
  tn_vf part[PARTS];
  TN_UNROLL for (int k = 0; k < PARTS; k++) part[k] = tn_vf_set1(0);
  int64_t i = 0;
  for (; i + PARTS * TN_VF_LANES <= n; i += PARTS * TN_VF_LANES)
    TN_UNROLL for (int k = 0; k < PARTS; k++) part[k] =
        tn_vf_add(part[k], tn_vf_load(x + i + k * TN_VF_LANES));
  for (; i < n; i += TN_VF_LANES) part[0] = tn_vf_add(part[0], load_first(x + i, n - i));
  return (double)tn_vf_sum(tn_vf_add(tn_vf_add(part[0], part[1]), tn_vf_add(part[2], part[3])));
}

/* Sum of (x - mean)^2 over n <= CHUNK elements. */
static double chunk_power(const float *x, int64_t n, float mean) {
  const tn_vf m = tn_vf_set1(mean);
  tn_vf part[PARTS];
  TN_UNROLL for (int k = 0; k < PARTS; k++) part[k] = tn_vf_set1(0);
  int64_t i = 0;
  for (; i + PARTS * TN_VF_LANES <= n; i += PARTS * TN_VF_LANES)
    TN_UNROLL for (int k = 0; k < PARTS; k++) {
      const tn_vf d = tn_vf_sub(tn_vf_load(x + i + k * TN_VF_LANES), m);
      part[k] = tn_vf_fma(d, d, part[k]);
    }
  double rest = 0;
  for (; i + TN_VF_LANES <= n; i += TN_VF_LANES) {
    const tn_vf d = tn_vf_sub(tn_vf_load(x + i), m);
    part[0] = tn_vf_fma(d, d, part[0]);
  }
  for (; i < n; i++) rest += (double)(x[i] - mean) * (double)(x[i] - mean);
  return rest +
         (double)tn_vf_sum(tn_vf_add(tn_vf_add(part[0], part[1]), tn_vf_add(part[2], part[3])));
}

static double mean_of(const float *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i += CHUNK) sum += chunk_sum(x + i, tn_min_i64(CHUNK, n - i));
  return sum / (double)n;
}

static double power_of(const float *x, int64_t n, float mean) {
  double sum = 0;
  for (int64_t i = 0; i < n; i += CHUNK) sum += chunk_power(x + i, tn_min_i64(CHUNK, n - i), mean);
  return sum / (double)n;
}

/* y = (x - mean) * inverse * scale[i] + bias[i] */
static void write_each(const float *x, float *y, int64_t n, float mean, float inverse,
                       const float *scale, const float *bias) {
  const tn_vf m = tn_vf_set1(mean), f = tn_vf_set1(inverse);
  for (int64_t i = 0; i < n; i += TN_VF_LANES) {
    const int64_t rest = n - i;
    const tn_vf d = tn_vf_mul(tn_vf_sub(load_first(x + i, rest), m), f);
    const tn_vf b = bias ? load_first(bias + i, rest) : tn_vf_set1(0);
    const tn_vf v = tn_vf_fma(d, load_first(scale + i, rest), b);
    if (rest >= TN_VF_LANES)
      tn_vf_store(y + i, v);
    else
      tn_vf_store_mask(y + i, tn_vf_mask_first(rest), v);
  }
}

/* y = (x - mean) * a + b */
static void write_run(const float *x, float *y, int64_t n, float mean, float a, float b) {
  TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] = TN_FMA(x[i] - mean, a, b);
}

static void normalise(const tn_call *call, const groups *s, int64_t g) {
  const float *x = (const float *)call->inputs[0]->data + g * s->n, *scale = call->inputs[1]->data;
  const float *bias = tn_has_input(call, 2) ? call->inputs[2]->data : NULL;
  float *y = (float *)call->outputs[0]->data + g * s->n;
  const double mean = s->centred ? mean_of(x, s->n) : 0,
               inverse = 1 / sqrt(power_of(x, s->n, (float)mean) + s->epsilon);
  const float m = (float)mean, f = (float)inverse;
  const int64_t base = groups_place(s, g, 0);
  for (int64_t at = 0; at < s->n; at += s->run * s->period) {
    if (s->run == 1) {
      write_each(x + at, y + at, s->period, m, f, scale + base, bias ? bias + base : NULL);
      continue;
    }
    for (int64_t p = 0; p < s->period; p++)
      write_run(x + at + p * s->run, y + at + p * s->run, s->run, m, f * scale[base + p],
                bias ? bias[base + p] : 0);
  }
  if (tn_has_output(call, 1)) ((float *)call->outputs[1]->data)[g] = m;
  if (tn_has_output(call, 2)) ((float *)call->outputs[2]->data)[g] = f;
}

#define GROUPS_KERNEL(name, SHAPE)                                                              \
  tn_status TN_SIMD_NAME(name)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                               uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                                  \
    const groups s = SHAPE;                                                                     \
    for (int64_t g = begin; g < end; g++) normalise(call, &s, g);                               \
    return TN_OK;                                                                               \
  }
#define LAYER(op, centred)                                            \
  groups_of_layer(call, ((const tn_##op##_attrs *)call->attrs)->axis, \
                  ((const tn_##op##_attrs *)call->attrs)->epsilon, centred)

GROUPS_KERNEL(instance_normalization_f32, groups_of_instance(call))
GROUPS_KERNEL(group_normalization_f32, groups_of_group(call))
GROUPS_KERNEL(layer_normalization_f32, LAYER(layer_normalization, true))
GROUPS_KERNEL(rms_normalization_f32, LAYER(rms_normalization, false))
