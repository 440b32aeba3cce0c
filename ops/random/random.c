/* RandomUniform, RandomNormal, their ...Like forms, Bernoulli, Multinomial. Stage 0 finds the key,
 * stage 1 draws. */
#include <time.h>

#include "generator.h"
#include "random.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/onnx_dtype.h"

/* ---- inference ---- */

static tn_status dtype_of(const tn_call *call, int64_t number, uint32_t *out) {
  *out = tn_dtype_of_onnx(number);
  if (*out != TN_NONE) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'dtype' is %lld, which is no type",
                          (long long)number);
}

static tn_status infer_shape(const tn_call *call, int64_t number, tn_ints shape) {
  uint32_t dtype;
  tn_status s = dtype_of(call, number, &dtype);
  if (!s && shape.size > TN_MAX_RANK)
    s = call->host->fail(call->ctx, TN_ERR_OVERFLOW, "attribute 'shape' has %lld dims",
                         (long long)shape.size);
  for (int64_t k = 0; k < shape.size && !s; k++)
    if (shape.data[k] < 0)
      s = call->host->fail(call->ctx, TN_ERR_INVALID, "dim %lld of 'shape' is %lld", (long long)k,
                           (long long)shape.data[k]);
  if (!s) tn_infer_shape(call, 0, dtype, (int32_t)shape.size, shape.data);
  return s;
}

static tn_status infer_like(const tn_call *call, bool has_dtype, int64_t number) {
  const tn_tensor *x = call->inputs[0];
  uint32_t dtype = x->dtype;
  tn_status s = has_dtype ? dtype_of(call, number, &dtype) : TN_OK;
  tn_infer_shape(call, 0, dtype, x->rank, x->shape);
  return s;
}

#define ATTRS(op) const tn_##op##_attrs *a = call->attrs

tn_status random_uniform_infer(const tn_call *call) {
  ATTRS(random_uniform);
  return infer_shape(call, a->dtype, a->shape);
}

tn_status random_normal_infer(const tn_call *call) {
  ATTRS(random_normal);
  return infer_shape(call, a->dtype, a->shape);
}

tn_status random_uniform_like_infer(const tn_call *call) {
  ATTRS(random_uniform_like);
  return infer_like(call, a->has_dtype, a->dtype);
}

tn_status random_normal_like_infer(const tn_call *call) {
  ATTRS(random_normal_like);
  return infer_like(call, a->has_dtype, a->dtype);
}

tn_status bernoulli_infer(const tn_call *call) {
  ATTRS(bernoulli);
  return infer_like(call, a->has_dtype, a->dtype);
}

tn_status multinomial_infer(const tn_call *call) {
  ATTRS(multinomial);
  const tn_tensor *x = call->inputs[0];
  uint32_t dtype;
  tn_status s = dtype_of(call, a->dtype, &dtype);
  if (s) return s;
  if (x->rank != 2 || x->shape[1] < 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the input must be [batch, classes]");
  if (a->sample_size < 0)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'sample_size' is %lld",
                            (long long)a->sample_size);
  int64_t dims[2] = {x->shape[0], a->sample_size};
  tn_infer_shape(call, 0, dtype, 2, dims);
  return TN_OK;
}

/* ---- what is drawn ---- */

typedef enum kind { UNIFORM, NORMAL, BERNOULLI } kind;

typedef struct drawing {
  kind what;
  double base, factor; /* base + factor * number */
  bool has_seed;
  double seed;
} drawing;

static drawing draw_random_uniform(const tn_call *call) {
  ATTRS(random_uniform);
  return (drawing){UNIFORM, a->low, a->high - a->low, a->has_seed, a->seed};
}

static drawing draw_random_normal(const tn_call *call) {
  ATTRS(random_normal);
  return (drawing){NORMAL, a->mean, a->scale, a->has_seed, a->seed};
}

static drawing draw_random_uniform_like(const tn_call *call) {
  ATTRS(random_uniform_like);
  return (drawing){UNIFORM, a->low, a->high - a->low, a->has_seed, a->seed};
}

static drawing draw_random_normal_like(const tn_call *call) {
  ATTRS(random_normal_like);
  return (drawing){NORMAL, a->mean, a->scale, a->has_seed, a->seed};
}

static drawing draw_bernoulli(const tn_call *call) {
  ATTRS(bernoulli);
  return (drawing){BERNOULLI, 0, 1, a->has_seed, a->seed};
}

static double draw(const tn_call *call, const drawing *d, uint64_t key, int64_t k) {
  if (d->what == BERNOULLI)
    return random_uniform(key, k) < tn_load_f64(call->inputs[0]->dtype, call->inputs[0]->data, k);
  return d->base +
         d->factor * (d->what == UNIFORM ? random_uniform(key, k) : random_normal(key, k));
}

