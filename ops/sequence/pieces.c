/* SplitToSequence and ConcatFromSequence: between a tensor and a sequence of its pieces. */
#include <string.h>

#include "sequence.h"
#include "tenon/kit/axis.h"

static size_t element_bytes(uint32_t dtype) { return tn_dtype(dtype)->bits / 8; }

/* ---- SplitToSequence ---- */

tn_status split_to_sequence_infer(const tn_call *call) {
  int32_t axis;
  tn_status s = sequence_want(call, 0, TN_KIND_TENSOR);
  if (!s)
    s = tn_axis_normalize(call, ((const tn_split_to_sequence_attrs *)call->attrs)->axis,
                          call->inputs[0]->rank, &axis);
  sequence_list_of(call->outputs[0], TN_KIND_SEQUENCE, call->inputs[0]);
  return s;
}

/* Scratch: the piece being made. */
tn_status split_to_sequence_plan(const tn_call *call, tn_kernel_plan *out) {
  int64_t bytes = tn_bytes(call->inputs[0]);
  out->flags = TN_PLAN_DATA_DEPENDENT;
  out->scratch_bytes = (uint64_t)tn_max_i64(bytes, 0);
  return TN_OK;
}

/* Appends elements first .. first+n along the axis. */
static tn_status append_piece(const tn_call *call, int32_t axis, int64_t first, int64_t n,
                              bool squeeze) {
  const tn_tensor *in = call->inputs[0];
  const tn_axis_view v = tn_axis_view_of(in, axis);
  const size_t row = (size_t)v.inner * element_bytes(in->dtype);
  tn_tensor piece = tn_tensor_make(in->dtype, in->rank, in->shape, call->scratch);
  piece.shape[axis] = n;
  for (int64_t o = 0; row && n && o < v.outer; o++)
    memcpy((char *)call->scratch + (size_t)(o * n) * row,
           (const char *)in->data + (size_t)(o * v.n + first) * row, (size_t)n * row);
  if (squeeze) {
    for (int32_t k = axis; k + 1 < piece.rank; k++) piece.shape[k] = piece.shape[k + 1];
    piece.rank--;
  }
  return call->host->list_append(call->ctx, 0, &piece);
}

/* Pieces of these sizes: split[0 .. n_split), or, n_split < 0, all of `each`. */
static tn_status append_pieces(const tn_call *call, int32_t axis, const tn_tensor *split,
                               int64_t each, bool squeeze) {
  int64_t size = call->inputs[0]->shape[axis], at = 0,
          n_split = split ? tn_elements(split) : tn_ceil_div(size, each);
  for (int64_t k = 0; k < n_split; k++) {
    int64_t n = split ? tn_load_i64(split->dtype, split->data, k) : tn_min_i64(each, size - at);
    if (n < 0 || n > size - at)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "split[%lld] is %lld; %lld elements are left", (long long)k,
                              (long long)n, (long long)(size - at));
    tn_status s = append_piece(call, axis, at, n, squeeze);
    if (s) return s;
    at += n;
  }
  if (at != size)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "split adds up to %lld; the axis has %lld elements", (long long)at,
                            (long long)size);
  return TN_OK;
}

tn_status split_to_sequence_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                              uint32_t worker) {
  const tn_split_to_sequence_attrs *a = call->attrs;
  const tn_tensor *split = tn_has_input(call, 1) ? call->inputs[1] : NULL;
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + call->inputs[0]->rank : a->axis);
  (void)stage, (void)begin, (void)end, (void)worker;
  if (!split) return append_pieces(call, axis, NULL, 1, !a->keepdims);
  if (split->rank > 0) return append_pieces(call, axis, split, 0, false);
  int64_t each = tn_load_i64(split->dtype, split->data, 0);
  if (each < 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "split is %lld; it must be positive",
                            (long long)each);
  return append_pieces(call, axis, NULL, each, false);
}

/* ---- ConcatFromSequence ---- */

