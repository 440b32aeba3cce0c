/* Portable reductions. Where the innermost dim is kept, an item is a row of outputs that all terms
 * are added to; else an item is one output, and its terms are neighbours that are gathered in
 * several partial results. Integers wrap. */
#include <math.h>

#include "reduction.h"
#include "tenon/kit/axis.h"
#include "tenon/kit/element.h"
#include "tenon/kit/vmath.h"

/* Partial results of one output; outputs of fewer terms in a row that are made side by side. */
enum { PARTS = 32, SIDE = 8 };

tn_status reduce_plan(const tn_call *call, tn_kernel_plan *out) {
  reduction r;
  tn_status s = reduction_make(call, &r);
  if (s) return s;
  int64_t row = r.inner_kept ? r.kept.dims[r.kept.rank - 1] : 1;
  out->items[0] = row ? r.kept.size / row : 0;
  out->elements_per_item = row;
  out->grain[0] = tn_grain(10000, (double)row * (double)r.summed.size);
  out->cost_ns = (double)r.kept.size * (double)r.summed.size / 4 + 200;
  return TN_OK;
}

/* How terms of one type become sums, products or whatever it is: a row of outputs; one output; SIDE
 * of few neighbours each. */
typedef struct folder {
  size_t bytes; /* of an element */
  void (*row)(const reduction *r, const void *x, void *y, int64_t row);
  void (*one)(const runs *u, const void *x, void *y);
  void (*side)(const reduction *r, const runs *u, const void *x, int64_t first, void *y);
} folder;

/* What becomes of n of these, of so many terms each. */
typedef void (*finish_fn)(void *y, int64_t n, int64_t terms);

static tn_status reduce_run(const tn_call *call, int64_t begin, int64_t end, const folder *f,
                            finish_fn finish) {
  reduction r;
  tn_status s = reduction_make(call, &r);
  if (s) return s;
  const runs u = runs_of(&r.summed);
  const char *x = call->inputs[0]->data;
  const int64_t row = r.inner_kept ? r.kept.dims[r.kept.rank - 1] : 1, bytes = (int64_t)f->bytes;
  char *y = (char *)call->outputs[0]->data;
  int64_t item = begin;
  for (; !r.inner_kept && u.length < PARTS && item + SIDE <= end; item += SIDE)
    f->side(&r, &u, x, item, y + item * bytes);
  for (; item < end; item++) {
    const char *from = x + walk_offset(&r.kept, item * row) * bytes;
    char *to = y + item * row * bytes;
    if (r.inner_kept)
      f->row(&r, from, to, row);
    else
      f->one(&u, from, to);
  }
  if (finish) finish(y + begin * row * bytes, (end - begin) * row, r.summed.size);
  return TN_OK;
}

