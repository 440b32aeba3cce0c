/* TopK, portable, for all dtypes: a heap of the k best seen so far, the worst of them on top; then
 * sorted by taking the worst off. Elements are compared as unsigned keys in which larger is better.
 */
#include "order.h"
#include "rows.h"

#include "gather.gen.h"

typedef struct candidate {
  uint64_t key;
  int64_t index;
} candidate;

static bool worse(candidate a, candidate b) {
  return a.key != b.key ? a.key < b.key : a.index > b.index;
}

static void sift_down(candidate *heap, int64_t n, int64_t at) {
  candidate x = heap[at];
  for (int64_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && worse(heap[child + 1], heap[child])) child++;
    if (!worse(heap[child], x)) break;
    heap[at] = heap[child];
  }
  heap[at] = x;
}

static uint64_t f32_key(const float *data, int64_t k) {
  float x = data[k];
  uint32_t bits;
  if (x != x) return UINT32_MAX;
  x += 0.0f; /* -0 */
  memcpy(&bits, &x, sizeof bits);
  return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

static uint64_t key_at(const tn_tensor *in, int64_t k, bool largest) {
  uint64_t key = in->dtype == TN_F32 ? f32_key(in->data, k) : order_key(in->dtype, in->data, k);
  return largest ? key : ~key;
}

static void select_lane(const tn_tensor *in, int64_t base, int64_t step, int64_t n, bool largest,
                        candidate *heap, int64_t k) {
  for (int64_t i = 0; i < n; i++) {
    candidate c = {key_at(in, base + i * step, largest), i};
    if (i < k) {
      heap[i] = c;
      if (i == k - 1)
        for (int64_t j = k / 2 - 1; j >= 0; j--) sift_down(heap, k, j);
    } else if (worse(heap[0], c)) {
      heap[0] = c;
      sift_down(heap, k, 0);
    }
  }
  for (int64_t left = k - 1; left > 0; left--) { /* the worst to the end */
    candidate c = heap[0];
    heap[0] = heap[left];
    heap[left] = c;
    sift_down(heap, left, 0);
  }
}

static int64_t k_of(const tn_call *call, int32_t axis) {
  return tn_has_output(call, 0) ? call->outputs[0]->shape[axis] : call->outputs[1]->shape[axis];
}

static int32_t axis_of(const tn_call *call) {
  const tn_top_k_attrs *a = call->attrs;
  return (int32_t)(a->axis < 0 ? a->axis + call->inputs[0]->rank : a->axis);
}

/* An item is a lane along the axis. */
tn_status top_k_plan(const tn_call *call, tn_kernel_plan *out) {
  int32_t axis = axis_of(call);
  around u = around_axis(call->inputs[0], axis);
  int64_t k = k_of(call, axis);
  out->items[0] = k > 0 ? u.before * u.after : 0;
  out->grain[0] = tn_max_i64(1, 2000 / tn_max_i64(1, u.size));
  out->worker_scratch_bytes = (uint64_t)k * sizeof(candidate);
  return TN_OK;
}

tn_status top_k_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                  uint32_t worker) {
  const tn_top_k_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int32_t axis = axis_of(call);
  around u = around_axis(in, axis);
  int64_t k = k_of(call, axis);
  candidate *heap =
      (candidate *)(void *)((uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes);
  rows r = {.call = call, .output = 0, .bytes = rows_element_bytes(in->dtype)};
  tn_status s = TN_OK;
  (void)stage;
  for (int64_t lane = begin; lane < end && !s; lane++) {
    int64_t base = lane / u.after * u.size * u.after + lane % u.after,
            to = lane / u.after * k * u.after + lane % u.after;
    select_lane(in, base, u.after, u.size, a->largest != 0, heap, k);
    for (int64_t j = 0; j < k && !s; j++) {
      if (tn_has_output(call, 0))
        s = rows_copy(&r, to + j * u.after, in, base + heap[j].index * u.after, 1);
      if (tn_has_output(call, 1))
        ((int64_t *)call->outputs[1]->data)[to + j * u.after] = heap[j].index;
    }
  }
  return s;
}
