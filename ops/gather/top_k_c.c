/* TopK, portable, for all dtypes: a heap of the k best seen so far, the worst of them on top, is
 * then sorted; where k is a large part of all, all are. Elements are compared as unsigned keys in
 * which larger is better. */
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
  uint64_t key;
  switch (in->dtype) {
    case TN_F32: key = f32_key(in->data, k); break;
    case TN_F64: key = order_key_f64(((const double *)in->data)[k]); break;
    case TN_I64: key = ((const uint64_t *)in->data)[k] ^ UINT64_C(1) << 63; break;
    default: key = order_key(in->dtype, in->data, k);
  }
  return largest ? key : ~key;
}

enum { BLOCK = 32 };

/* The next element from i on, `step` apart, that is not behind or with the one at `worst`; n: none
 * is. Blocks of elements that all are go in vectors, where four or more fit into one. Nothing is
 * behind NaN here, so that NaN is always found. */
#define NEXT(T)                                                                                    \
  static bool all_behind_##T(const T *x, T bound, bool largest) {                                  \
    int32_t all = 1;                                                                               \
    if (largest)                                                                                   \
      for (int i = 0; i < BLOCK; i++) all &= x[i] <= bound;                                        \
    else                                                                                           \
      for (int i = 0; i < BLOCK; i++) all &= x[i] >= bound;                                        \
    return all != 0;                                                                               \
  }                                                                                                \
  static int64_t next_##T(const T *x, int64_t step, int64_t i, int64_t n, int64_t worst,           \
                          bool largest) {                                                          \
    const T bound = x[worst * step];                                                               \
    while (sizeof(T) == 4 && step == 1 && i + BLOCK <= n && all_behind_##T(x + i, bound, largest)) \
      i += BLOCK;                                                                                  \
    if (largest)                                                                                   \
      while (i < n && x[i * step] <= bound) i++;                                                   \
    else                                                                                           \
      while (i < n && x[i * step] >= bound) i++;                                                   \
    return i;                                                                                      \
  }
NEXT(float)
NEXT(double)
NEXT(int32_t)
NEXT(int64_t)

static int64_t next_of(const tn_tensor *in, int64_t base, int64_t step, int64_t i, int64_t n,
                       int64_t worst, bool largest) {
  switch (in->dtype) {
    case TN_F32: return next_float((const float *)in->data + base, step, i, n, worst, largest);
    case TN_F64: return next_double((const double *)in->data + base, step, i, n, worst, largest);
    case TN_I32: return next_int32_t((const int32_t *)in->data + base, step, i, n, worst, largest);
    case TN_I64: return next_int64_t((const int64_t *)in->data + base, step, i, n, worst, largest);
    default: return i;
  }
}

/* The k best of n as a heap. */
static void select_best(const tn_tensor *in, int64_t base, int64_t step, int64_t n, bool largest,
                        candidate *heap, int64_t k) {
  for (int64_t i = 0; i < k; i++) heap[i] = (candidate){key_at(in, base + i * step, largest), i};
  for (int64_t j = k / 2 - 1; j >= 0; j--) sift_down(heap, k, j);
  for (int64_t i = k; i < n; i++) {
    i = next_of(in, base, step, i, n, heap[0].index, largest);
    if (i == n) break;
    const candidate c = {key_at(in, base + i * step, largest), i};
    if (!worse(heap[0], c)) continue;
    heap[0] = c;
    sift_down(heap, k, 0);
  }
}

/* Takes the worst off, again and again, to the end. */
static void sort_heap(candidate *heap, int64_t k) {
  for (int64_t left = k - 1; left > 0; left--) {
    candidate c = heap[0];
    heap[0] = heap[left];
    heap[left] = c;
    sift_down(heap, left, 0);
  }
}

/* One pass of a radix sort, from a to b: by a byte of the keys, largest first, or of the indices,
 * smallest first. */
static void sort_pass(const candidate *a, candidate *b, int64_t n, int shift, bool by_index) {
  int64_t at[256] = {0}, sum = 0;
#define DIGIT(c) (by_index ? (uint64_t)(c).index >> shift & 255 : ~(c).key >> shift & 255)
  for (int64_t i = 0; i < n; i++) at[DIGIT(a[i])]++;
  for (int d = 0; d < 256; d++) {
    const int64_t count = at[d];
    at[d] = sum;
    sum += count;
  }
  for (int64_t i = 0; i < n; i++) b[at[DIGIT(a[i])]++] = a[i];
#undef DIGIT
}

/* Sorts c[0..n), best first; answers where it is: c, or room, which is as large. Bytes in which all
 * are alike take no pass. in_order: the indices are sorted already. */
static candidate *sort_all(candidate *c, candidate *room, int64_t n, bool in_order) {
  uint64_t keys = 0, indices = 0;
  for (int64_t i = 1; i < n; i++) {
    keys |= c[i].key ^ c[0].key;
    indices |= (uint64_t)c[i].index ^ (uint64_t)c[0].index;
  }
  for (int pass = in_order ? 8 : 0; pass < 16; pass++) {
    const bool by_index = pass < 8;
    const int shift = pass % 8 * 8;
    if (((by_index ? indices : keys) >> shift & 255) == 0) continue;
    sort_pass(c, room, n, shift, by_index);
    candidate *sorted = room;
    room = c;
    c = sorted;
  }
  return c;
}

/* Many of all: it is as fast to sort all of them. */
static bool takes_most(int64_t k, int64_t n) { return k >= n / 16 && k >= 32; }

enum { MANY = 64 }; /* from here on, a radix sort is faster than a heap */

/* The k best, best first, in `room` or behind it. */
static const candidate *best_of(const tn_tensor *in, int64_t base, int64_t step, int64_t n,
                                bool largest, candidate *room, int64_t k) {
  if (takes_most(k, n)) {
    for (int64_t i = 0; i < n; i++) room[i] = (candidate){key_at(in, base + i * step, largest), i};
    return sort_all(room, room + n, n, true);
  }
  select_best(in, base, step, n, largest, room, k);
  if (k >= MANY) return sort_all(room, room + k, k, false);
  sort_heap(room, k);
  return room;
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
  out->worker_scratch_bytes =
      2 * (uint64_t)(takes_most(k, u.size) ? u.size : k) * sizeof(candidate);
  return TN_OK;
}

tn_status top_k_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                  uint32_t worker) {
  const tn_top_k_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int32_t axis = axis_of(call);
  around u = around_axis(in, axis);
  int64_t k = k_of(call, axis);
  candidate *room =
      (candidate *)(void *)((uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes);
  rows r = {.call = call, .output = 0, .bytes = rows_element_bytes(in->dtype)};
  tn_status s = TN_OK;
  (void)stage;
  for (int64_t lane = begin; lane < end && !s; lane++) {
    int64_t base = lane / u.after * u.size * u.after + lane % u.after,
            to = lane / u.after * k * u.after + lane % u.after;
    const candidate *best = best_of(in, base, u.after, u.size, a->largest != 0, room, k);
    for (int64_t j = 0; j < k && !s; j++) {
      if (tn_has_output(call, 0))
        s = rows_copy(&r, to + j * u.after, in, base + best[j].index * u.after, 1);
      if (tn_has_output(call, 1))
        ((int64_t *)call->outputs[1]->data)[to + j * u.after] = best[j].index;
    }
  }
  return s;
}
