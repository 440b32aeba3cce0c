/* Inverse and CDist. */
#include "small.gen.h"

#include <math.h>

#include "c_dist.h"

/* ---- Inverse: an item is a matrix ---- */

tn_status inverse_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 2 || x->shape[x->rank - 1] != x->shape[x->rank - 2])
    return fail(call, TN_ERR_SHAPE, "the last two dims of X are not those of a square matrix");
  return tn_infer_like(call, 0, 0);
}

/* Gauss and Jordan with the largest pivot of each column: a, n x 2n, holds the matrix and the unit
 * matrix; the right half becomes the inverse. False: there is none. */
static bool invert(double *a, int64_t n) {
  const int64_t width = 2 * n;
  for (int64_t c = 0; c < n; c++) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; r++)
      if (fabs(a[r * width + c]) > fabs(a[pivot * width + c])) pivot = r;
    if (!(fabs(a[pivot * width + c]) > 0)) return false;
    const double inverse = 1 / a[pivot * width + c];
    for (int64_t k = 0; k < width; k++) {
      const double swap = a[pivot * width + k];
      a[pivot * width + k] = a[c * width + k];
      a[c * width + k] = swap * inverse;
    }
    for (int64_t r = 0; r < n; r++) {
      const double factor = a[r * width + c];
      if (r == c || factor == 0) continue;
      for (int64_t k = 0; k < width; k++) a[r * width + k] -= factor * a[c * width + k];
    }
  }
  return true;
}

static tn_status invert_matrix(const tn_call *call, int64_t matrix, double *room) {
  const tn_tensor *x = call->inputs[0];
  const int64_t n = x->shape[x->rank - 1];
  for (int64_t k = 0; k < n * n; k++) {
    room[k / n * 2 * n + k % n] = load(x, matrix * n * n + k);
    room[k / n * 2 * n + n + k % n] = k / n == k % n;
  }
  if (!invert(room, n))
    return call->host->fail(call->ctx, TN_ERR_INVALID, "matrix %lld of X has no inverse",
                            (long long)matrix);
  for (int64_t k = 0; k < n * n; k++)
    store(call->outputs[0], matrix * n * n + k, room[k / n * 2 * n + n + k % n]);
  return TN_OK;
}

static int64_t n_matrices(const tn_tensor *x) {
  int64_t n = 1;
  for (int32_t k = 0; k + 2 < x->rank; k++) n *= x->shape[k];
  return n;
}

/* By cofactors: the definition, and nothing that the kernels do. */
static double minor_of(const double *m, int64_t n, uint64_t rows, uint64_t columns) {
  double sum = 0, sign = 1;
  int64_t r = 0;
  while (r < n && !(rows >> r & 1)) r++;
  if (r == n) return 1;
  for (int64_t c = 0; c < n; c++) {
    if (!(columns >> c & 1)) continue;
    sum += sign * m[r * n + c] *
           minor_of(m, n, rows & ~(UINT64_C(1) << r), columns & ~(UINT64_C(1) << c));
    sign = -sign;
  }
  return sum;
}

tn_status inverse_reference(const tn_call *call) {
  enum { MOST = 8 };
  const tn_tensor *x = call->inputs[0];
  const int64_t n = x->shape[x->rank - 1];
  const uint64_t all = (UINT64_C(1) << tn_min_i64(n, MOST)) - 1;
  double m[MOST * MOST];
  if (n > MOST) return fail(call, TN_ERR_UNSUPPORTED, "the reference is for small matrices");
  for (int64_t matrix = 0; n && matrix < n_matrices(x); matrix++) {
    for (int64_t k = 0; k < n * n; k++) m[k] = load(x, matrix * n * n + k);
    const double det = minor_of(m, n, all, all);
    if (!(fabs(det) > 0)) return fail(call, TN_ERR_INVALID, "a matrix of X has no inverse");
    for (int64_t k = 0; k < n * n; k++) {
      const int64_t r = k % n, c = k / n; /* of the minor: transposed */
      const double value =
          minor_of(m, n, all & ~(UINT64_C(1) << r), all & ~(UINT64_C(1) << c)) / det;
      store(call->outputs[0], matrix * n * n + k, (r + c) % 2 ? -value : value);
    }
  }
  return TN_OK;
}