/* ---- kernels; scratch: the key ---- */

tn_status random_plan(const tn_call *call, tn_kernel_plan *out) {
  const int64_t n = tn_elements(call->outputs[0]);
  out->n_stages = 2;
  out->items[1] = n;
  out->grain[1] = 200;
  out->scratch_bytes = sizeof(uint64_t);
  out->cost_ns = (double)n * 30 + 200;
  return TN_OK;
}

/* Without a seed: time, and where the call stands in memory, so that two nodes that run at once
 * differ. */
static void find_key(const tn_call *call, bool has_seed, double seed) {
  struct timespec now = {0, 0};
  uint64_t key = random_key_of(seed);
  if (!has_seed) {
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    const random_block b = random_bits(time, (uint64_t)(uintptr_t)call);
    key = (uint64_t)b.x[0] << 32 | b.x[1];
  }
  memcpy(call->scratch, &key, sizeof key);
}

static uint64_t found_key(const tn_call *call) {
  uint64_t key;
  memcpy(&key, call->scratch, sizeof key);
  return key;
}

static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     const drawing *d) {
  const tn_tensor *y = call->outputs[0];
  if (stage == 0) {
    find_key(call, d->has_seed, d->seed);
    return TN_OK;
  }
  const uint64_t key = found_key(call);
  for (int64_t k = begin; k < end; k++) {
    const double v = draw(call, d, key, k);
    if (y->dtype == TN_F32)
      ((float *)y->data)[k] = (float)v;
    else
      tn_store_f64(y->dtype, y->data, k, v);
  }
  return TN_OK;
}

/* References draw backwards: no number may depend on those before it. */
static tn_status reference(const tn_call *call, const drawing *d) {
  const tn_tensor *y = call->outputs[0];
  for (int64_t k = tn_elements(y); k-- > 0;)
    tn_store_f64(y->dtype, y->data, k, draw(call, d, random_key_of(d->seed), k));
  return d->has_seed
             ? TN_OK
             : call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "the reference needs a seed");
}

#define RANDOM(op)                                                                  \
  tn_status op##_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                   uint32_t worker) {                                               \
    const drawing d = draw_##op(call);                                              \
    (void)worker;                                                                   \
    return run(call, stage, begin, end, &d);                                        \
  }                                                                                 \
  tn_status op##_reference(const tn_call *call) {                                   \
    const drawing d = draw_##op(call);                                              \
    return reference(call, &d);                                                     \
  }
RANDOM(random_uniform)
RANDOM(random_normal)
RANDOM(random_uniform_like)
RANDOM(random_normal_like)
RANDOM(bernoulli)

/* ---- Multinomial: items are samples ---- */

tn_status multinomial_plan(const tn_call *call, tn_kernel_plan *out) {
  return random_plan(call, out);
}

/* The class at which the running sum of weights passes u of all of them; a class of weight 0 is
 * never drawn. */
static int64_t draw_class(const tn_tensor *x, int64_t row, double u) {
  const int64_t n = x->shape[1];
  double top = -(double)INFINITY, sum = 0, passed = 0;
  for (int64_t k = 0; k < n; k++) top = fmax(top, tn_load_f64(x->dtype, x->data, row * n + k));
  for (int64_t k = 0; k < n; k++) sum += exp(tn_load_f64(x->dtype, x->data, row * n + k) - top);
  int64_t last = 0;
  for (int64_t k = 0; k < n; k++) {
    const double w = exp(tn_load_f64(x->dtype, x->data, row * n + k) - top);
    if (!(w > 0)) continue;
    passed += w;
    last = k;
    if (u * sum < passed) break;
  }
  return last;
}

static void draw_classes(const tn_call *call, uint64_t key, int64_t begin, int64_t end) {
  const tn_tensor *y = call->outputs[0];
  for (int64_t k = begin; k < end; k++)
    tn_store_i64(y->dtype, y->data, k,
                 draw_class(call->inputs[0], k / y->shape[1], random_uniform(key, k)));
}

tn_status multinomial_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  ATTRS(multinomial);
  (void)worker;
  if (stage == 0)
    find_key(call, a->has_seed, a->seed);
  else
    draw_classes(call, found_key(call), begin, end);
  return TN_OK;
}

tn_status multinomial_reference(const tn_call *call) {
  ATTRS(multinomial);
  for (int64_t k = tn_elements(call->outputs[0]); k-- > 0;)
    draw_classes(call, random_key_of(a->seed), k, k + 1);
  return a->has_seed
             ? TN_OK
             : call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "the reference needs a seed");
}
