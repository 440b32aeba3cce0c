/* numpy broadcasting, for kernels, references and inference.
 *
 * An output range is walked as runs: stretches of the innermost dim along which every operand
 * advances by a fixed stride, 0 (one value for the whole run) or 1 (an array). Dims that all
 * operands step through alike are merged first, so that adding two tensors of one shape is a single
 * run:
 *
 *   tn_broadcast b;
 *   if ((status = tn_broadcast_init(&b, call->outputs[0], 2, call->inputs))) return status;
 *   tn_runs r = tn_runs_begin(&b, begin, end);
 *   while (tn_runs_next(&r))
 *     add(r.length, y + r.index, x0 + r.offset[0], r.stride[0], x1 + r.offset[1], r.stride[1]);
 */
#ifndef TN_KIT_BROADCAST_H
#define TN_KIT_BROADCAST_H

#include <stdbool.h>

#include "tenon/kit/checked.h"
#include "tenon/kit/tensor.h"

enum {
  TN_BROADCAST_MAX = 4,
  TN_BROADCAST_RANK = TN_MAX_RANK + 1 /* dims of a storage: blocked layouts split the channels */
};

/* Fills rank and shape of *out with the shape that the n tensors broadcast to; NULL entries are
 * skipped. Unknown ranks and dims are allowed: a known dim other than 1 beats an unknown one.
 * TN_ERR_SHAPE: two known dims, neither of them 1, differ; *out is then unchanged. */
TN_KIT_FN tn_status tn_broadcast_shape(uint32_t n, const tn_tensor *const *tensors, tn_tensor *out);

/* A broadcast with its dims merged. Strides are in elements. Constant while runs are made of it:
 * threads may share it. */
typedef struct tn_broadcast {
  uint32_t n;   /* operands */
  int32_t rank; /* of the merged dims, >= 1 */
  int64_t size[TN_BROADCAST_RANK];
  int64_t stride[TN_BROADCAST_MAX][TN_BROADCAST_RANK];
  int64_t total; /* elements of the output's storage */
} tn_broadcast;

/* How n <= TN_BROADCAST_MAX tensors, none of them NULL, broadcast to out. All shapes must be
 * known. Runs go over the storage of out, pad lanes included: what a kernel writes there it must
 * zero again (tn_pads_zero). Where out is not plain, an operand has out's layout and rank, or is
 * plain with steps of 0 or 1 along the channels: one element, [C, 1, 1]. TN_ERR_SHAPE,
 * TN_ERR_UNSUPPORTED (layout), TN_ERR_INVALID (n). */
TN_KIT_FN tn_status tn_broadcast_init(tn_broadcast *b, const tn_tensor *out, uint32_t n,
                                      const tn_tensor *const *in);

/* The runs of a range of output elements. */
typedef struct tn_runs {
  int64_t index;                    /* where the run begins in the output */
  int64_t length;                   /* elements in it */
  int64_t offset[TN_BROADCAST_MAX]; /* where it begins in each operand */
  int64_t stride[TN_BROADCAST_MAX]; /* 0 or 1 */
  const tn_broadcast *b;
  int64_t end;
  int64_t at[TN_BROADCAST_RANK]; /* place of the next run in the merged dims */
} tn_runs;

/* Before the first run of output elements [begin, end), 0 <= begin <= end <= total; both may lie
 * inside a dim. */
static inline tn_runs tn_runs_begin(const tn_broadcast *b, int64_t begin, int64_t end) {
  tn_runs r;
  int32_t inner = b->rank - 1;
  int64_t rest = begin;
  r.index = begin;
  r.length = 0;
  r.b = b;
  r.end = end;
  for (uint32_t i = 0; i < b->n; i++) {
    r.offset[i] = 0;
    r.stride[i] = b->stride[i][inner];
  }
  for (int32_t k = inner; k >= 0; k--) {
    r.at[k] = b->total ? rest % b->size[k] : 0;
    rest = b->total ? rest / b->size[k] : 0;
    for (uint32_t i = 0; i < b->n; i++) r.offset[i] += r.at[k] * b->stride[i][k];
  }
  return r;
}