tn_status inverse_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  const int64_t n = x->shape[x->rank - 1];
  const double work = 2 * (double)n * (double)n * (double)n;
  int64_t room;
  if (tn_mul_i64(2 * (int64_t)sizeof(double), n, &room) || tn_mul_i64(room, n, &room))
    return TN_ERR_OVERFLOW;
  out->items[0] = n ? n_matrices(x) : 0;
  out->grain[0] = tn_grain(20000, work);
  out->worker_scratch_bytes = (uint64_t)room;
  out->cost_ns = (double)out->items[0] * work + 300;
  return TN_OK;
}

/* In f64 whatever the type: matrices are small, and their condition is nobody's choice. */
static tn_status inverse_run(const tn_call *call, int64_t begin, int64_t end, uint32_t worker) {
  double *room =
      (double *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  tn_status s = TN_OK;
  for (int64_t matrix = begin; !s && matrix < end; matrix++) s = invert_matrix(call, matrix, room);
  return s;
}

tn_status inverse_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  (void)stage;
  return inverse_run(call, begin, end, worker);
}

tn_status inverse_f64_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  (void)stage;
  return inverse_run(call, begin, end, worker);
}

/* ---- CDist: an item is a row of A ---- */

tn_status c_dist_infer(const tn_call *call) {
  const tn_str metric = ((const tn_c_dist_attrs *)call->attrs)->metric;
  const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
  if (!c_dist_is_euclidean(call) && !tn_str_is(metric, "sqeuclidean"))
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: metric '%.*s'",
                            (int)tn_min_i64(metric.size, 40), metric.data);
  if (a->rank != 2 || b->rank != 2 || a->shape[1] != b->shape[1])
    return fail(call, TN_ERR_SHAPE, "A and B are no matrices with the same number of columns");
  tn_infer_shape(call, 0, a->dtype, 2, (int64_t[]){a->shape[0], b->shape[0]});
  return TN_OK;
}

tn_status c_dist_reference(const tn_call *call) {
  const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
  const int64_t n = b->shape[0], depth = a->shape[1];
  for (int64_t k = 0; k < tn_elements(call->outputs[0]); k++) {
    double sum = 0;
    for (int64_t c = 0; c < depth; c++) {
      const double d = load(a, k / n * depth + c) - load(b, k % n * depth + c);
      sum += d * d;
    }
    store(call->outputs[0], k, c_dist_is_euclidean(call) ? sqrt(sum) : sum);
  }
  return TN_OK;
}

tn_status c_dist_plan(const tn_call *call, tn_kernel_plan *out) {
  const double row = (double)tn_elements(call->inputs[1]) + (double)call->inputs[1]->shape[0];
  out->items[0] = call->inputs[0]->shape[0];
  out->grain[0] = tn_max_i64(tn_grain(20000, row), 64); /* they share what is transposed */
  out->worker_scratch_bytes = (uint64_t)call->inputs[1]->shape[1] * C_DIST_LANES * sizeof(float);
  out->cost_ns = (double)out->items[0] * row * 0.5 + 300;
  return TN_OK;
}

#define C_DIST(name, T, SQRT)                                                                 \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,             \
                 uint32_t worker) {                                                           \
    (void)stage, (void)worker;                                                                \
    const int64_t n = call->inputs[1]->shape[0], depth = call->inputs[1]->shape[1];           \
    const bool root = c_dist_is_euclidean(call);                                              \
    for (int64_t k = begin * n; k < end * n; k++) {                                           \
      const T *a = (const T *)call->inputs[0]->data + k / n * depth;                          \
      const T *b = (const T *)call->inputs[1]->data + k % n * depth;                          \
      T part[8] = {0}, sum = 0;                                                               \
      int64_t c = 0;                                                                          \
      for (; c + 8 <= depth; c += 8)                                                          \
        for (int l = 0; l < 8; l++) part[l] += (a[c + l] - b[c + l]) * (a[c + l] - b[c + l]); \
      for (; c < depth; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);                            \
      for (int l = 0; l < 8; l++) sum += part[l];                                             \
      ((T *)call->outputs[0]->data)[k] = root ? SQRT(sum) : sum;                              \
    }                                                                                         \
    return TN_OK;                                                                             \
  }
C_DIST(c_dist_f32_c, float, sqrtf)
C_DIST(c_dist_f64_c, double, sqrt)
