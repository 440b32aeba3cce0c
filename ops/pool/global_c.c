/* Portable global pools, a channel per item, and MaxUnpool. */
#include <math.h>
#include <string.h>

#include "pool_shape.h"
#include "tenon/kit/tensor.h"

tn_status global_pool_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  int64_t size = tn_dims_size(x->shape + 2, x->rank - 2);
  out->items[0] = x->shape[0] * x->shape[1];
  out->grain[0] = tn_grain(10000, (double)size);
  out->elements_per_item = 1;
  out->cost_ns = (double)(x->shape[0] * x->shape[1]) * (double)size / 4;
  return TN_OK;
}

/* Four partial sums: shorter chains for the processor and smaller rounding errors. */
#define GLOBAL(T, name, START, STEP, JOIN, DONE)                                        \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,       \
                 uint32_t worker) {                                                     \
    (void)stage, (void)worker;                                                          \
    int64_t size = tn_dims_size(call->inputs[0]->shape + 2, call->inputs[0]->rank - 2); \
    const T *x = (const T *)call->inputs[0]->data + begin * size;                       \
    T *y = call->outputs[0]->data;                                                      \
    for (int64_t item = begin; item < end; item++, x += size) {                         \
      T part[4] = {START, START, START, START};                                         \
      for (int64_t k = 0; k < size; k++) {                                              \
        T v = x[k], *a = &part[k & 3];                                                  \
        STEP;                                                                           \
      }                                                                                 \
      T sum = JOIN(JOIN(part[0], part[1]), JOIN(part[2], part[3]));                     \
      y[item] = DONE;                                                                   \
    }                                                                                   \
    return TN_OK;                                                                       \
  }
#define ADD(a, b) ((a) + (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b)) /* b if a is NaN */
#define POWER ((const tn_global_lp_pool_attrs *)call->attrs)->p

GLOBAL(float, global_average_pool_f32_c, 0, *a += v, ADD, sum / (float)size)
GLOBAL(double, global_average_pool_f64_c, 0, *a += v, ADD, sum / (double)size)
GLOBAL(float, global_max_pool_f32_c, -INFINITY, *a = MAX(v, *a), MAX, sum)
GLOBAL(double, global_max_pool_f64_c, -(double)INFINITY, *a = MAX(v, *a), MAX, sum)
GLOBAL(float, global_lp_pool_f32_c, 0, *a += powf(fabsf(v), (float)POWER), ADD,
       powf(sum, 1 / (float)POWER))
GLOBAL(double, global_lp_pool_f64_c, 0, *a += pow(fabs(v), (double)POWER), ADD,
       pow(sum, 1 / (double)POWER))

static tn_status unpool(const tn_call *call, size_t bytes) {
  int64_t n = tn_elements(call->inputs[0]), n_out = tn_elements(call->outputs[0]), at = 0;
  const int64_t *index = call->inputs[1]->data;
  char *y = call->outputs[0]->data;
  if (n_out) memset(y, 0, (size_t)n_out * bytes);
  for (int64_t k = 0; k < n; k++) {
    tn_status s = max_unpool_place(call, index[k], &at);
    if (s) return s;
    memcpy(y + (size_t)at * bytes, (const char *)call->inputs[0]->data + (size_t)k * bytes, bytes);
  }
  return TN_OK;
}

tn_status max_unpool_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  (void)stage, (void)begin, (void)worker;
  return end > 0 ? unpool(call, sizeof(float)) : TN_OK;
}

tn_status max_unpool_f64_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  (void)stage, (void)begin, (void)worker;
  return end > 0 ? unpool(call, sizeof(double)) : TN_OK;
}
