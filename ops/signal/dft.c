/* DFT and STFT: shapes, inference, references by definition. */
#include "dft.h"

#include <math.h>

#include "tenon/kit/lower.h"

/* Input `input`, one positive number; `missing` if it is left out. */
static tn_status positive(const tn_call *call, uint32_t input, int64_t missing, int64_t *out) {
  int64_t n = 0;
  *out = missing;
  if (tn_has_input(call, input)) {
    tn_status s = tn_const_ints(call, input, out, 1, &n);
    if (s) return s;
    if (n != 1)
      return call->host->fail(call->ctx, TN_ERR_SHAPE, "input %u must be one number",
                              (unsigned)input);
  }
  if (*out >= 1 && *out < INT64_C(1) << 40) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "the length or step is %lld; it must be positive", (long long)*out);
}

tn_status dft_shape_of(const tn_call *call, dft_shape *out) {
  const tn_dft_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t axis = -2, n = 1;
  *out = (dft_shape){.inverse = a->inverse != 0, .half = a->onesided != 0};
  tn_status s = tn_has_input(call, 2) ? tn_const_ints(call, 2, &axis, 1, &n) : TN_OK;
  if (s) return s;
  if (x->rank < 2 || (x->shape[x->rank - 1] != 1 && x->shape[x->rank - 1] != 2))
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the last dim of the input must be 1 (real) or 2 (complex)");
  s = n == 1 ? tn_axis_normalize(call, axis, x->rank, &out->axis)
             : call->host->fail(call->ctx, TN_ERR_SHAPE, "the axis must be one number");
  if (s) return s;
  if (out->axis == x->rank - 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the axis is the last dim, which holds the parts of a number");
  out->n_in = x->shape[out->axis];
  s = positive(call, 1, out->inverse && out->half ? 2 * (out->n_in - 1) : out->n_in, &out->length);
  out->in_parts = (int32_t)x->shape[x->rank - 1];
  out->out_parts = out->inverse && out->half ? 1 : 2;
  out->n_out = out->half && !out->inverse ? out->length / 2 + 1 : out->length;
  out->outer = tn_dims_size(x->shape, out->axis);
  out->inner = tn_dims_size(x->shape + out->axis + 1, x->rank - 2 - out->axis);
  return s;
}

tn_status dft_infer(const tn_call *call) {
  dft_shape d;
  int64_t dims[TN_MAX_RANK];
  const tn_tensor *x = call->inputs[0];
  tn_status s = dft_shape_of(call, &d);
  if (s) return s;
  for (int32_t k = 0; k < x->rank; k++) dims[k] = x->shape[k];
  dims[d.axis] = d.n_out;
  dims[x->rank - 1] = d.out_parts;
  tn_infer_shape(call, 0, x->dtype, x->rank, dims);
  return TN_OK;
}

tn_status dft_v17_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_dft_v17_attrs *a = call->attrs;
  tn_tensor axis = tn_tensor_make(TN_I64, 0, NULL, (void *)(uintptr_t)&a->axis);
  int32_t inputs[3] = {tn_node_input(call, graph, node, 0), tn_node_input(call, graph, node, 1),
                       tn_emit_const(call, graph, &axis)};
  tn_attr attrs[2] = {tn_attr_int("inverse", a->inverse), tn_attr_int("onesided", a->onesided)};
  return tn_lower_as(call, graph, node, "DFT", inputs, 3, attrs, 2);
}

tn_status stft_shape_of(const tn_call *call, stft_shape *out) {
  const tn_tensor *x = call->inputs[0], *window = tn_has_input(call, 2) ? call->inputs[2] : NULL;
  /* The specification wants the last dim; exporters leave it out for real signals. */
  const int64_t parts = x->rank == 2 ? 1 : x->rank == 3 ? x->shape[2] : 0;
  if (parts != 1 && parts != 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the signal must be [batch, length] or [batch, length, 1 or 2]");
  if (window && window->rank != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the window has rank %d; it must have rank 1",
                            window->rank);
  *out = (stft_shape){.batch = x->shape[0], .signal = x->shape[1], .parts = (int32_t)parts};
  tn_status s = positive(call, 1, 0, &out->step);
  if (!s) s = positive(call, 3, window ? window->shape[0] : out->signal, &out->length);
  if (s) return s;
  if (window && window->shape[0] != out->length)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the window has %lld values, frames %lld",
                            (long long)window->shape[0], (long long)out->length);
  if (out->length > out->signal)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "frames of %lld values are longer than the signal, %lld",
                            (long long)out->length, (long long)out->signal);
  out->frames = (out->signal - out->length) / out->step + 1;
  out->n_out = ((const tn_stft_attrs *)call->attrs)->onesided ? out->length / 2 + 1 : out->length;
  return TN_OK;
}

