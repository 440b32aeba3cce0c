/* Normalisations on GPUs: over groups of elements, a group of threads each; by statistics that are
 * given, an element a thread. */
#ifdef TN_GPU
/* The sum over the group of what all its threads have, which all get; part has N floats. */
#define SUM_UP(N)                        \
  part[t] = sum;                         \
  for (int h = (N) / 2; h > 0; h /= 2) { \
    BARRIER();                           \
    if (t < h) part[t] += part[t + h];   \
  }                                      \
  BARRIER();                             \
  sum = part[0];                         \
  BARRIER();

/* The same of 256 threads, by two barriers; part has 288. */
#define SUM_UP_256()                                                   \
  part[t] = sum;                                                       \
  BARRIER();                                                           \
  if (t < 32) {                                                        \
    f32x4 some = LOCAL4(part, t * 8) + LOCAL4(part, t * 8 + 4);        \
    part[256 + t] = some.x + some.y + (some.z + some.w);               \
  }                                                                    \
  BARRIER();                                                           \
  all = LOCAL4(part, 256);                                             \
  UNROLL for (int j = 4; j < 32; j += 4) all += LOCAL4(part, 256 + j); \
  sum = all.x + all.y + (all.z + all.w);                               \
  BARRIER();

/* Element i, and which of KEPT it is, of each thread of 256. */
#define EACH(j, i) UNROLL for (int j = 0, i = t; j < KEPT; j++, i += 256)

/* As in groups.h, by N threads. */
#define NORM(N)                                                      \
  int t = LOCAL_ID(0), group = GROUP(0), at = group * n;             \
  int base = group % repeat * step;                                  \
  float sum = 0.0f, mean = 0.0f;                                     \
  if (CENTRED != 0) {                                                \
    for (int i = t; i < n; i += N) sum += LD1(X, at + i);            \
    SUM_UP(N)                                                        \
    mean = sum / TO_FLOAT(n);                                        \
  }                                                                  \
  sum = 0.0f;                                                        \
  for (int i = t; i < n; i += N) {                                   \
    float d = LD1(X, at + i) - mean;                                 \
    sum += d * d;                                                    \
  }                                                                  \
  SUM_UP(N)                                                          \
  float inverse = 1.0f / sqrt(sum / TO_FLOAT(n) + epsilon);          \
  for (int i = t; i < n; i += N) {                                   \
    int place = base + i / run % period;                             \
    float y = (LD1(X, at + i) - mean) * inverse * LD1(SCALE, place); \
    if (HAS_BIAS != 0) y += LD1(BIAS, place);                        \
    ST1(Y, at + i, y);                                               \
  }                                                                  \
  if (HAS_MEAN != 0 && t == 0) ST1(MEAN, group, mean);               \
  if (HAS_INVERSE != 0 && t == 0) ST1(INVERSE, group, inverse);

KERNEL(norm_groups, (IN(X), IN(SCALE), IN(BIAS), OUT(Y), OUT(MEAN), OUT(INVERSE)),
       (CONST(HAS_BIAS), CONST(CENTRED), CONST(HAS_MEAN), CONST(HAS_INVERSE), INT(n), INT(repeat),
        INT(step), INT(run), INT(period), FLOAT(epsilon)),
       64, 1, 1) {
  LOCAL(float, part, 64);
  NORM(64)
}

/* For devices of many units. */
KERNEL(norm_groups_256, (IN(X), IN(SCALE), IN(BIAS), OUT(Y), OUT(MEAN), OUT(INVERSE)),
       (CONST(HAS_BIAS), CONST(CENTRED), CONST(HAS_MEAN), CONST(HAS_INVERSE), INT(n), INT(repeat),
        INT(step), INT(run), INT(period), FLOAT(epsilon)),
       256, 1, 1) {
  LOCAL(float, part, 256);
  NORM(256)
}

/* Up to 256 * KEPT elements, which stay in registers: what is read from memory is read at once. */
KERNEL(norm_groups_short, (IN(X), IN(SCALE), IN(BIAS), OUT(Y), OUT(MEAN), OUT(INVERSE)),
       (CONST(HAS_BIAS), CONST(CENTRED), CONST(HAS_MEAN), CONST(HAS_INVERSE), CONST(KEPT), INT(n),
        INT(repeat), INT(step), INT(run), INT(period), FLOAT(epsilon)),
       256, 1, 1) {
  LOCAL(float, part, 288);
  int t = LOCAL_ID(0), group = GROUP(0), at = group * n, base = group % repeat * step;
  float x[8], scale[8], bias[8], sum = 0.0f, mean = 0.0f;
  f32x4 all;
  EACH(j, i) {
    int place = base + i / run % period;
    x[j] = i < n ? LD1(X, at + i) : 0.0f;
    scale[j] = i < n ? LD1(SCALE, place) : 0.0f;
    bias[j] = HAS_BIAS != 0 && i < n ? LD1(BIAS, place) : 0.0f;
    sum += x[j];
  }
  if (CENTRED != 0) {
    SUM_UP_256()
    mean = sum / TO_FLOAT(n);
  }
  sum = 0.0f;
  EACH(j, i) sum += i < n ? (x[j] - mean) * (x[j] - mean) : 0.0f;
  SUM_UP_256()
  float inverse = 1.0f / sqrt(sum / TO_FLOAT(n) + epsilon);
  EACH(j, i) {
    float y = (x[j] - mean) * inverse * scale[j];
    if (HAS_BIAS != 0) y += bias[j];
    if (i < n) ST1(Y, at + i, y);
  }
  if (HAS_MEAN != 0 && t == 0) ST1(MEAN, group, mean);
  if (HAS_INVERSE != 0 && t == 0) ST1(INVERSE, group, inverse);
}

