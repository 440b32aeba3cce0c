/* Portable kernels of Max, Min, Sum and Mean on any number of tensors: blocks of the result are
 * gathered in an accumulator, one operand after the other. f16 and bf16 are gathered in f32 and
 * rounded once. */
#include "typed.h"

#include "binary.gen.h"

#define MAX_LOOP(dtype, T) TYPED_LOOP(max_##dtype, T, a > b ? a : b)
#define MIN_LOOP(dtype, T) TYPED_LOOP(min_##dtype, T, a < b ? a : b)
#define EACH_INT(X) \
  X(I8, int8_t)     \
  X(I16, int16_t)   \
  X(I32, int32_t) X(I64, int64_t) X(U8, uint8_t) X(U16, uint16_t) X(U32, uint32_t) X(U64, uint64_t)
EACH_INT(MAX_LOOP)
EACH_INT(MIN_LOOP)
TYPED_LOOP(max_F32, float, (a > b) | (a != a) ? a : b) /* NaN wins */
TYPED_LOOP(max_F64, double, (a > b) | (a != a) ? a : b)
TYPED_LOOP(min_F32, float, (a < b) | (a != a) ? a : b)
TYPED_LOOP(min_F64, double, (a < b) | (a != a) ? a : b)
TYPED_LOOP(sum_F32, float, a + b)
TYPED_LOOP(sum_F64, double, a + b)

#define MAX_ENTRY(dtype, T) [TN_##dtype] = max_##dtype,
#define MIN_ENTRY(dtype, T) [TN_##dtype] = min_##dtype,
static const typed_loop max_loops[TN_DTYPE_COUNT] = {EACH_INT(MAX_ENTRY) MAX_ENTRY(F32, float)
                                                         MAX_ENTRY(F64, double)};
static const typed_loop min_loops[TN_DTYPE_COUNT] = {EACH_INT(MIN_ENTRY) MIN_ENTRY(F32, float)
                                                         MIN_ENTRY(F64, double)};
static const typed_loop sum_loops[TN_DTYPE_COUNT] = {[TN_F32] = sum_F32, [TN_F64] = sum_F64};

/* Operand k, elements [begin, begin + n) of the output's storage, into or onto the accumulator. */
static tn_status gather(const tn_call *call, uint32_t k, int64_t begin, int64_t n, typed_loop loop,
                        void *accumulator) {
  tn_repeated is;
  const tn_tensor *x = call->inputs[k];
  const int64_t bytes = typed_is_half(x->dtype) ? 4 : tn_dtype(x->dtype)->bits / 8;
  tn_broadcast plan;
  const tn_status status = tn_broadcast_init(&plan, call->outputs[0], 1, &x);
  if (status) return status;
  is.n = 0;
  tn_runs r = tn_runs_begin(&plan, begin, begin + n);
  while (tn_runs_next(&r)) {
    const void *values = typed_load(x, r.offset[0], r.stride[0], r.length, &is);
    char *to = (char *)accumulator + (r.index - begin) * bytes;
    if (k == 0)
      memcpy(to, values, (size_t)(r.length * bytes));
    else
      loop(to, values, to, r.length);
  }
  return TN_OK;
}

/* The gathered block divided by the number of operands. */
static void divide(uint32_t dtype, void *accumulator, int64_t n, uint32_t divisor) {
  if (dtype == TN_F64) {
    double *y = accumulator;
    for (int64_t i = 0; i < n; i++) y[i] /= divisor;
  } else {
    float *y = accumulator;
    for (int64_t i = 0; i < n; i++) y[i] /= (float)divisor;
  }
}

static tn_status run(const tn_call *call, int64_t begin, int64_t end, const typed_loop *loops,
                     uint32_t divisor) {
  double accumulator[TN_MAP_BLOCK];
  tn_tensor *y = call->outputs[0];
  const bool half = typed_is_half(y->dtype);
  const int64_t bytes = tn_dtype(y->dtype)->bits / 8;
  const typed_loop loop = loops[half ? TN_F32 : y->dtype];
  if (!loop) return TN_ERR_INTERNAL;
  if (call->n_inputs == 2 && divisor == 1) {
    const tn_status status = typed_run(call, begin, end, loops);
    tn_pads_zero(y, begin, end);
    return status;
  }
  for (int64_t i = begin; i < end; i += TN_MAP_BLOCK) {
    const int64_t n = tn_min_i64(end - i, TN_MAP_BLOCK);
    for (uint32_t k = 0; k < call->n_inputs; k++) {
      const tn_status status = gather(call, k, i, n, loop, accumulator);
      if (status) return status;
    }
    if (divisor > 1) divide(half ? TN_F32 : y->dtype, accumulator, n, divisor);
    if (half)
      tn_store_block_f32(y->dtype, y->data, i, n, (const float *)(const void *)accumulator);
    else
      memcpy((char *)y->data + i * bytes, accumulator, (size_t)(n * bytes));
  }
  tn_pads_zero(y, begin, end);
  return TN_OK;
}

#define KERNEL(name, loops, divisor)                                              \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                    \
    return run(call, begin, end, loops, divisor);                                 \
  }

KERNEL(max_c, max_loops, 1)
KERNEL(min_c, min_loops, 1)
KERNEL(sum_c, sum_loops, 1)
KERNEL(mean_c, sum_loops, call->n_inputs)

const char *variadic_refuse(const tn_call *call) {
  for (uint32_t k = 0; k < call->n_inputs; k++) {
    tn_broadcast b;
    if (tn_broadcast_init(&b, call->outputs[0], 1, &call->inputs[k]))
      return "these layouts do not broadcast without conversion";
  }
  return NULL;
}

tn_status variadic_plan(const tn_call *call, tn_kernel_plan *out) {
  return tn_plan_elementwise(call, out, 0.4 * call->n_inputs);
}