tn_status stft_infer(const tn_call *call) {
  stft_shape f;
  tn_status s = stft_shape_of(call, &f);
  int64_t dims[4] = {f.batch, f.frames, f.n_out, 2};
  if (!s) tn_infer_shape(call, 0, call->inputs[0]->dtype, 4, dims);
  return s;
}

/* Complex transforms of n values, as fast ones are counted, however they are computed. */
static double transforms_flops(double number, int64_t n) {
  return number * 5 * (double)n * log2((double)n);
}

tn_status dft_flops(const tn_call *call, double *out_flops) {
  dft_shape d;
  tn_status s = dft_shape_of(call, &d);
  if (!s) *out_flops = transforms_flops((double)d.outer * (double)d.inner, d.length);
  return s;
}

tn_status stft_flops(const tn_call *call, double *out_flops) {
  stft_shape f;
  tn_status s = stft_shape_of(call, &f);
  if (!s) *out_flops = transforms_flops((double)f.batch * (double)f.frames, f.length);
  return s;
}

/* ---- references ---- */

static double value(const tn_tensor *t, int64_t k) { return tn_load_f64(t->dtype, t->data, k); }

/* Adds x * e^(sign * 2 pi i * turns / n), turns taken modulo n. */
static void add_turned(double *sum, const double *x, int sign, int64_t j, int64_t k, int64_t n) {
  double angle =
      sign * 2 * acos(-1.0) * (double)((uint64_t)j * (uint64_t)k % (uint64_t)n) / (double)n;
  sum[0] += x[0] * cos(angle) - x[1] * sin(angle);
  sum[1] += x[0] * sin(angle) + x[1] * cos(angle);
}

/* Value j of a line of the signal as it is transformed: cut, filled up, or made whole from half a
 * spectrum. */
static void line_value(const tn_tensor *x, const dft_shape *d, int64_t line, int64_t j,
                       double *out) {
  bool mirrored = d->inverse && d->half && j > d->length / 2;
  int64_t from = mirrored ? d->length - j : j;
  int64_t at = ((line / d->inner * d->n_in + from) * d->inner + line % d->inner) * d->in_parts;
  out[0] = out[1] = 0;
  if (from >= d->n_in) return;
  out[0] = value(x, at);
  if (d->in_parts == 2) out[1] = mirrored ? -value(x, at + 1) : value(x, at + 1);
  if (d->inverse && d->half && (j == 0 || 2 * j == d->length)) out[1] = 0;
}

tn_status dft_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  dft_shape d;
  tn_status s = dft_shape_of(call, &d);
  for (int64_t at = 0; !s && at < d.outer * d.n_out * d.inner; at++) {
    int64_t k = at / d.inner % d.n_out, line = at / (d.n_out * d.inner) * d.inner + at % d.inner;
    double sum[2] = {0, 0}, v[2];
    for (int64_t j = 0; j < d.length; j++) {
      line_value(x, &d, line, j, v);
      add_turned(sum, v, d.inverse ? 1 : -1, j, k, d.length);
    }
    for (int32_t p = 0; p < d.out_parts; p++)
      tn_store_f64(y->dtype, y->data, at * d.out_parts + p,
                   d.inverse ? sum[p] / (double)d.length : sum[p]);
  }
  return s;
}

tn_status stft_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  stft_shape f;
  tn_status s = stft_shape_of(call, &f);
  for (int64_t at = 0; !s && at < f.batch * f.frames * f.n_out; at++) {
    int64_t first = at / (f.frames * f.n_out) * f.signal + at / f.n_out % f.frames * f.step;
    double sum[2] = {0, 0};
    for (int64_t j = 0; j < f.length; j++) {
      double w = tn_has_input(call, 2) ? value(call->inputs[2], j) : 1;
      double v[2] = {w * value(x, (first + j) * f.parts),
                     f.parts == 2 ? w * value(x, (first + j) * 2 + 1) : 0};
      add_turned(sum, v, -1, j, at % f.n_out, f.length);
    }
    tn_store_f64(y->dtype, y->data, at * 2, sum[0]);
    tn_store_f64(y->dtype, y->data, at * 2 + 1, sum[1]);
  }
  return s;
}
