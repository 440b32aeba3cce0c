/* TopK on GPUs. In long rows a group of threads finds the K-th best element bit by bit, from the
 * highest on, and lists the K elements that are not worse; then each of these finds its place by
 * counting what is better. In short ones, and of integers of 64 bits, each element counts at once.
 * Of equal elements the first is better; NaN is above all numbers. */
#ifdef TN_GPU
/* Numbers in the order of the floats. */
int key_of(float x) {
  if (IS_NAN(x)) return 2147483647;
  int bits = FLOAT_TO_BITS(x == 0.0f ? 0.0f : x);
  return bits < 0 ? -(bits & 2147483647) : bits;
}

/* The larger the better. -1 - key turns the order around. */
#define KEY(at) (IS_INT != 0 ? LDI(X, at) : key_of(LD1(X, at)))
#define BETTER(at) (LARGEST != 0 ? KEY(at) : -1 - KEY(at))

KERNEL(top_k_find, (IN(X), OUT(C)), (CONST(IS_INT), CONST(LARGEST), INT(n), INT(inner), INT(k)), 64,
       1, 1) {
  LOCAL(int, above, 64);
  LOCAL(int, equal, 64);
  int row = GROUP(0), t = LOCAL_ID(0), base = row / inner * inner * n + row % inner;
  int least = 0, more = 0, same = 0;
  for (int bit = 31; bit >= 0; bit--) { /* the largest number that K elements reach */
    int wanted = bit == 31 ? 0 : least + (1 << bit), count = 0;
    for (int i = t; i < n; i += 64) count += BETTER(base + i * inner) >= wanted ? 1 : 0;
    above[t] = count;
    BARRIER();
    count = 0;
    for (int i = 0; i < 64; i++) count += above[i];
    BARRIER();
    if (count >= k)
      least = wanted;
    else if (bit == 31)
      least = -2147483647 - 1;
  }
  int per = (n + 63) / 64, end = (t + 1) * per < n ? (t + 1) * per : n;
  for (int i = t * per; i < end; i++) {
    int b = BETTER(base + i * inner);
    more += b > least ? 1 : 0;
    same += b == least ? 1 : 0;
  }
  above[t] = more;
  equal[t] = same;
  BARRIER();
  int room = k, to = 0, ties = 0;
  for (int i = 0; i < 64; i++) {
    room -= above[i];
    if (i < t) {
      to += above[i];
      ties += equal[i];
    }
  }
  to += ties < room ? ties : room;
  for (int i = t * per; i < end; i++) {
    int b = BETTER(base + i * inner);
    if (b > least || (b == least && ties < room)) {
      STI(C, row * k + to, i);
      to += 1;
    }
    ties += b == least ? 1 : 0;
  }
}

KERNEL(top_k_place, (IN(X), IN(C), OUT(V), OUT(Y)),
       (CONST(IS_INT), CONST(LARGEST), CONST(HAS_V), CONST(HAS_Y), INT(count), INT(n), INT(inner),
        INT(k)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < count) {
    int row = i / k, base = row / inner * inner * n + row % inner, at = LDI(C, i), rank = 0;
    int own = BETTER(base + at * inner);
    for (int j = 0; j < k; j++) {
      int b = BETTER(base + LDI(C, row * k + j) * inner);
      rank += b > own || (b == own && row * k + j < i) ? 1 : 0;
    }
    int to = (row / inner * k + rank) * inner + row % inner;
    if (HAS_V != 0) {
      MOVE(V, to, X, base + at * inner);
    }
    if (HAS_Y != 0) {
      STI(Y, to, at);
    }
  }
}

KERNEL(top_k_rank, (IN(X), OUT(V), OUT(Y)),
       (CONST(IS_INT), CONST(LARGEST), CONST(HAS_V), CONST(HAS_Y), INT(count), INT(n), INT(inner),
        INT(k)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < count) {
    int outer = i / inner / n, at = i / inner % n, base = i - at * inner, rank = 0;
    int own = BETTER(i);
    for (int j = 0; j < n; j++) {
      int b = BETTER(base + j * inner);
      rank += b > own || (b == own && j < at) ? 1 : 0;
    }
    int to = (outer * k + rank) * inner + i % inner;
    if (rank < k && HAS_V != 0) {
      MOVE(V, to, X, i);
    }
    if (rank < k && HAS_Y != 0) {
      STI(Y, to, at);
    }
  }
}

KERNEL(top_k_rank_long, (IN(X), OUT(V), OUT(Y)),
       (CONST(LARGEST), CONST(HAS_V), CONST(HAS_Y), INT(count), INT(n), INT(inner), INT(k)), 64, 1,
       1) {
  int i = GLOBAL(0);
  if (i < count) {
    int outer = i / inner / n, at = i / inner % n, base = i - at * inner, rank = 0;
    i64 own = LDL(X, i);
    for (int j = 0; j < n; j++) {
      i64 b = LDL(X, base + j * inner);
      rank += (LARGEST != 0 ? b > own : b < own) || (b == own && j < at) ? 1 : 0;
    }
    int to = (outer * k + rank) * inner + i % inner;
    if (rank < k && HAS_V != 0) {
      MOVE(V, to, X, i);
    }
    if (rank < k && HAS_Y != 0) {
      STI(Y, to, at);
    }
  }
}
#else
#include "gather.gen.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/axis.h"
#include "tenon/kit/infer.h"