/* Steps to the next run. False: there is none. */
static inline bool tn_runs_next(tn_runs *r) {
  const tn_broadcast *b = r->b;
  int32_t k = b->rank - 1;
  int64_t done = r->length;
  r->index += done;
  if (r->index >= r->end) return false;
  if (done) { /* the run before went to the end of the innermost dim */
    int64_t step = done;
    r->at[k] += step;
    for (uint32_t i = 0; i < b->n; i++) r->offset[i] += step * b->stride[i][k];
    while (k > 0 && r->at[k] == b->size[k]) {
      r->at[k] = 0;
      for (uint32_t i = 0; i < b->n; i++)
        r->offset[i] += b->stride[i][k - 1] - b->size[k] * b->stride[i][k];
      r->at[--k]++;
    }
  }
  r->length = tn_min_i64(b->size[b->rank - 1] - r->at[b->rank - 1], r->end - r->index);
  return true;
}

#ifdef TN_KIT_BODIES

TN_KIT_FN tn_status tn_broadcast_shape(uint32_t n, const tn_tensor *const *tensors,
                                       tn_tensor *out) {
  int64_t dims[TN_MAX_RANK];
  int32_t rank = 0;
  bool known = true;
  for (uint32_t i = 0; i < n; i++) {
    if (!tensors[i]) continue;
    if (tensors[i]->rank < 0)
      known = false;
    else if (tensors[i]->rank > rank)
      rank = tensors[i]->rank;
  }
  for (int32_t k = 0; k < rank; k++) dims[k] = 1;
  for (uint32_t i = 0; i < n; i++) {
    const tn_tensor *t = tensors[i];
    for (int32_t k = 0; t && k < t->rank; k++) {
      int64_t *dim = &dims[rank - t->rank + k], x = t->shape[k];
      if (*dim == 1 || (*dim < 0 && x >= 0 && x != 1))
        *dim = x;
      else if (x >= 0 && x != 1 && x != *dim)
        return TN_ERR_SHAPE;
    }
  }
  out->rank = known ? rank : TN_RANK_UNKNOWN;
  for (int32_t k = 0; known && k < rank; k++) out->shape[k] = dims[k];
  return TN_OK;
}

/* Adds the dim (size, strides) inside of the dims that are there, merged with the innermost of them
 * if all operands step through both alike. Dims of size 1 vanish. */
static inline void tn_broadcast_push(tn_broadcast *b, int64_t size, const int64_t *strides) {
  int32_t last = b->rank - 1;
  if (size == 1) return;
  bool merge = last >= 0;
  for (uint32_t i = 0; merge && i < b->n; i++) merge = b->stride[i][last] == strides[i] * size;
  if (!merge) b->size[last = b->rank++] = 1;
  b->size[last] *= size;
  for (uint32_t i = 0; i < b->n; i++) b->stride[i][last] = strides[i];
}

/* Strides of a plain `in` along the dims of `out`; 0 where it is repeated. */
static inline tn_status tn_broadcast_strides(const tn_tensor *out, const tn_tensor *in,
                                             int64_t *strides) {
  int64_t step = 1;
  if (in->rank < 0 || in->rank > out->rank) return TN_ERR_SHAPE;
  for (int32_t k = out->rank - 1; k >= 0; k--) {
    int32_t own = k - (out->rank - in->rank);
    int64_t size = own >= 0 ? in->shape[own] : 1;
    if (size != 1 && size != out->shape[k]) return TN_ERR_SHAPE;
    strides[k] = size == 1 ? 0 : step;
    step *= size;
  }
  return TN_OK;
}

/* The dims of a storage, outermost first: plain [N, C, X...], channels last [N, X..., C],
 * blocked [N, C/b, X..., b]. For `in`, the strides along the dims of the storage of out; 0 where
 * it is repeated. Answers their number, or a status. */
