/* Reductions: older forms, inference, FLOPs and references. */
#include <math.h>
#include <string.h>

#include "reduction.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"

/* All newest Reduce forms share this attribute struct. */
typedef tn_reduce_sum_attrs reduce_attrs;

static tn_status lower(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_reduce_sum_v1_attrs *old = call->attrs; /* axes, keepdims: the same in all old forms */
  int32_t inputs[2] = {tn_node_input(call, graph, node, 0), -1};
  if (old->has_axes) inputs[1] = tn_emit_ints(call, graph, old->axes.data, old->axes.size);
  tn_attr keep = tn_attr_int("keepdims", old->keepdims);
  return tn_lower_as(call, graph, node, op, inputs, 2, &keep, 1);
}

#define LOWER(snake, op)                                                        \
  tn_status snake##_lower(const tn_call *call, tn_graph *graph, int32_t node) { \
    return lower(call, graph, node, op);                                        \
  }
LOWER(reduce_sum, "ReduceSum")
LOWER(reduce_mean, "ReduceMean")
LOWER(reduce_prod, "ReduceProd")
LOWER(reduce_max, "ReduceMax")
LOWER(reduce_min, "ReduceMin")
LOWER(reduce_l1, "ReduceL1")
LOWER(reduce_l2, "ReduceL2")
LOWER(reduce_log_sum, "ReduceLogSum")
LOWER(reduce_log_sum_exp, "ReduceLogSumExp")
LOWER(reduce_sum_square, "ReduceSumSquare")

static tn_status find_axes(const tn_call *call, bool *axes) {
  const reduce_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t list[4 * TN_MAX_RANK], n = 0;
  if (tn_has_input(call, 1)) {
    tn_status s = tn_const_ints(call, 1, list, 4 * TN_MAX_RANK, &n);
    if (s) return s;
  }
  for (int32_t k = 0; k < TN_MAX_RANK; k++) axes[k] = k < x->rank && !n && !a->noop_with_empty_axes;
  for (int64_t k = 0; k < n; k++) {
    int32_t axis = 0;
    tn_status s = tn_axis_normalize(call, list[k], x->rank, &axis);
    if (s) return s;
    axes[axis] = true;
  }
  return TN_OK;
}

tn_status reduce_infer(const tn_call *call) {
  bool axes[TN_MAX_RANK];
  tn_status s = find_axes(call, axes);
  if (s) return s;
  const tn_tensor *x = call->inputs[0];
  tn_tensor *y = call->outputs[0];
  int64_t keep = ((const reduce_attrs *)call->attrs)->keepdims;
  y->rank = 0;
  for (int32_t k = 0; k < x->rank; k++)
    if (!axes[k] || keep) y->shape[y->rank++] = axes[k] ? 1 : x->shape[k];
  return TN_OK;
}

tn_status reduce_flops(const tn_call *call, double *out_flops) {
  *out_flops = (double)tn_elements(call->inputs[0]);
  return TN_OK;
}

static void add_dim(walk *w, int64_t dim, int64_t stride, bool merge) {
  if (merge) {
    w->dims[w->rank - 1] *= dim;
    w->strides[w->rank - 1] = stride;
  } else {
    w->dims[w->rank] = dim;
    w->strides[w->rank++] = stride;
  }
  w->size *= dim;
}

int64_t walk_offset(const walk *w, int64_t index) {
  int64_t at = 0;
  if (w->rank == 1) return index * w->strides[0]; /* most are */
  for (int32_t k = w->rank - 1; k > 0; k--) {
    at += index % w->dims[k] * w->strides[k];
    index /= w->dims[k];
  }
  return w->rank ? at + index * w->strides[0] : 0;
}

tn_status reduction_make(const tn_call *call, reduction *out) {
  reduction r = {.kept = {.size = 1}, .summed = {.size = 1}};
  tn_status s = find_axes(call, r.axes);
  if (s) return s;
  const tn_tensor *x = call->inputs[0];
  int64_t stride = 1;
  for (int32_t k = 0; k < x->rank; k++) stride *= x->shape[k];
  int32_t before = -1;
  for (int32_t k = 0; k < x->rank; k++) {
    if (x->shape[k]) stride /= x->shape[k];
    if (x->shape[k] == 1) continue;
    walk *w = r.axes[k] ? &r.summed : &r.kept;
    add_dim(w, x->shape[k], stride, before == r.axes[k]);
    before = r.axes[k];
  }
  r.inner_kept = r.kept.rank > 0 && r.kept.strides[r.kept.rank - 1] == 1;
  *out = r;
  return TN_OK;
}

