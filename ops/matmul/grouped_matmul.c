/* tenon::GroupedMatMul: inference, FLOPs, reference. */
#include "grouped_matmul.h"

tn_status grouped_of(const tn_call *call, grouped *out) {
  const grouped p = {.a = call->inputs[GROUPED_A],
                     .b = call->inputs[GROUPED_B],
                     .ends = call->inputs[GROUPED_ENDS]};
  if (p.a->rank != 2 || p.b->rank != 3 || p.ends->rank != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "A, B and ends have ranks %d, %d and %d; they must be 2, 3 and 1",
                            (int)p.a->rank, (int)p.b->rank, (int)p.ends->rank);
  *out = p;
  out->y = call->outputs[0]->data;
  out->rows = p.a->shape[0];
  out->k = p.a->shape[1];
  out->groups = p.b->shape[0];
  out->n = p.b->shape[2];
  if (p.b->shape[1] != out->k || p.ends->shape[0] != out->groups)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE,
        "%lld groups of %lld x %lld numbers and %lld ends do not fit A of %lld columns",
        (long long)out->groups, (long long)p.b->shape[1], (long long)out->n,
        (long long)p.ends->shape[0], (long long)out->k);
  return TN_OK;
}

tn_status grouped_matmul_infer(const tn_call *call) {
  grouped p;
  const tn_status s = grouped_of(call, &p);
  const int64_t dims[] = {p.rows, p.n};
  if (!s) tn_infer_shape(call, 0, p.a->dtype, 2, dims);
  return s;
}

tn_status grouped_matmul_flops(const tn_call *call, double *out_flops) {
  grouped p;
  const tn_status s = grouped_of(call, &p);
  if (!s) *out_flops = 2 * (double)p.rows * (double)p.k * (double)p.n;
  return s;
}

static int64_t end_of(const grouped *p, int64_t group) {
  if (group < 0) return 0;
  return p->ends->dtype == TN_I32 ? ((const int32_t *)p->ends->data)[group]
                                  : ((const int64_t *)p->ends->data)[group];
}

tn_status grouped_rows(const tn_call *call, const grouped *p, int64_t group, int64_t *begin,
                       int64_t *end) {
  *begin = end_of(p, group - 1);
  *end = end_of(p, group);
  if (*begin >= 0 && *begin <= *end && *end <= p->rows) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "group %lld has rows %lld to %lld; of %lld rows, they must follow those "
                          "of the group before",
                          (long long)group, (long long)*begin, (long long)*end, (long long)p->rows);
}

static double product(const grouped *p, int64_t row, int64_t group, int64_t j) {
  const float *a = (const float *)p->a->data + row * p->k,
              *b = (const float *)p->b->data + group * p->k * p->n + j;
  double sum = 0;
  for (int64_t k = 0; k < p->k; k++) sum += (double)a[k] * (double)b[k * p->n];
  return sum;
}

tn_status grouped_matmul_reference(const tn_call *call) {
  grouped p;
  tn_status s = grouped_of(call, &p);
  if (s) return s;
  for (int64_t at = 0; at < p.rows * p.n; at++) p.y[at] = 0;
  for (int64_t group = 0, begin, end; group < p.groups && !s; group++) {
    s = grouped_rows(call, &p, group, &begin, &end);
    for (int64_t at = begin * p.n; !s && at < end * p.n; at++)
      p.y[at] = (float)product(&p, at / p.n, group, at % p.n);
  }
  return s;
}