static inline int32_t tn_broadcast_storage(const tn_tensor *out, const tn_tensor *in,
                                           int64_t *sizes, int64_t *strides) {
  const int64_t b = TN_LAYOUT_BLOCK(out->layout), channels = out->rank > 1 ? out->shape[1] : 1;
  int64_t logical[TN_MAX_RANK], step = 1;
  int32_t rank = out->rank, n = 0;
  tn_status status = tn_broadcast_strides(out, in, logical);
  if (status) return status;
  if (out->layout == TN_PLAIN) {
    if (in->layout != TN_PLAIN) return TN_ERR_UNSUPPORTED;
    for (; n < rank; n++) sizes[n] = out->shape[n], strides[n] = logical[n];
    return n;
  }
  if (rank < 2) return TN_ERR_UNSUPPORTED;
  if (in->layout !=
      TN_PLAIN) { /* the strides in the storage of in, which has its own number of channels */
    if (in->layout != out->layout || in->rank != rank) return TN_ERR_UNSUPPORTED;
    const int64_t lanes = b ? b : in->shape[1];
    step = lanes;
    for (int32_t k = rank - 1; k >= 2; k--) {
      logical[k] = in->shape[k] == 1 ? 0 : step;
      step *= in->shape[k];
    }
    const int64_t plane = step;
    logical[0] = in->shape[0] == 1 ? 0 : b ? plane * tn_ceil_div(in->shape[1], b) : plane;
    logical[1] = in->shape[1] == 1 ? 0 : 1;
    step = in->shape[1] == 1 ? 0 : plane;
  } else {
    step = logical[1] * b;
    if (b && logical[1] && channels % b)
      return TN_ERR_UNSUPPORTED; /* pad lanes would be read past its end */
  }
  sizes[n] = out->shape[0], strides[n++] = logical[0];
  if (b) sizes[n] = tn_ceil_div(channels, b), strides[n++] = step;
  for (int32_t k = 2; k < rank; k++) sizes[n] = out->shape[k], strides[n++] = logical[k];
  sizes[n] = b ? b : channels, strides[n++] = logical[1];
  return n;
}

/* True if all operands have the output's shape and layout, or one element: then the storage is one
 * flat array. */
static inline bool tn_broadcast_is_flat(const tn_tensor *out, uint32_t n,
                                        const tn_tensor *const *in) {
  for (uint32_t i = 0; i < n; i++) {
    bool same = in[i]->rank == out->rank && in[i]->layout == out->layout;
    for (int32_t k = 0; same && k < out->rank; k++) same = in[i]->shape[k] == out->shape[k];
    if (!same && tn_elements(in[i]) != 1) return false;
  }
  return true;
}

TN_KIT_FN tn_status tn_broadcast_init(tn_broadcast *b, const tn_tensor *out, uint32_t n,
                                      const tn_tensor *const *in) {
  int64_t sizes[TN_BROADCAST_RANK], strides[TN_BROADCAST_MAX][TN_BROADCAST_RANK];
  int64_t step[TN_BROADCAST_MAX] = {0};
  int32_t rank = 0;
  if (n > TN_BROADCAST_MAX) return TN_ERR_INVALID;
  b->n = n;
  b->rank = 0;
  b->total = tn_storage_elements(out);
  if (b->total < 0) return TN_ERR_SHAPE;
  if (tn_broadcast_is_flat(out, n, in)) {
    for (uint32_t i = 0; i < n; i++) step[i] = tn_elements(in[i]) != 1;
    tn_broadcast_push(b, b->total, step);
  } else {
    for (uint32_t i = 0; i < n; i++) {
      rank = tn_broadcast_storage(out, in[i], sizes, strides[i]);
      if (rank < 0) return rank;
    }
    for (int32_t k = 0; k < rank; k++) {
      for (uint32_t i = 0; i < n; i++) step[i] = strides[i][k];
      tn_broadcast_push(b, sizes[k], step);
    }
  }
  if (b->rank == 0) { /* one element: a dim of size 1, so that there is an innermost one */
    b->rank = 1;
    b->size[0] = 1;
    for (uint32_t i = 0; i < n; i++) b->stride[i][0] = 0;
  }
  for (uint32_t i = 0; i < n; i++) {
    if (b->stride[i][b->rank - 1] > 1) return TN_ERR_UNSUPPORTED;
  }
  return TN_OK;
}

#endif

#endif