/* ---- references: one output at a time, every element by its index ---- */

typedef double (*term)(double x);
static double plain(double x) { return x; }
static double square(double x) { return x * x; }

/* Sum of term(x - shift) over what belongs to output `index`; n: how many; top: the largest
 * element. */
static double sum_terms(const tn_call *call, const reduction *r, int64_t index, term f,
                        double shift, double *out_top) {
  const tn_tensor *x = call->inputs[0];
  int64_t base = walk_offset(&r->kept, index);
  double sum = 0;
  *out_top = -INFINITY;
  for (int64_t k = 0; k < r->summed.size; k++) {
    double v = tn_load_f64(x->dtype, x->data, base + walk_offset(&r->summed, k));
    if (v > *out_top || isnan(v)) *out_top = v;
    sum += f(v - shift);
  }
  return sum;
}

static tn_status reference(const tn_call *call, term f, double (*done)(double sum, double n)) {
  reduction r;
  tn_status s = reduction_make(call, &r);
  double top;
  for (int64_t k = 0; !s && k < r.kept.size; k++)
    tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data, k,
                 done(sum_terms(call, &r, k, f, 0, &top), (double)r.summed.size));
  return s;
}

static double same(double sum, double n) {
  (void)n;
  return sum;
}
static double mean(double sum, double n) { return sum / n; }
static double root(double sum, double n) {
  (void)n;
  return sqrt(sum);
}
static double logarithm(double sum, double n) {
  (void)n;
  return log(sum);
}

tn_status reduce_mean_reference(const tn_call *call) { return reference(call, plain, mean); }
tn_status reduce_l1_reference(const tn_call *call) { return reference(call, fabs, same); }
tn_status reduce_l2_reference(const tn_call *call) { return reference(call, square, root); }
tn_status reduce_log_sum_reference(const tn_call *call) {
  return reference(call, plain, logarithm);
}

tn_status reduce_log_sum_exp_reference(const tn_call *call) {
  reduction r;
  tn_status s = reduction_make(call, &r);
  for (int64_t k = 0; !s && k < r.kept.size; k++) {
    double top, ignored;
    (void)sum_terms(call, &r, k, plain, 0, &top);
    double shift = isfinite(top) ? top : 0, sum = sum_terms(call, &r, k, exp, shift, &ignored);
    tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data, k, shift + log(sum));
  }
  return s;
}

/* Exact for integers: folds in 64 bits with wrap-around where the meaning is exact. */
typedef struct folder {
  double (*f)(double acc, double x);
  uint64_t (*i)(uint64_t acc, uint64_t x);
  double f0;
  uint64_t i0;
} folder;

static double add_f(double a, double x) { return a + x; }
static uint64_t add_i(uint64_t a, uint64_t x) { return a + x; }
static double mul_f(double a, double x) { return a * x; }
static uint64_t mul_i(uint64_t a, uint64_t x) { return a * x; }
static double square_f(double a, double x) { return a + x * x; }
static uint64_t square_i(uint64_t a, uint64_t x) { return a + x * x; }

static tn_status fold(const tn_call *call, folder f) {
  reduction r;
  tn_status s = reduction_make(call, &r);
  const tn_tensor *x = call->inputs[0];
  for (int64_t k = 0; !s && k < r.kept.size; k++) {
    double sum = f.f0;
    uint64_t exact = f.i0;
    int64_t base = walk_offset(&r.kept, k);
    for (int64_t j = 0; j < r.summed.size; j++) {
      int64_t at = base + walk_offset(&r.summed, j);
      if (tn_dtype_exact_i64(x->dtype))
        exact = f.i(exact, (uint64_t)tn_load_i64(x->dtype, x->data, at));
      else
        sum = f.f(sum, tn_load_f64(x->dtype, x->data, at));
    }
    if (tn_dtype_exact_i64(x->dtype))
      tn_store_i64(x->dtype, call->outputs[0]->data, k, (int64_t)exact);
    else
      tn_store_f64(x->dtype, call->outputs[0]->data, k, sum);
  }
  return s;
}

tn_status reduce_sum_reference(const tn_call *call) {
  return fold(call, (folder){add_f, add_i, 0, 0});
}
tn_status reduce_prod_reference(const tn_call *call) {
  return fold(call, (folder){mul_f, mul_i, 1, 1});
}
tn_status reduce_sum_square_reference(const tn_call *call) {
  return fold(call, (folder){square_f, square_i, 0, 0});
}

