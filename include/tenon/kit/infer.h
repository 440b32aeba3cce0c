/* Helpers for the infer functions of operators: outputs like inputs, axes, constant inputs,
 * broadcasting.
 *
 * All take the call as given to infer; errors are said through call->host->fail. They write rank
 * and dims of an output, and its dtype only where no type rule has given one (it is TN_NONE).
 * Outputs that nobody asked for are skipped. */
#ifndef TN_KIT_INFER_H
#define TN_KIT_INFER_H

#include <stdbool.h>

#include "tenon/kit/broadcast.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"
#include "tenon/kit/text.h"

static inline bool tn_has_input(const tn_call *call, uint32_t input) {
  return input < call->n_inputs && call->inputs[input];
}

/* NULL: left out. */
static inline const tn_tensor *tn_input(const tn_call *call, uint32_t input) {
  return tn_has_input(call, input) ? call->inputs[input] : NULL;
}

static inline bool tn_has_output(const tn_call *call, uint32_t output) {
  return output < call->n_outputs && call->outputs[output];
}

/* NULL: nobody asked for it. */
static inline tn_tensor *tn_output(const tn_call *call, uint32_t output) {
  return tn_has_output(call, output) ? call->outputs[output] : NULL;
}

/* Output has this rank (TN_RANK_UNKNOWN: dims may be NULL) and dims; dtype as said above. */
TN_KIT_FN void tn_infer_shape(const tn_call *call, uint32_t output, uint32_t dtype, int32_t rank,
                              const int64_t *dims);

/* Output has dtype, kind and shape of the input. */
TN_KIT_FN tn_status tn_infer_like(const tn_call *call, uint32_t output, uint32_t input);

/* Output 0 has the broadcast shape of all inputs that are there; dtype of input 0. */
TN_KIT_FN tn_status tn_infer_broadcast(const tn_call *call);

/* Dims that may be the same: one of them unknown, or equal. */
static inline bool tn_dims_equal_or_unknown(int64_t a, int64_t b) {
  return a < 0 || b < 0 || a == b;
}

/* axis in -rank .. rank-1 to 0 .. rank-1; rank must be known. TN_ERR_INVALID if it is outside. */
TN_KIT_FN tn_status tn_axis_normalize(const tn_call *call, int64_t axis, int32_t rank,
                                      int32_t *out_axis);

/* The input is there and its data is known: TN_OK and its number of elements. Else an error, or
 * TN_NEEDS_DATA after the host was told which input. */
TN_KIT_FN tn_status tn_const_elements(const tn_call *call, uint32_t input, int64_t *out_n);

/* The elements of a constant i32 or i64 input, at most max of them. TN_NEEDS_DATA: pass it on, the
 * host asks again. */
TN_KIT_FN tn_status tn_const_ints(const tn_call *call, uint32_t input, int64_t *out, int64_t max,
                                  int64_t *out_n);

/* The same for floats of any width and integers. */
TN_KIT_FN tn_status tn_const_floats(const tn_call *call, uint32_t input, double *out, int64_t max,
                                    int64_t *out_n);

#ifdef TN_KIT_BODIES

TN_KIT_FN void tn_infer_shape(const tn_call *call, uint32_t output, uint32_t dtype, int32_t rank,
                              const int64_t *dims) {
  if (!tn_has_output(call, output)) return;
  tn_tensor *t = call->outputs[output];
  if (t->dtype == TN_NONE) t->dtype = dtype;
  t->rank = rank;
  for (int32_t k = 0; k < rank; k++) t->shape[k] = dims[k];
}

TN_KIT_FN tn_status tn_infer_like(const tn_call *call, uint32_t output, uint32_t input) {
  if (!tn_has_input(call, input)) {
    return call->host->fail(call->ctx, TN_ERR_INVALID, "input %u is missing", (unsigned)input);
  }
  const tn_tensor *t = call->inputs[input];
  tn_infer_shape(call, output, t->dtype, t->rank, t->shape);
  if (tn_has_output(call, output)) call->outputs[output]->kind = t->kind;
  return TN_OK;
}

