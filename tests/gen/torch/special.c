/* The kernels of special.yaml: bytes become twice what they are, whatever their type. */
#include "special.gen.h"
#include "special_behind.gen.h"

#define RUN(name) \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker)

static int64_t elements(const tn_call *call) {
  int64_t n = 1;
  for (int32_t d = 0; d < call->inputs[0]->rank; d++) n *= call->inputs[0]->shape[d];
  return n;
}

#define TWICE(name, T)                                                            \
  RUN(name) {                                                                     \
    (void)stage, (void)begin, (void)end, (void)worker;                            \
    const T *self = call->inputs[0]->data;                                        \
    T *out = call->outputs[0]->data;                                              \
    for (int64_t k = 0; k < elements(call); k++) out[k] = (T)(self[k] + self[k]); \
    return TN_OK;                                                                 \
  }
TWICE(my_twice_float, float)
TWICE(my_twice_double_nhwc, double)
TWICE(my_twice_nhwc, double)
TWICE(my_twice_nchw, float)
TWICE(my_twice_int, int32_t)
TWICE(my_twice_char, int8_t)
TWICE(other_twice_float, float)
TWICE(other_twice_byte, uint8_t)
#ifdef __x86_64__
TWICE(my_twice_char_avx2, int8_t) /* the name is what counts here */
#endif

/* Normal numbers: the exponent, whose lowest bit is bit 10 of an f16, bit 7 of a bf16, grows. */
RUN(my_twice_half) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const uint16_t one = call->inputs[0]->dtype == TN_F16 ? 1 << 10 : 1 << 7;
  const uint16_t *self = call->inputs[0]->data;
  uint16_t *out = call->outputs[0]->data;
  for (int64_t k = 0; k < elements(call); k++) out[k] = (uint16_t)(self[k] + one);
  return TN_OK;
}

/* The fallback: the types that the test gives it. */
RUN(my_twice) {
  if (call->inputs[0]->dtype == TN_F32) return my_twice_float(call, stage, begin, end, worker);
  if (call->inputs[0]->dtype == TN_F64) return my_twice_nhwc(call, stage, begin, end, worker);
  return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "the fallback of the test knows f32, f64");
}