/* How many K are: of the output that is there. */
static int64_t k_of(const tn_call *call) {
  const tn_tensor *y = tn_has_output(call, 0) ? call->outputs[0] : call->outputs[1];
  return tn_axis_view_of(y, ((const tn_top_k_attrs *)call->attrs)->axis).n;
}

static tn_axis_view view_of(const tn_call *call) {
  return tn_axis_view_of(call->inputs[0], ((const tn_top_k_attrs *)call->attrs)->axis);
}

enum { MAX_LONG = 8192, MAX_SHORT = 128 }; /* elements of a row that count what is better */

static bool is_long(const tn_call *call) { return call->inputs[0]->dtype == TN_I64; }

static bool is_ranked(const tn_call *call) { return is_long(call) || view_of(call).n <= MAX_SHORT; }

/* Of top_k_find's loops: 32 for the bits, and two to list what is found. */
static int64_t rounds_of(int64_t n) { return 34 * tn_ceil_div(n, 64) + 33 * 64; }

const char *top_k_gpu_refuse(const tn_call *call) {
  const tn_device_info *info = call->device;
  if (is_long(call) && view_of(call).n > MAX_LONG) return "orders up to 8192 integers of 64 bits";
  if (is_ranked(call)) return tn_gpu_refuse_size(call);
  if (!(info && info->units) && rounds_of(view_of(call).n) > TN_GPU_ROUNDS)
    return "looks through so many elements on GPUs only";
  if (k_of(call) > TN_GPU_ROUNDS) return "finds up to 65535 elements";
  return tn_gpu_refuse_size(call);
}

tn_status top_k_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  if (is_ranked(call)) return TN_OK;
  const uint64_t rows = (uint64_t)tn_axis_rows(view_of(call));
  return tn_mul_u64(rows * sizeof(int32_t), (uint64_t)k_of(call), &out->scratch_bytes)
             ? TN_ERR_OVERFLOW
             : TN_OK;
}

static void add_outputs(tn_gpu *g, const tn_call *call) {
  for (uint32_t output = 0; output < 2; output++) {
    if (tn_has_output(call, output))
      tn_gpu_out(g, (int32_t)output);
    else
      tn_gpu_none(g);
  }
}

static void add_order(tn_gpu *g, const tn_call *call, int32_t program) {
  if (program != GPU_top_k_rank_long) tn_gpu_const(g, tn_dtype(call->inputs[0]->dtype)->is_int);
  tn_gpu_const(g, ((const tn_top_k_attrs *)call->attrs)->largest != 0);
}

/* The last params of programs that write outputs. */
static void add_places(tn_gpu *g, const tn_call *call, int64_t count, int64_t k) {
  const tn_axis_view v = view_of(call);
  for (uint32_t output = 0; output < 2; output++) tn_gpu_const(g, tn_has_output(call, output));
  tn_gpu_int(g, count);
  tn_gpu_int(g, v.n);
  tn_gpu_int(g, v.inner);
  tn_gpu_int(g, k);
}

static tn_status rank(const tn_call *call, tn_recorder *recorder, int64_t k) {
  const int32_t program = is_long(call) ? GPU_top_k_rank_long : GPU_top_k_rank;
  const int64_t count = tn_elements(call->inputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, program);
  tn_gpu_in(&g, 0);
  add_outputs(&g, call);
  add_order(&g, call, program);
  add_places(&g, call, count, k);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(count, 64), 1, 1);
}

static tn_status find(const tn_call *call, tn_recorder *recorder, int64_t k) {
  const tn_axis_view v = view_of(call);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_top_k_find);
  tn_gpu_in(&g, 0);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_I32, 0, 0);
  add_order(&g, call, GPU_top_k_find);
  tn_gpu_int(&g, v.n);
  tn_gpu_int(&g, v.inner);
  tn_gpu_int(&g, k);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(tn_axis_rows(v), 1), 1, 1);
}

static tn_status place(const tn_call *call, tn_recorder *recorder, int64_t k) {
  const int64_t count = tn_axis_rows(view_of(call)) * k;
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_top_k_place);
  tn_gpu_in(&g, 0);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_I32, 0, 0);
  add_outputs(&g, call);
  add_order(&g, call, GPU_top_k_place);
  add_places(&g, call, count, k);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(count, 64), 1, 1);
}

tn_status top_k_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const int64_t k = k_of(call);
  if (tn_axis_rows(view_of(call)) == 0 || k == 0) return TN_OK;
  if (is_ranked(call)) return rank(call, recorder, k);
  const tn_status status = find(call, recorder, k);
  return status ? status : place(call, recorder, k);
}
#endif
