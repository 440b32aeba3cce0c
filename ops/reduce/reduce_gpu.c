/* Reductions on GPUs: a result a thread, or a group of threads where there are few results of many
 * terms. Dims are merged first; there may be three that are kept and three that are summed up. */
#ifdef TN_GPU
#define WALK(i, d1, d2, s0, s1, s2) \
  ((i) / ((d1) * (d2)) * (s0) + (i) / (d2) % (d1) * (s1) + (i) % (d2) * (s2))

/* KIND 0: sum, 1: mean, 2: largest, 3: least, 4: product, 5: of magnitudes, 6: root of squares, 7:
 * squares, 8: logarithm of the sum, 9: of the exponentials. */
float first_term(int kind) {
  return kind == 2 || kind == 9 ? -INFINITY : kind == 3 ? INFINITY : kind == 4 ? 1.0f : 0.0f;
}

float join(int kind, float y, float x) {
  if (kind == 4) return y * x;
  if (kind == 3) return x < y || IS_NAN(x) ? x : y;
  return x > y || IS_NAN(x) ? x : y; /* of 9, first the largest */
}

float term(int kind, float x) { return kind == 5 ? fabs(x) : kind == 6 || kind == 7 ? x * x : x; }

#define IS_SUM(kind) ((kind) < 2 || ((kind) > 4 && (kind) < 9))

/* Sums keep what roundings leave out: models take small differences of large sums. */
#define ADD(y, rest, x)                                            \
  {                                                                \
    float x_ = (x), s_ = (y) + x_;                                 \
    rest += fabs(y) >= fabs(x_) ? ((y)-s_) + x_ : (x_ - s_) + (y); \
    (y) = s_;                                                      \
  }
float with_rest(float y, float rest) { return fabs(y) < INFINITY ? y + rest : y; }

#define TAKE(kind, y, rest, x) \
  {                            \
    float t_ = (x);            \
    if (IS_SUM(kind))          \
      ADD(y, rest, t_)         \
    else                       \
      (y) = join(kind, y, t_); \
  }

float last_step(int kind, float y, int n) {
  if (kind == 1 && n == 0) return BITS_TO_FLOAT(0x7fc00000);
  return kind == 1 ? y / TO_FLOAT(n) : kind == 6 ? sqrt(y) : kind == 8 ? log(y) : y;
}

KERNEL(reduce, (IN(X), OUT(Y)),
       (CONST(KIND), INT(n), INT(terms), INTS(kd, 3), INTS(ks, 3), INTS(sd, 3), INTS(ss, 3)), 64, 1,
       1) {
  int i = GLOBAL(0);
  if (i < n) {
    int at = WALK(i, kd1, kd2, ks0, ks1, ks2);
    float y = first_term(KIND), rest = 0.0f;
    for (int j = 0; j < terms; j++)
      TAKE(KIND, y, rest, term(KIND, LD1(X, at + WALK(j, sd1, sd2, ss0, ss1, ss2))))
    if (KIND == 9) {
      float top = y > -INFINITY && y < INFINITY ? y : 0.0f, sum = 0.0f;
      for (int j = 0; j < terms; j++)
        ADD(sum, rest, exp(LD1(X, at + WALK(j, sd1, sd2, ss0, ss1, ss2)) - top))
      y = log(with_rest(sum, rest)) + top;
    }
    y = last_step(KIND, with_rest(y, KIND == 9 ? 0.0f : rest), terms);
    ST1(Y, i, y);
  }
}

/* Sums, products, the largest and the least of integers. */
KERNEL(reduce_int, (IN(X), OUT(Y)),
       (CONST(KIND), INT(n), INT(terms), INTS(kd, 3), INTS(ks, 3), INTS(sd, 3), INTS(ss, 3)), 64, 1,
       1) {
  int i = GLOBAL(0);
  if (i < n) {
    int at = WALK(i, kd1, kd2, ks0, ks1, ks2);
    i64 y = TO_I64(KIND == 4 ? 1 : 0);
    if (KIND == 2 || KIND == 3) y = LDL(X, at);
    for (int j = 0; j < terms; j++) {
      i64 x = LDL(X, at + WALK(j, sd1, sd2, ss0, ss1, ss2));
      if (KIND == 0) y += x;
      if (KIND == 4) y *= x;
      if (KIND == 2) y = x > y ? x : y;
      if (KIND == 3) y = x < y ? x : y;
    }
    STL(Y, i, y);
  }
}

