/* Attributes and shapes of the signal operators, checked: what is outside its bounds is an error
 * that names it. */
#ifndef TFLITE_CUSTOM_SIGNAL_CALL_H
#define TFLITE_CUSTOM_SIGNAL_CALL_H

#include "tenon/kit/infer.h"

/* least <= value <= most. */
static inline tn_status check_int(const tn_call *call, const char *name, int64_t value,
                                  int64_t least, int64_t most) {
  if (value >= least && value <= most) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "attribute '%s' is %lld, but must be %lld to %lld", name,
                          (long long)value, (long long)least, (long long)most);
}

/* Attribute T, if it is there, is the number that TFLite has for the type of the first input. */
static inline tn_status check_type(const tn_call *call, int64_t has_type, int64_t type) {
  const uint32_t dtype = call->inputs[0]->dtype;
  const int64_t wanted = dtype == TN_F32 ? 0 : dtype == TN_I32 ? 2 : 7;
  if (!has_type || type == wanted) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "attribute 'T' is %lld, but the type of input has the number %lld",
                          (long long)type, (long long)wanted);
}

/* The node has the first n outputs. */
static inline tn_status check_outputs(const tn_call *call, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (!tn_has_output(call, k))
      return call->host->fail(call->ctx, TN_ERR_INVALID, "must have %u outputs", n);
  return TN_OK;
}

/* The input is a row. */
static inline tn_status check_row(const tn_call *call, uint32_t input, const char *name) {
  if (call->inputs[input]->rank == 1) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s has rank %d, but must be a row", name,
                          call->inputs[input]->rank);
}

/* What is left of a wide number in 32 or 16 bits, as processors leave it. */
static inline int32_t wrap_i32(int64_t v) { return (int32_t)(uint32_t)(uint64_t)v; }
static inline int16_t wrap_i16(int64_t v) { return (int16_t)(uint16_t)(uint64_t)v; }

/* How many bits x has up to its highest 1. */
static inline int32_t bit_length(uint32_t x) {
  int32_t n = 0;
  for (; x; x >>= 1) n++;
  return n;
}

#endif