KERNEL(batch_norm, (IN(X), IN(SCALE), IN(BIAS), IN(MEAN), IN(VAR), OUT(Y), EPILOGUE),
       (INT(n), INT(channels), INT(plane), FLOAT(epsilon)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int c = i / plane % channels;
    float scale = LD1(SCALE, c) / sqrt(LD1(VAR, c) + epsilon);
    float y = (LD1(X, i) - LD1(MEAN, c)) * scale + LD1(BIAS, c);
    EPILOGUE1(y, i)
    ST1(Y, i, y);
  }
}

/* Each element over what it and its neighbours among the channels add up to. */
KERNEL(lrn, (IN(X), OUT(Y)),
       (INT(n), INT(channels), INT(plane), INT(before), INT(behind), FLOAT(alpha), FLOAT(beta),
        FLOAT(bias)),
       64, 1, 1) {
  int i = GLOBAL(0), c = i / plane % channels;
  if (i < n) {
    float sum = 0.0f;
    for (int j = c > before ? -before : -c; j <= behind && c + j < channels; j++) {
      float v = LD1(X, i + j * plane);
      sum += v * v;
    }
    float y = LD1(X, i) / pow(bias + alpha * sum, beta);
    ST1(Y, i, y);
  }
}
#else
#include "groups.h"
#include "tenon/experimental/gpu.h"

const char *batch_normalization_gpu_refuse(const tn_call *call) {
  const tn_batch_normalization_attrs *a = call->attrs;
  if (a->training_mode) return "takes statistics as they are given";
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_epilogue(call);
}

const char *lrn_gpu_refuse(const tn_call *call) {
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_rounds(call, ((const tn_lrn_attrs *)call->attrs)->size);
}

static const char *refuse(const tn_call *call, const groups *s) {
  enum { SUMS = 2 * 6 };
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason : tn_gpu_refuse_rounds(call, 3 * tn_ceil_div(s->n, 64) + SUMS);
}

static tn_status record(const tn_call *call, tn_recorder *r, const groups *s) {
  enum { THREADS = 256, MOST = 8 };
  const int64_t kept = (s->n + THREADS - 1) / THREADS;
  const bool is_wide = tn_gpu_is_wide(call), is_short = is_wide && kept <= MOST;
  tn_gpu g;
  tn_gpu_begin(&g, call,
               is_short  ? GPU_norm_groups_short
               : is_wide ? GPU_norm_groups_256
                         : GPU_norm_groups);
  for (int32_t k = 0; k < 3; k++) tn_gpu_in(&g, k);
  for (int32_t k = 0; k < 3; k++) tn_gpu_out(&g, k);
  tn_gpu_const(&g, tn_has_input(call, 2));
  tn_gpu_const(&g, s->centred);
  tn_gpu_const(&g, tn_has_output(call, 1));
  tn_gpu_const(&g, tn_has_output(call, 2));
  if (is_short) tn_gpu_const(&g, kept);
  const int64_t words[] = {s->n, s->repeat, s->step, s->run, s->period};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) tn_gpu_int(&g, words[k]);
  tn_gpu_float(&g, s->epsilon);
  return tn_gpu_run(&g, r, tn_gpu_groups(s->groups, 1), 1, 1);
}

#define NORM(op, made)                                                             \
  const char *op##_gpu_refuse(const tn_call *call) {                               \
    if (tn_elements(call->inputs[0]) == 0) return "there is nothing to normalise"; \
    const groups s = made;                                                         \
    return refuse(call, &s);                                                       \
  }                                                                                \
  tn_status op##_gpu_record(const tn_call *call, tn_recorder *recorder) {          \
    const groups s = made;                                                         \
    return record(call, recorder, &s);                                             \
  }
#define LAYER(op, centred)                                            \
  groups_of_layer(call, ((const tn_##op##_attrs *)call->attrs)->axis, \
                  ((const tn_##op##_attrs *)call->attrs)->epsilon, centred)
NORM(instance_normalization, groups_of_instance(call))
NORM(group_normalization, groups_of_group(call))
NORM(layer_normalization, LAYER(layer_normalization, true))
NORM(rms_normalization, LAYER(rms_normalization, false))

/* Elements, channels, and elements of a plane. */
static void add_planes(tn_gpu *g, const tn_tensor *x) {
  int64_t plane = 1;
  for (int32_t k = 2; k < x->rank; k++) plane *= x->shape[k];
  tn_gpu_int(g, tn_elements(x));
  tn_gpu_int(g, x->rank > 1 ? x->shape[1] : 1);
  tn_gpu_int(g, plane);
}

tn_status lrn_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_lrn_attrs *a = call->attrs;
  const int64_t before = (a->size - 1) / 2, behind = a->size / 2;
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_lrn);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  add_planes(&g, call->inputs[0]);
  tn_gpu_int(&g, before < INT32_MAX ? before : INT32_MAX);
  tn_gpu_int(&g, behind < INT32_MAX / 2 ? behind : INT32_MAX / 2);
  tn_gpu_float(&g, a->alpha / (double)a->size);
  tn_gpu_float(&g, a->beta);
  tn_gpu_float(&g, a->bias);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(tn_elements(call->inputs[0]), 64), 1, 1);
}

tn_status batch_normalization_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const int64_t n = tn_elements(call->inputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_batch_norm);
  for (int32_t k = 0; k < 5; k++) tn_gpu_in(&g, k);
  tn_gpu_out(&g, 0);
  tn_gpu_epilogue(&g);
  add_planes(&g, call->inputs[0]);
  tn_gpu_float(&g, ((const tn_batch_normalization_attrs *)call->attrs)->epsilon);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
