/* SVDF: each filter keeps what it made in the last `memory` steps, [batch, filters * memory], and
 * weighs them; `rank` filters sum up to a unit. Of f32, or of 8 bits with states of 8 or 16, in the
 * integers of the built-in kernels. */
#include "lstm.h"
#include "tflite.gen.h"

enum { X, FEATURES, TIMES, UNIT_BIAS, STATE };

typedef struct svdf {
  tn_lowering t;
  int64_t batch, filters, memory, rank;
} svdf;

static bool has(const svdf *v, uint32_t k) {
  return k < v->t.call->n_inputs && tn_low_type(&v->t, k);
}

/* What is kept, with what is new behind it. */
static int32_t shifted(const svdf *v, int32_t now) {
  const int64_t cube[] = {v->batch, v->filters, v->memory}, column[] = {v->batch, v->filters, 1},
                from[] = {0, 0, 1};
  const int32_t old = tn_low_reshape(&v->t, tn_low_in(&v->t, STATE), 3, cube);
  const int32_t parts[] = {tfl_slice(&v->t, old, 3, from, cube, NULL),
                           tn_low_reshape(&v->t, now, 3, column)};
  return v->memory > 1 ? tfl_joined(&v->t, parts, 2, 2) : parts[1];
}

/* Sums over time, and of the filters of a unit: [batch, units]. */
static int32_t summed(const svdf *v, int32_t weighed) {
  const int64_t units[] = {v->batch, v->filters / v->rank, v->rank}, last = 2;
  const int32_t axes = tn_low_ints_const(&v->t, &last, 1), in[] = {weighed, axes};
  const tn_attr drops = tn_attr_int("keepdims", 0);
  const int32_t sums[] = {
      tn_low_reshape(&v->t, tn_low_emit(&v->t, "ReduceSum", in, 2, &drops, 1), 3, units), axes};
  return tn_low_emit(&v->t, "ReduceSum", sums, 2, &drops, 1);
}

static tn_status done(const svdf *v, int32_t y, int32_t kept) {
  const int64_t flat[] = {v->batch, v->filters * v->memory};
  const int32_t made[] = {y, tn_low_reshape(&v->t, kept, 2, flat)};
  return tn_low_done_many(&v->t, made, v->t.call->n_outputs < 2 ? v->t.call->n_outputs : 2);
}

/* ---- f32 ---- */

/* Weights of 8 bits become the numbers that they stand for. */
static int32_t weights(const svdf *v, uint32_t k) {
  const tn_tensor *w = tn_low_type(&v->t, k);
  const int32_t x = tn_low_in(&v->t, k);
  return w->dtype == TN_F32
             ? x
             : tn_low_dequantize(&v->t, x, w->dtype, tfl_scale(&v->t, k), tfl_zero(&v->t, k));
}

static tn_status of_numbers(const svdf *v) {
  const int32_t kept = shifted(v, tfl_by_weights(&v->t, tn_low_in(&v->t, X), FEATURES, TN_NO_ID));
  int32_t y = summed(v, tn_low_2(&v->t, "Mul", kept, weights(v, TIMES)));
  if (has(v, UNIT_BIAS)) y = tn_low_2(&v->t, "Add", y, tn_low_in(&v->t, UNIT_BIAS));
  return done(v, tfl_activation(&v->t, y, TN_F32), kept);
}

/* ---- codes ---- */

static tn_status of_codes(const svdf *v) {
  const tn_lowering *t = &v->t;
  const uint32_t y = tfl_y(t);
  const double scales[] = {tfl_scale(t, X) * tfl_scale(t, FEATURES) / tfl_scale(t, STATE),
                           tfl_scale(t, STATE) * tfl_scale(t, TIMES) / tfl_scale(t, y)};
  int64_t m[2], shifts[2], lo, hi;
  for (uint32_t k = 0; k < 2; k++) tfl_split_scale(scales[k], &m[k], &shifts[k]);
  tfl_code_bounds(t, TN_I8, &lo, &hi);
  const tn_attr attrs[] = {tn_attr_ints("multipliers", (tn_ints){m, 2}),
                           tn_attr_ints("shifts", (tn_ints){shifts, 2}),
                           tn_attr_int("rank", v->rank),
                           tn_attr_int("x_zero", tfl_zero(t, X)),
                           tn_attr_int("state_zero", tfl_zero(t, STATE)),
                           tn_attr_int("y_zero", tfl_zero(t, y)),
                           tn_attr_int("lo", lo),
                           tn_attr_int("hi", hi)};
  const int32_t in[] = {tn_low_in(t, X), tn_low_in(t, FEATURES), tn_low_in(t, TIMES),
                        has(v, UNIT_BIAS) ? tn_low_in(t, UNIT_BIAS) : TN_NO_ID,
                        tn_low_in(t, STATE)};
  int32_t made[2];
  const tn_status s = tn_low_emit_many(t, "tenon::FixedSvdf", in, 5, attrs, 8, 2, made);
  return s ? s : tn_low_done_many(t, made, t->call->n_outputs < 2 ? t->call->n_outputs : 2);
}

static bool are_codes(const svdf *v) {
  const uint32_t state = tn_low_type(&v->t, STATE)->dtype, times = tn_low_type(&v->t, TIMES)->dtype;
  bool are = tn_low_type(&v->t, X)->dtype == TN_I8 && (state == TN_I8 || state == TN_I16) &&
             times == state && tn_low_type(&v->t, FEATURES)->dtype == TN_I8 &&
             !tfl_zero(&v->t, FEATURES) && !tfl_zero(&v->t, TIMES) &&
             (state == TN_I8 || !tfl_zero(&v->t, STATE));
  for (uint32_t k = 0; k <= STATE; k++) are = are && (k == UNIT_BIAS || tfl_scale(&v->t, k) > 0);
  return are && tfl_scale(&v->t, tfl_y(&v->t)) > 0 && !tn_low_for_onnx(&v->t);
}

tn_status tflite_svdf(const tn_call *call, tn_graph *graph, int32_t node) {
  svdf v = {.t = tn_low_open(call, graph, node)};
  v.rank = tn_low_int(&v.t, "rank", 1);
  for (uint32_t k = X; k <= STATE; k++)
    if (k != UNIT_BIAS && !has(&v, k)) return tn_low_unsupported(&v.t, "inputs that are left out");
  const tn_tensor *x = tn_low_type(&v.t, X), *times = tn_low_type(&v.t, TIMES);
  if (times->rank != 2 || x->rank != 2 || v.rank < 1 || times->shape[0] % v.rank)
    return tn_low_unsupported(&v.t, "weights of this shape");
  v.batch = x->shape[0];
  v.filters = times->shape[0];
  v.memory = times->shape[1];
  if (x->dtype == TN_F32) return of_numbers(&v);
  return are_codes(&v) ? of_codes(&v) : tn_low_unsupported(&v.t, "values of these types");
}
