/* GatherElements and ScatterElements on GPUs. The indices are walked in up to four merged dims, d;
 * their steps in the data are s, 0 for the axis, which has `axis` elements there, `inner` apart.
 * Indices out of range read the nearest element, or write nothing. */
#ifdef TN_GPU
#include "scatter_join_gpu.h"

#define WALK(i, s0, s1, s2, s3)                                                       \
  ((i) / (d1 * d2 * d3) * (s0) + (i) / (d2 * d3) % d1 * (s1) + (i) / d3 % d2 * (s2) + \
   (i) % d3 * (s3))

KERNEL(gather_elements, (IN(X), IN(I), OUT(Y)),
       (INT(n), INT(axis), INT(inner), INTS(d, 4), INTS(s, 4)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int at = LDI(I, i);
    at = at < 0 ? at + axis : at;
    at = at < 0 ? 0 : at < axis ? at : axis - 1;
    MOVE(Y, i, X, WALK(i, s0, s1, s2, s3) + at * inner);
  }
}

KERNEL(scatter_elements, (IN(U), IN(I), OUT(Y)),
       (INT(n), INT(axis), INT(inner), INTS(d, 4), INTS(s, 4)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int at = LDI(I, i);
    at = at < 0 ? at + axis : at;
    if (at >= 0 && at < axis) {
      MOVE(Y, WALK(i, s0, s1, s2, s3) + at * inner, U, i);
    }
  }
}

/* A column along the axis a thread, so that updates of one element come one after the other. The
 * steps in the indices, of which a column has `terms`, `apart` from each other, are t. */
KERNEL(scatter_elements_join, (IN(U), IN(I), OUT(Y)),
       (CONST(KIND), INT(n), INT(axis), INT(inner), INTS(d, 4), INTS(s, 4), INTS(t, 4), INT(terms),
        INT(apart)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int base = WALK(i, s0, s1, s2, s3), from = WALK(i, t0, t1, t2, t3);
    for (int j = 0; j < terms; j++) {
      int at = LDI(I, from);
      at = at < 0 ? at + axis : at;
      if (at >= 0 && at < axis) {
        int to = base + at * inner;
        float y = scatter_join(KIND, LD1(Y, to), LD1(U, from));
        ST1(Y, to, y);
      }
      from += apart;
    }
  }
}
#else
#include "gather.gen.h"
#include "indices_gpu.h"
#include "reduction.h"
#include "tenon/kit/axis.h"

enum { DIMS = 4 };

/* Dims of the indices with their steps in the data and in the indices; innermost last. */
typedef struct walk {
  int32_t rank;
  int64_t dims[TN_MAX_RANK], data[TN_MAX_RANK], indices[TN_MAX_RANK];
} walk;

static void walk_add(walk *w, int64_t dim, int64_t data, int64_t indices) {
  const int32_t last = w->rank - 1;
  if (dim == 1) return;
  if (last >= 0 && w->data[last] == data * dim && w->indices[last] == indices * dim) {
    w->dims[last] *= dim;
    w->data[last] = data;
    w->indices[last] = indices;
    return;
  }
  w->dims[w->rank] = dim;
  w->data[w->rank] = data;
  w->indices[w->rank++] = indices;
}

/* with_axis: the axis is walked, too, else columns along it are. */
static walk walk_of(const tn_tensor *data, const tn_tensor *indices, int32_t axis, bool with_axis) {
  walk w = {0};
  for (int32_t k = 0; k < data->rank; k++) {
    const int64_t step = tn_dims_size(data->shape + k + 1, data->rank - k - 1);
    const int64_t apart = tn_dims_size(indices->shape + k + 1, data->rank - k - 1);
    if (k != axis)
      walk_add(&w, indices->shape[k], step, apart);
    else if (with_axis)
      walk_add(&w, indices->shape[k], 0, apart);
  }
  return w;
}

static void add_ints(tn_gpu *g, const walk *w, const int64_t *values, int64_t rest) {
  for (int32_t k = 0; k < DIMS; k++)
    tn_gpu_int(g, k < DIMS - w->rank ? rest : values[k - (DIMS - w->rank)]);
}

static int32_t axis_of(const tn_call *call) { /* both operators' first attribute */
  const tn_gather_elements_attrs *a = call->attrs;
  return (int32_t)(a->axis < 0 ? a->axis + call->inputs[0]->rank : a->axis);
}

static const char *refuse(const tn_call *call, bool with_axis) {
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
  if (data->rank < 1) return "takes tensors of rank 1 and more";
  if (walk_of(data, indices, axis_of(call), with_axis).rank > DIMS)
    return "has more than four dims that do not merge";
  if (!indices_gpu_fit(indices, &data->shape[axis_of(call)], 1)) return "an index is out of range";
  return tn_gpu_refuse_size(call);
}

/* Buffers and what all three programs begin with. */
static void begin(tn_gpu *g, const tn_call *call, int32_t program, int32_t values, const walk *w,
                  int64_t n) {
  const tn_axis_view v = tn_axis_view_of(call->inputs[0], axis_of(call));
  tn_gpu_begin(g, call, program);
  tn_gpu_in(g, values);
  tn_gpu_in(g, 1);
  tn_gpu_out(g, 0);
  tn_gpu_int(g, n);
  tn_gpu_int(g, v.n);
  tn_gpu_int(g, v.inner);
  add_ints(g, w, w->dims, 1);
  add_ints(g, w, w->data, 0);
}

const char *gather_elements_gpu_refuse(const tn_call *call) {
  if (tn_elements(call->inputs[0]) == 0 && tn_elements(call->inputs[1]) > 0)
    return "there is nothing to gather from";
  return refuse(call, true);
}

tn_status gather_elements_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const walk w = walk_of(call->inputs[0], call->inputs[1], axis_of(call), true);
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  begin(&g, call, GPU_gather_elements, 0, &w, n);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}

static reduction reduction_of(const tn_call *call) {
  const tn_scatter_elements_attrs *a = call->attrs;
  reduction op = REDUCE_NONE;
  (void)reduction_parse(call, a->reduction, call->inputs[0]->dtype, &op);
  return op;
}

const char *scatter_elements_gpu_refuse(const tn_call *call) {
  const reduction op = reduction_of(call);
  if (op != REDUCE_NONE && !tn_dtype(call->inputs[0]->dtype)->is_float)
    return "reduces floats only";
  if (op != REDUCE_NONE && tn_elements(call->inputs[1]) > TN_GPU_ROUNDS)
    return "reduces up to 65535 updates";
  return refuse(call, op == REDUCE_NONE);
}

tn_status scatter_elements_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
  const reduction op = reduction_of(call);
  const walk w = walk_of(data, indices, axis_of(call), op == REDUCE_NONE);
  const tn_axis_view columns = tn_axis_view_of(indices, axis_of(call));
  const tn_status status = indices_gpu_copy(recorder);
  int64_t n = tn_elements(indices);
  if (status || !n) return status;
  tn_gpu g;
  if (op != REDUCE_NONE) n /= columns.n;
  begin(&g, call, op == REDUCE_NONE ? GPU_scatter_elements : GPU_scatter_elements_join, 2, &w, n);
  if (op != REDUCE_NONE) {
    tn_gpu_const(&g, op);
    add_ints(&g, &w, w.indices, 0);
    tn_gpu_int(&g, columns.n);
    tn_gpu_int(&g, columns.inner);
  }
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