TN_KIT_FN tn_status tn_infer_broadcast(const tn_call *call) {
  tn_tensor shape = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  for (uint32_t i = 0; i < call->n_inputs; i++) {
    const tn_tensor *pair[2] = {&shape, call->inputs[i]};
    tn_tensor wider = shape;
    if (tn_broadcast_shape(2, pair, &wider)) {
      char a[TN_TENSOR_TEXT],
          b[TN_TENSOR_TEXT]; /* b begins with the "?" of a dtype that is not known */
      return call->host->fail(
          call->ctx, TN_ERR_SHAPE,
          "input %u, %s, does not broadcast with %s, the shape of the inputs before it",
          (unsigned)i, tn_tensor_text(call->inputs[i], a, sizeof a),
          tn_tensor_text(&shape, b, sizeof b) + 1);
    }
    shape = wider;
  }
  tn_infer_shape(call, 0, tn_has_input(call, 0) ? call->inputs[0]->dtype : (uint32_t)TN_NONE,
                 shape.rank, shape.shape);
  return TN_OK;
}

TN_KIT_FN tn_status tn_axis_normalize(const tn_call *call, int64_t axis, int32_t rank,
                                      int32_t *out_axis) {
  if (axis < -rank || axis >= rank) {
    return call->host->fail(call->ctx, TN_ERR_INVALID, "axis %lld is outside %d .. %d, for rank %d",
                            (long long)axis, (int)-rank, (int)rank - 1, (int)rank);
  }
  *out_axis = (int32_t)(axis < 0 ? axis + rank : axis);
  return TN_OK;
}

TN_KIT_FN tn_status tn_const_elements(const tn_call *call, uint32_t input, int64_t *out_n) {
  *out_n = 0; /* whatever fail() answers */
  if (!tn_has_input(call, input)) {
    return call->host->fail(call->ctx, TN_ERR_INVALID, "input %u is missing", (unsigned)input);
  }
  int64_t n = tn_elements(call->inputs[input]);
  if (n < 0 || (n > 0 && !call->inputs[input]->data)) {
    tn_status status = call->host->needs_data(call->ctx, input);
    return status ? status : TN_NEEDS_DATA;
  }
  *out_n = n;
  return TN_OK;
}

static inline tn_status tn_const_check(const tn_call *call, uint32_t input, uint64_t dtypes,
                                       int64_t max, int64_t *out_n) {
  tn_status status = tn_const_elements(call, input, out_n);
  if (status) return status;
  const tn_tensor *t = call->inputs[input];
  if (!(TN_MASK(t->dtype) & dtypes)) {
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "input %u has dtype %s, which it may not have",
                            (unsigned)input, tn_dtype(t->dtype)->name);
  }
  if (*out_n > max) {
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "input %u has %lld elements where at most %lld are allowed",
                            (unsigned)input, (long long)*out_n, (long long)max);
  }
  return TN_OK;
}

TN_KIT_FN tn_status tn_const_ints(const tn_call *call, uint32_t input, int64_t *out, int64_t max,
                                  int64_t *out_n) {
  tn_status status = tn_const_check(call, input, TN_MASK(TN_I32) | TN_MASK(TN_I64), max, out_n);
  for (int64_t i = 0; !status && i < *out_n; i++) {
    out[i] = tn_load_i64(call->inputs[input]->dtype, call->inputs[input]->data, i);
  }
  return status;
}

TN_KIT_FN tn_status tn_const_floats(const tn_call *call, uint32_t input, double *out, int64_t max,
                                    int64_t *out_n) {
  tn_status status = tn_const_check(call, input, TN_MASK_FLOAT | TN_MASK_INT, max, out_n);
  for (int64_t i = 0; !status && i < *out_n; i++) {
    out[i] = tn_load_f64(call->inputs[input]->dtype, call->inputs[input]->data, i);
  }
  return status;
}

#endif

#endif
