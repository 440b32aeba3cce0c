/* tenon::FixedSvdf: inference, and the reference, in 64 bits. */
#include "fixed_svdf.h"

#include "fixed_scale.h"
#include "tenon/kit/infer.h"

static bool is_matrix(const tn_tensor *t, int64_t rows, int64_t columns) {
  return t->rank == 2 && t->shape[0] == rows && t->shape[1] == columns;
}

static bool is_scale(int64_t m, int64_t shift) {
  return m >= 0 && m <= INT32_MAX && shift >= -31 && shift <= 14;
}

static bool attrs_fit(const tn_fixed_svdf_attrs *a, uint32_t state) {
  bool fit = a->rank >= 1 && a->multipliers.size == 2 && a->shifts.size == 2 && a->lo <= a->hi &&
             a->lo >= INT8_MIN && a->hi <= INT8_MAX && a->y_zero >= INT8_MIN &&
             a->y_zero <= INT8_MAX && a->x_zero >= INT8_MIN && a->x_zero <= INT8_MAX;
  for (int k = 0; k < 2 && fit; k++) fit = is_scale(a->multipliers.data[k], a->shifts.data[k]);
  return fit && (state == TN_I8 ? a->state_zero >= INT8_MIN && a->state_zero <= INT8_MAX
                                : a->state_zero == 0);
}

tn_status fixed_svdf_make(const tn_call *call, fixed_svdf *out) {
  const tn_tensor *x = call->inputs[SVDF_X], *features = call->inputs[SVDF_FEATURES],
                  *times = call->inputs[SVDF_TIMES], *bias = tn_input(call, SVDF_BIAS),
                  *state = call->inputs[SVDF_STATE];
  fixed_svdf p = {.a = call->attrs};
  if (!attrs_fit(p.a, state->dtype))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "rank, zero points, multipliers, shifts or bounds are out of range");
  bool fits = x->rank == 2 && times->rank == 2 && times->shape[0] % p.a->rank == 0;
  if (fits) {
    p.batch = x->shape[0], p.width = x->shape[1];
    p.filters = times->shape[0], p.memory = times->shape[1];
    p.units = p.filters / p.a->rank;
    fits = p.memory >= 1 && is_matrix(features, p.filters, p.width) && state->rank == 2 &&
           state->shape[0] == p.batch && state->shape[1] / p.memory == p.filters &&
           state->shape[1] % p.memory == 0 &&
           (!bias || (bias->rank == 1 && bias->shape[0] == p.units));
  }
  if (!fits)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the shapes of features, times, bias and state do not go together");
  *out = p;
  return TN_OK;
}

tn_status fixed_svdf_infer(const tn_call *call) {
  fixed_svdf p;
  const tn_status s = fixed_svdf_make(call, &p);
  if (s) return s;
  const int64_t y[] = {p.batch, p.units}, kept[] = {p.batch, p.filters * p.memory};
  tn_infer_shape(call, 0, TN_I8, 2, y);
  tn_infer_shape(call, 1, call->inputs[SVDF_STATE]->dtype, 2, kept);
  return TN_OK;
}

tn_status fixed_svdf_flops(const tn_call *call, double *out_flops) {
  fixed_svdf p;
  const tn_status s = fixed_svdf_make(call, &p);
  if (!s) *out_flops = 2.0 * (double)(p.batch * p.filters) * (double)(p.width + p.memory);
  return s;
}

static int64_t at(const tn_call *call, int input, int64_t k) {
  return tn_load_i64(call->inputs[input]->dtype, call->inputs[input]->data, k);
}

/* Sums wrap, as those of 32 bits do. */
static int64_t scaled_sum(const fixed_svdf *p, int64_t sum, int which) {
  return fixed_scaled((int32_t)(uint32_t)(uint64_t)sum, 0, p->a->multipliers.data[which],
                      p->a->shifts.data[which]);
}

static int64_t code_of(const tn_call *call, const fixed_svdf *p, int64_t b, int64_t f) {
  const bool wide = call->inputs[SVDF_STATE]->dtype == TN_I16;
  int64_t sum = 0;
  for (int64_t k = 0; k < p->width; k++)
    sum += (at(call, SVDF_X, b * p->width + k) - p->a->x_zero) *
           at(call, SVDF_FEATURES, f * p->width + k);
  return fixed_clamp(scaled_sum(p, sum, 0) + p->a->state_zero, wide ? INT16_MIN : INT8_MIN,
                     wide ? INT16_MAX : INT8_MAX);
}

/* Filter f of image b: what it keeps, and its sum over time. */
static int64_t filter_of(const tn_call *call, const fixed_svdf *p, int64_t b, int64_t f) {
  const int64_t first = (b * p->filters + f) * p->memory;
  int64_t sum = 0;
  for (int64_t t = 0; t < p->memory; t++) {
    const int64_t code =
        t + 1 < p->memory ? at(call, SVDF_STATE, first + t + 1) : code_of(call, p, b, f);
    tn_store_f64(call->outputs[1]->dtype, call->outputs[1]->data, first + t, (double)code);
    sum += (code - p->a->state_zero) * at(call, SVDF_TIMES, f * p->memory + t);
  }
  return sum;
}

tn_status fixed_svdf_reference(const tn_call *call) {
  fixed_svdf p;
  const tn_status s = fixed_svdf_make(call, &p);
  for (int64_t k = 0; !s && k < p.batch * p.units; k++) {
    int64_t sum = tn_input(call, SVDF_BIAS) ? at(call, SVDF_BIAS, k % p.units) : 0;
    for (int64_t r = 0; r < p.a->rank; r++)
      sum += filter_of(call, &p, k / p.units, k % p.units * p.a->rank + r);
    ((int8_t *)call->outputs[0]->data)[k] =
        (int8_t)fixed_clamp(scaled_sum(&p, sum, 1) + p.a->y_zero, p.a->lo, p.a->hi);
  }
  return s;
}