tn_status concat_from_sequence_infer(const tn_call *call) {
  const tn_concat_from_sequence_attrs *a = call->attrs;
  if (a->new_axis < 0 || a->new_axis > 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'new_axis' is %lld; it may be 0 or 1",
                            (long long)a->new_axis);
  return sequence_want(call, 0, TN_KIND_SEQUENCE);
}

typedef struct joint {
  const tn_call *call;
  int64_t n;          /* items */
  int32_t axis, rank; /* of the output */
  bool new_axis;
  int64_t shape[TN_MAX_RANK];
} joint;

static const tn_tensor *item(const joint *j, int64_t k) {
  return j->call->host->list_item(j->call->ctx, j->call->inputs[0], k);
}

/* Extent along the axis of an item. */
static int64_t extent(const joint *j, const tn_tensor *t) {
  return j->new_axis ? 1 : t->shape[j->axis];
}

/* Items must agree in all dims but the axis. */
static tn_status fit(const joint *j, int64_t k) {
  const tn_tensor *first = item(j, 0), *t = item(j, k);
  bool same = t->rank == first->rank;
  for (int32_t d = 0; same && d < t->rank; d++)
    same = (d == j->axis && !j->new_axis) || t->shape[d] == first->shape[d];
  if (same) return TN_OK;
  return j->call->host->fail(j->call->ctx, TN_ERR_SHAPE, "item %lld has another shape than item 0",
                             (long long)k);
}

static tn_status measure(joint *j) {
  const tn_concat_from_sequence_attrs *a = j->call->attrs;
  const tn_tensor *first = item(j, 0);
  j->new_axis = a->new_axis != 0;
  j->rank = first->rank + (j->new_axis ? 1 : 0);
  if (j->rank > TN_MAX_RANK)
    return j->call->host->fail(j->call->ctx, TN_ERR_OVERFLOW, "the result would have rank %d",
                               j->rank);
  tn_status s = tn_axis_normalize(j->call, a->axis, j->rank, &j->axis);
  if (s) return s;
  for (int32_t d = 0; d < j->rank; d++)
    j->shape[d] = d == j->axis ? 0 : first->shape[j->new_axis && d > j->axis ? d - 1 : d];
  for (int64_t k = 0; k < j->n && !s; k++) {
    s = fit(j, k);
    if (!s) s = tn_add_i64(j->shape[j->axis], extent(j, item(j, k)), &j->shape[j->axis]);
  }
  return s;
}

/* Puts item k where it begins, at `first` along the axis of the output. */
static tn_status place(const joint *j, const tn_tensor *from, int64_t first) {
  const tn_tensor *out = j->call->outputs[0];
  const tn_axis_view v = tn_axis_view_of(out, j->axis);
  const int64_t run = extent(j, from) * v.inner;
  const size_t bytes = element_bytes(from->dtype);
  tn_status s = TN_OK;
  for (int64_t o = 0; run && o < v.outer && !s; o++) {
    int64_t to = (o * v.n + first) * v.inner;
    if (from->dtype != TN_STRING) {
      memcpy((char *)out->data + (size_t)to * bytes,
             (const char *)from->data + (size_t)(o * run) * bytes, (size_t)run * bytes);
      continue;
    }
    const tn_str *text = (const tn_str *)from->data + o * run;
    for (int64_t i = 0; i < run && !s; i++)
      s = j->call->host->string_set(j->call->ctx, 0, to + i, text[i].data, text[i].size);
  }
  return s;
}

tn_status concat_from_sequence_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  joint j = {.call = call, .n = call->host->list_size(call->ctx, call->inputs[0])};
  (void)stage, (void)begin, (void)end, (void)worker;
  if (j.n < 1) return call->host->fail(call->ctx, TN_ERR_INVALID, "the sequence is empty");
  tn_status s = measure(&j);
  if (!s) s = call->host->output_resize(call->ctx, 0, j.rank, j.shape);
  int64_t at = 0;
  for (int64_t k = 0; k < j.n && !s; k++) {
    s = place(&j, item(&j, k), at);
    at += extent(&j, item(&j, k));
  }
  return s;
}