#define FOLD(name, T, START, STEP, JOIN)                                                       \
  static void name##_row(const reduction *r, const void *in, void *out, int64_t row) {         \
    T *restrict y = out;                                                                       \
    for (int64_t j = 0; j < row; j++) y[j] = START;                                            \
    for (int64_t k = 0; k < r->summed.size; k++) {                                             \
      const T *restrict from = (const T *)in + walk_at(&r->summed, k);                         \
      for (int64_t j = 0; j < row; j++) {                                                      \
        T a = y[j], v = from[j];                                                               \
        STEP;                                                                                  \
        y[j] = a;                                                                              \
      }                                                                                        \
    }                                                                                          \
  }                                                                                            \
  static void name##_parts(const T *x, T *part) {                                              \
    TN_IVDEP for (int p = 0; p < PARTS; p++) {                                                 \
      const T v = x[p];                                                                        \
      T a = part[p];                                                                           \
      STEP;                                                                                    \
      part[p] = a;                                                                             \
    }                                                                                          \
  }                                                                                            \
  static void name##_one(const runs *u, const void *in, void *out) {                           \
    const bool in_parts = u->length >= PARTS;                                                  \
    T part[PARTS], a = START;                                                                  \
    for (int p = 0; p < PARTS && in_parts; p++) part[p] = START;                               \
    for (int64_t k = 0; k < u->n; k++) {                                                       \
      const T *from = (const T *)in + walk_offset(&u->outer, k);                               \
      int64_t j = 0;                                                                           \
      for (; j + PARTS <= u->length; j += PARTS) name##_parts(from + j, part);                 \
      for (; j < u->length; j++) {                                                             \
        const T v = from[j];                                                                   \
        STEP;                                                                                  \
      }                                                                                        \
    }                                                                                          \
    for (int half = PARTS / 2; half >= 8 && in_parts; half /= 2)                               \
      for (int p = 0; p < half; p++) part[p] = JOIN(part[p + half], part[p]);                  \
    for (int p = 0; p < 8 && in_parts; p++) a = JOIN(part[p], a);                              \
    *(T *)out = a;                                                                             \
  }                                                                                            \
  static void name##_side(const reduction *r, const runs *u, const void *in, int64_t first,    \
                          void *out) {                                                         \
    const T *from[SIDE];                                                                       \
    T part[SIDE];                                                                              \
    for (int p = 0; p < SIDE; p++) from[p] = (const T *)in + walk_offset(&r->kept, first + p); \
    for (int p = 0; p < SIDE; p++) part[p] = START;                                            \
    for (int64_t k = 0; k < u->n; k++) {                                                       \
      const int64_t at = walk_offset(&u->outer, k);                                            \
      for (int64_t j = at; j < at + u->length; j++) {                                          \
        for (int p = 0; p < SIDE; p++) {                                                       \
          const T v = from[p][j];                                                              \
          T a = part[p];                                                                       \
          STEP;                                                                                \
          part[p] = a;                                                                         \
        }                                                                                      \
      }                                                                                        \
    }                                                                                          \
    for (int p = 0; p < SIDE; p++) ((T *)out)[p] = part[p];                                    \
  }                                                                                            \
  static const folder name = {sizeof(T), name##_row, name##_one, name##_side};

#define REDUCE(name, fold, finish)                                                \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                    \
    return reduce_run(call, begin, end, &fold, finish);                           \
  }

/* y[j] becomes DONE(y[j], number of terms). */
#define FINISH(name, T, DONE)                                    \
  static void name(void *out, int64_t n, int64_t terms) {        \
    T *y = out;                                                  \
    (void)terms;                                                 \
    for (int64_t j = 0; j < n; j++) y[j] = DONE(y[j], (T)terms); \
  }

#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))

/* Sums and products; integers in unsigned arithmetic of their width, whether they have a sign or
 * not. */