KERNEL(reduce_row, (IN(X), OUT(Y)),
       (CONST(KIND), INT(n), INT(terms), INTS(kd, 3), INTS(ks, 3), INTS(sd, 3), INTS(ss, 3)), 64, 1,
       1) {
  LOCAL(float, part, 64);
  int i = GROUP(0), t = LOCAL_ID(0), at = WALK(i, kd1, kd2, ks0, ks1, ks2);
  float y = first_term(KIND), rest = 0.0f;
  for (int j = t; j < terms; j += 64)
    TAKE(KIND, y, rest, term(KIND, LD1(X, at + WALK(j, sd1, sd2, ss0, ss1, ss2))))
  part[t] = with_rest(y, rest);
  BARRIER();
  if (t == 0) {
    y = first_term(KIND);
    rest = 0.0f;
    for (int j = 0; j < 64; j++) TAKE(KIND, y, rest, part[j])
    y = last_step(KIND, with_rest(y, rest), terms);
    ST1(Y, i, y);
  }
}
#else
#include "reduction.h"
#include "tenon/experimental/gpu.h"

enum { DIMS = 3, FEW = 1024, LONG = 256, LOG_SUM_EXP = 9 };

static bool is_int(const tn_call *call) { return tn_dtype(call->inputs[0]->dtype)->is_int; }

/* Is a result the work of a group? Those of logarithms of sums walk twice, and are not. */
static bool is_in_groups(const tn_call *call, const reduction *r, bool walks_twice) {
  return tn_elements(call->outputs[0]) < FEW && r->summed.size >= LONG && !walks_twice &&
         !is_int(call);
}

static const char *refuse(const tn_call *call, bool walks_twice) {
  reduction r;
  if (reduction_make(call, &r)) return "its axes are not constant, or do not fit";
  if (r.kept.rank > DIMS || r.summed.rank > DIMS)
    return "has more than three dims to keep, or to sum up, that do not merge";
  if (is_int(call) && !r.summed.size) return "has no integers to sum up";
  const char *reason = tn_gpu_refuse_size(call);
  if (reason) return reason;
  if (is_in_groups(call, &r, walks_twice))
    return tn_gpu_refuse_rounds(call, tn_ceil_div(r.summed.size, 64) + 64);
  return tn_gpu_refuse_rounds(call, (walks_twice ? 2 : 1) * r.summed.size);
}

const char *reduce_gpu_refuse(const tn_call *call) { return refuse(call, false); }
const char *reduce_log_sum_exp_gpu_refuse(const tn_call *call) { return refuse(call, true); }

static void add_walk(tn_gpu *g, const walk *w) {
  for (int32_t k = 0; k < DIMS; k++)
    tn_gpu_int(g, k < DIMS - w->rank ? 1 : w->dims[k - (DIMS - w->rank)]);
  for (int32_t k = 0; k < DIMS; k++)
    tn_gpu_int(g, k < DIMS - w->rank ? 0 : w->strides[k - (DIMS - w->rank)]);
}

static tn_status record(const tn_call *call, tn_recorder *recorder, int32_t kind) {
  reduction r;
  tn_gpu g;
  const tn_status status = reduction_make(call, &r);
  if (status) return status;
  const int64_t n = tn_elements(call->outputs[0]);
  const bool in_groups = is_in_groups(call, &r, kind == LOG_SUM_EXP);
  tn_gpu_begin(&g, call, is_int(call) ? GPU_reduce_int : in_groups ? GPU_reduce_row : GPU_reduce);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, kind);
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, r.summed.size);
  add_walk(&g, &r.kept);
  add_walk(&g, &r.summed);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, in_groups ? 1 : 64), 1, 1);
}

#define REDUCE(op, kind)                                                           \
  tn_status reduce_##op##_gpu_record(const tn_call *call, tn_recorder *recorder) { \
    return record(call, recorder, kind);                                           \
  }
REDUCE(sum, 0)
REDUCE(mean, 1)
REDUCE(max, 2)
REDUCE(min, 3)
REDUCE(prod, 4)
REDUCE(l1, 5)
REDUCE(l2, 6)
REDUCE(sum_square, 7)
REDUCE(log_sum, 8)
REDUCE(log_sum_exp, 9)
#endif