/* True if element a of x is beyond element b: larger (sign 1) or smaller (-1). */
static bool beyond(const tn_tensor *x, int64_t a, int64_t b, int sign) {
  if (x->dtype == TN_U64) {
    uint64_t va = (uint64_t)tn_load_i64(x->dtype, x->data, a),
             vb = (uint64_t)tn_load_i64(x->dtype, x->data, b);
    return sign > 0 ? va > vb : va < vb;
  }
  if (tn_dtype_exact_i64(x->dtype)) {
    int64_t va = tn_load_i64(x->dtype, x->data, a), vb = tn_load_i64(x->dtype, x->data, b);
    return sign > 0 ? va > vb : va < vb;
  }
  double va = tn_load_f64(x->dtype, x->data, a), vb = tn_load_f64(x->dtype, x->data, b);
  return isnan(va) ? !isnan(vb) : sign > 0 ? va > vb : va < vb;
}

/* What the largest or smallest of nothing is. */
static void store_extreme(const tn_tensor *y, int64_t k, int sign) {
  const tn_dtype_info *info = tn_dtype(y->dtype);
  if (info->is_float)
    tn_store_f64(y->dtype, y->data, k, sign > 0 ? -INFINITY : INFINITY);
  else if (y->dtype == TN_BOOL)
    tn_store_i64(y->dtype, y->data, k, sign < 0);
  else if (!info->is_signed)
    tn_store_i64(y->dtype, y->data, k, sign > 0 ? 0 : -1);
  else
    tn_store_i64(y->dtype, y->data, k,
                 sign > 0 ? (int64_t)(UINT64_C(1) << (info->bits - 1))
                          : (int64_t)((UINT64_C(1) << (info->bits - 1)) - 1));
}

static tn_status extreme_reference(const tn_call *call, int sign) {
  reduction r;
  tn_status s = reduction_make(call, &r);
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  for (int64_t k = 0; !s && k < r.kept.size; k++) {
    int64_t base = walk_offset(&r.kept, k), best = base;
    for (int64_t j = 1; j < r.summed.size; j++) {
      int64_t at = base + walk_offset(&r.summed, j);
      if (beyond(x, at, best, sign)) best = at;
    }
    if (!r.summed.size)
      store_extreme(y, k, sign);
    else if (tn_dtype_exact_i64(x->dtype))
      tn_store_i64(x->dtype, y->data, k, tn_load_i64(x->dtype, x->data, best));
    else
      tn_store_f64(x->dtype, y->data, k, tn_load_f64(x->dtype, x->data, best));
  }
  return s;
}

tn_status reduce_max_reference(const tn_call *call) { return extreme_reference(call, 1); }
tn_status reduce_min_reference(const tn_call *call) { return extreme_reference(call, -1); }

/* ---- ArgMax, ArgMin ---- */

tn_status arg_infer(const tn_call *call) {
  const tn_arg_max_attrs *a = call->attrs; /* ArgMin's is the same */
  const tn_tensor *x = call->inputs[0];
  tn_tensor *y = call->outputs[0];
  int32_t axis = 0;
  tn_status s = tn_axis_normalize(call, a->axis, x->rank, &axis);
  if (s) return s;
  if (x->shape[axis] == 0)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "axis %d is empty: it has no largest or smallest element", axis);
  y->rank = 0;
  for (int32_t k = 0; k < x->rank; k++)
    if (k != axis || a->keepdims) y->shape[y->rank++] = k == axis ? 1 : x->shape[k];
  return TN_OK;
}

static tn_status arg_reference(const tn_call *call, int sign) {
  const tn_arg_max_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + x->rank : a->axis);
  int64_t inner = 1, n = x->shape[axis], total = tn_elements(call->outputs[0]);
  for (int32_t k = axis + 1; k < x->rank; k++) inner *= x->shape[k];
  for (int64_t k = 0; k < total; k++) {
    int64_t base = k / inner * inner * n + k % inner, best = 0;
    for (int64_t j = 1; j < n; j++)
      if (a->select_last_index ? !beyond(x, base + best * inner, base + j * inner, sign)
                               : beyond(x, base + j * inner, base + best * inner, sign))
        best = j;
    tn_store_i64(TN_I64, call->outputs[0]->data, k, best);
  }
  return TN_OK;
}

tn_status arg_max_reference(const tn_call *call) { return arg_reference(call, 1); }
tn_status arg_min_reference(const tn_call *call) { return arg_reference(call, -1); }