#define SUMS(type, T)                     \
  FOLD(total_##type, T, 0, a += v, ADD)   \
  FOLD(product_##type, T, 1, a *= v, MUL) \
  FOLD(squares_##type, T, 0, a += v * v, ADD)
SUMS(f32, float)
SUMS(f64, double)
SUMS(u32, uint32_t)
SUMS(u64, uint64_t)

#define SUM_KERNELS(type, of)                        \
  REDUCE(reduce_sum_##type##_c, total_##of, NULL)    \
  REDUCE(reduce_prod_##type##_c, product_##of, NULL) \
  REDUCE(reduce_sum_square_##type##_c, squares_##of, NULL)
SUM_KERNELS(f32, f32)
SUM_KERNELS(f64, f64)
SUM_KERNELS(i32, u32)
SUM_KERNELS(i64, u64)

#define DIVIDE_FLOAT(a, n) ((a) / (n))
#define DIVIDE_INT(a, n) ((n) ? (a) / (n) : 0) /* the mean of nothing */
#define MEAN(type, T, of, DIVIDE)  \
  FINISH(divide_##type, T, DIVIDE) \
  REDUCE(reduce_mean_##type##_c, total_##of, divide_##type)
MEAN(f32, float, f32, DIVIDE_FLOAT)
MEAN(f64, double, f64, DIVIDE_FLOAT)
MEAN(i32, int32_t, u32, DIVIDE_INT)
MEAN(i64, int64_t, u64, DIVIDE_INT)
MEAN(u32, uint32_t, u32, DIVIDE_INT)
MEAN(u64, uint64_t, u64, DIVIDE_INT)

/* NaN wins. In two steps, so that only NaN needs a branch. */
#define EXTREMES(type, T, LOWEST, HIGHEST)                         \
  static inline T max_##type(T v, T a) {                           \
    const T larger = v > a ? v : a;                                \
    return v == v ? larger : v;                                    \
  }                                                                \
  static inline T min_##type(T v, T a) {                           \
    const T smaller = v < a ? v : a;                               \
    return v == v ? smaller : v;                                   \
  }                                                                \
  FOLD(most_##type, T, LOWEST, a = max_##type(v, a), max_##type)   \
  FOLD(least_##type, T, HIGHEST, a = min_##type(v, a), min_##type) \
  REDUCE(reduce_max_##type##_c, most_##type, NULL)                 \
  REDUCE(reduce_min_##type##_c, least_##type, NULL)
EXTREMES(f32, float, -INFINITY, INFINITY)
EXTREMES(f64, double, -(double)INFINITY, (double)INFINITY)
EXTREMES(i8, int8_t, INT8_MIN, INT8_MAX)
EXTREMES(i32, int32_t, INT32_MIN, INT32_MAX)
EXTREMES(i64, int64_t, INT64_MIN, INT64_MAX)
EXTREMES(u8, uint8_t, 0, UINT8_MAX) /* maxima of bool, too */
EXTREMES(u32, uint32_t, 0, UINT32_MAX)
EXTREMES(u64, uint64_t, 0, UINT64_MAX)
#define TRUE_AT_MOST(a, n) min_u8(a, 1) /* of nothing: true */
FINISH(finish_bool, uint8_t, TRUE_AT_MOST)
REDUCE(reduce_min_bool_c, least_u8, finish_bool)

/* Norms and logarithms: integers are computed in f64. Rows would round between steps, so integers
 * use f64 outputs' room: they always go one by one (see NORMS_INT). */
#define NORMS(type, T, ABS, SQRT, LOG)                      \
  FOLD(sizes_##type, T, 0, a += ABS(v), ADD)                \
  FINISH(root_##type, T, SQRT)                              \
  FINISH(log_##type, T, LOG)                                \
  REDUCE(reduce_l1_##type##_c, sizes_##type, NULL)          \
  REDUCE(reduce_l2_##type##_c, squares_##type, root_##type) \
  REDUCE(reduce_log_sum_##type##_c, total_##type, log_##type)
#define SQRT_f32(a, n) sqrtf(a)
#define SQRT_f64(a, n) sqrt(a)
#define LOG_f32(a, n) logf(a)
#define LOG_f64(a, n) log(a)
NORMS(f32, float, fabsf, SQRT_f32, LOG_f32)
NORMS(f64, double, fabs, SQRT_f64, LOG_f64)

/* One output at a time, in f64, whatever the order of dims. */
typedef struct outputs {
  reduction r;
  runs u;
  int64_t row;
} outputs;

static tn_status outputs_make(const tn_call *call, outputs *o) {
  tn_status s = reduction_make(call, &o->r);
  if (s) return s;
  o->u = runs_of(&o->r.summed);
  o->row = o->r.inner_kept ? o->r.kept.dims[o->r.kept.rank - 1] : 1;
  return TN_OK;
}

/* Integers are stored as the reference stores them: -inf and NaN, of a logarithm, as 0. */
#define ONE_BY_ONE(name, T, EXPRESSION)                                           \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                    \
    outputs o;                                                                    \
    tn_status s = outputs_make(call, &o);                                         \
    tn_tensor *y = call->outputs[0];                                              \
    for (int64_t k = begin * o.row; !s && k < end * o.row; k++) {                 \
      const T *x = (const T *)call->inputs[0]->data + walk_offset(&o.r.kept, k);  \
      tn_store_f64(y->dtype, y->data, k, EXPRESSION);                             \
    }                                                                             \
    return s;                                                                     \
  }

#define GATHER(type, T, ABS)                                                                   \
  static double sum_##type(const runs *u, const T *x, int power, double shift, int with_exp) { \
    double sum = 0;                                                                            \
    for (int64_t k = 0; k < u->n; k++) {                                                       \
      const T *from = x + walk_offset(&u->outer, k);                                           \
      for (int64_t j = 0; j < u->length; j++) {                                                \
        double v = (double)from[j * u->stride];                                                \
        sum += with_exp ? exp(v - shift) : power == 2 ? v * v : power == 1 ? ABS(v) : v;       \
      }                                                                                        \
    }                                                                                          \
    return sum;                                                                                \
  }                                                                                            \
  static double top_##type(const runs *u, const T *x) {                                        \
    double top = -(double)INFINITY;                                                            \
    for (int64_t k = 0; k < u->n; k++) {                                                       \
      const T *from = x + walk_offset(&u->outer, k);                                           \
      for (int64_t j = 0; j < u->length; j++) top = max_f64((double)from[j * u->stride], top); \
    }                                                                                          \
    return top;                                                                                \
  }                                                                                            \
  static double log_sum_exp_##type(const runs *u, const T *x) {                                \
    double top = top_##type(u, x), shift = isfinite(top) ? top : 0;                            \
    return shift + log(sum_##type(u, x, 0, shift, 1));                                         \
  }                                                                                            \
  ONE_BY_ONE(reduce_log_sum_exp_##type##_c, T, log_sum_exp_##type(&o.u, x))
GATHER(f32, float, fabs)
GATHER(f64, double, fabs)

#define NORMS_INT(type, T, ABS)                                           \
  GATHER(type, T, ABS)                                                    \
  ONE_BY_ONE(reduce_l1_##type##_c, T, sum_##type(&o.u, x, 1, 0, 0))       \
  ONE_BY_ONE(reduce_l2_##type##_c, T, sqrt(sum_##type(&o.u, x, 2, 0, 0))) \
  ONE_BY_ONE(reduce_log_sum_##type##_c, T, log(sum_##type(&o.u, x, 0, 0, 0)))
NORMS_INT(i32, int32_t, fabs)
NORMS_INT(i64, int64_t, fabs)
NORMS_INT(u32, uint32_t, fabs)
NORMS_INT(u64, uint64_t, fabs)

/* ---- ArgMax, ArgMin ---- */

static tn_axis_view arg_view(const tn_call *call) {
  return tn_axis_view_of(call->inputs[0], ((const tn_arg_max_attrs *)call->attrs)->axis);
}

tn_status arg_plan(const tn_call *call, tn_kernel_plan *out) {
  tn_axis_view s = arg_view(call);
  out->items[0] = tn_axis_rows(s);
  out->elements_per_item = 1;
  out->grain[0] = tn_grain(5000, (double)s.n);
  return TN_OK;
}

#define ARG(T)                                                         \
  for (int64_t k = begin; k < end; k++) {                              \
    const T *x = (const T *)call->inputs[0]->data + tn_axis_row(s, k); \
    int64_t best = 0;                                                  \
    for (int64_t j = 1; j < s.n; j++) {                                \
      T v = x[j * s.inner], b = x[best * s.inner];                     \
      int is_beyond = v != v ? b == b : sign > 0 ? v > b : v < b;      \
      int is_equal = v == b || (v != v && b != b);                     \
      if (is_beyond || (last && is_equal)) best = j;                   \
    }                                                                  \
    y[k] = best;                                                       \
  }                                                                    \
  break

static tn_status arg(const tn_call *call, int64_t begin, int64_t end, int sign) {
  const tn_axis_view s = arg_view(call);
  const bool last = ((const tn_arg_max_attrs *)call->attrs)->select_last_index != 0;
  int64_t *y = call->outputs[0]->data;
  switch (call->inputs[0]->dtype) {
    case TN_F32: ARG(float);
    case TN_F64: ARG(double);
    case TN_I8: ARG(int8_t);
    case TN_I16: ARG(int16_t);
    case TN_I32: ARG(int32_t);
    case TN_I64: ARG(int64_t);
    case TN_U8: ARG(uint8_t);
    case TN_U16: ARG(uint16_t);
    case TN_U32: ARG(uint32_t);
    default: ARG(uint64_t);
  }
  return TN_OK;
}

tn_status arg_max_any_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  (void)stage, (void)worker;
  return arg(call, begin, end, 1);
}

tn_status arg_min_any_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  (void)stage, (void)worker;
  return arg(call, begin, end, -1);
}
