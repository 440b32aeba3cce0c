/* SignalRfft and SignalIrfft: spectra of rows of real numbers, and rows from spectra. An item of
 * work is a row. */
#include <math.h>
#include <stdbool.h>

#include "signal.gen.h"
#include "signal_call.h"
#include "tenon/kit/checked.h"

enum { LONGEST = 1 << 24, MOST_RADIXES = 24 };
static const double FFT_PI = 3.141592653589793238462643383279502884;

/* Of n complex numbers, radix by radix; the first is that of the last stage. */
typedef struct fft_shape {
  int64_t n;
  int32_t n_radixes, radixes[MOST_RADIXES];
  bool inverse;
} fft_shape;

/* What prepare() has made: where number k comes from, the n-th roots of 1, and the factors of the
 * step that takes two spectra apart. */
typedef struct fft_state {
  int32_t *order;
  void *turns, *last;
} fft_state;

static fft_shape shape_of(int64_t length, bool inverse) {
  static const int32_t radixes[] = {4, 2, 3, 5};
  fft_shape f = {.n = length / 2, .inverse = inverse};
  int64_t rest = f.n;
  for (int32_t k = 0; k < 4; k++)
    for (; rest % radixes[k] == 0; rest /= radixes[k]) f.radixes[f.n_radixes++] = radixes[k];
  if (rest != 1) f.n_radixes = 0;
  return f;
}

static uint64_t state_bytes(const fft_shape *f, uint64_t each) {
  return (uint64_t)f->n * (4 + 2 * each + each);
}

static fft_state fft_state_of(const fft_shape *f, void *state, uint64_t each) {
  uint8_t *turns = (uint8_t *)state + 4 * f->n;
  return (fft_state){state, turns, turns + 2 * (uint64_t)f->n * each};
}

static void fft_order(const fft_shape *f, int32_t *out) {
  for (int64_t k = 0; k < f->n; k++) {
    int64_t rest = k, part = f->n, step = 1, from = 0;
    for (int32_t d = 0; d < f->n_radixes; d++) {
      part /= f->radixes[d];
      from += rest / part * step;
      rest %= part;
      step *= f->radixes[d];
    }
    out[k] = (int32_t)from;
  }
}

#define FFT_NAME(name) i16_##name
#define FFT_REAL int16_t
#define FFT_WIDE int32_t
#define FFT_BITS 15
#define FFT_MOST INT16_MAX
#define FFT_HALF_SUM(v) (int16_t)((v) >> 1)
#include "signal_fft.h"
#undef FFT_NAME
#undef FFT_REAL
#undef FFT_WIDE
#undef FFT_BITS
#undef FFT_MOST
#undef FFT_HALF_SUM

#define FFT_NAME(name) i32_##name
#define FFT_REAL int32_t
#define FFT_WIDE int64_t
#define FFT_BITS 31
#define FFT_MOST INT32_MAX
#define FFT_HALF_SUM(v) (wrap_i32(v) >> 1)
#include "signal_fft.h"
#undef FFT_NAME
#undef FFT_REAL
#undef FFT_WIDE
#undef FFT_BITS
#undef FFT_MOST
#undef FFT_HALF_SUM

#define FFT_NAME(name) f32_##name
#define FFT_REAL float
#define FFT_WIDE float
#define FFT_BITS 0
#define FFT_HALF_SUM(v) ((v)*.5f)
#include "signal_fft.h"

/* ---- callbacks ---- */

static tn_status check(const tn_call *call, int64_t length) {
  const tn_status s = check_int(call, "fft_length", length, 4, LONGEST);
  if (s) return s;
  if (length % 2 || !shape_of(length, false).n_radixes)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: attribute 'fft_length' is %lld, which is no product "
                            "of 2 and of 2, 3 and 5",
                            (long long)length);
  if (call->inputs[0]->rank > 0) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "input is a scalar, but must have rows");
}

static tn_status infer(const tn_call *call, int64_t last) {
  const tn_tensor *x = call->inputs[0];
  int64_t dims[TN_MAX_RANK];
  for (int32_t k = 0; k < x->rank; k++) dims[k] = x->shape[k];
  dims[x->rank - 1] = last;
  tn_infer_shape(call, 0, x->dtype, x->rank, dims);
  return TN_OK;
}

tn_status signal_rfft_infer(const tn_call *call) {
  const tn_signal_rfft_attrs *a = call->attrs;
  tn_status s = check_type(call, a->has_T, a->T);
  if (!s) s = check(call, a->fft_length);
  if (s) return s;
  const tn_tensor *x = call->inputs[0];
  if (x->shape[x->rank - 1] > a->fft_length)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "input has rows of %lld elements, but attribute 'fft_length' is %lld",
                            (long long)x->shape[x->rank - 1], (long long)a->fft_length);
  return infer(call, a->fft_length + 2);
}

tn_status signal_irfft_infer(const tn_call *call) {
  const tn_signal_irfft_attrs *a = call->attrs;
  tn_status s = check_type(call, a->has_T, a->T);
  if (!s) s = check(call, a->fft_length);
  if (s) return s;
  const tn_tensor *x = call->inputs[0];
  if (x->shape[x->rank - 1] != a->fft_length + 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "input has rows of %lld elements, but attribute 'fft_length' %lld "
                            "needs %lld",
                            (long long)x->shape[x->rank - 1], (long long)a->fft_length,
                            (long long)a->fft_length + 2);
  return infer(call, a->fft_length);
}

static fft_shape forward_of(const tn_call *call) {
  return shape_of(((const tn_signal_rfft_attrs *)call->attrs)->fft_length, false);
}
static fft_shape backward_of(const tn_call *call) {
  return shape_of(((const tn_signal_irfft_attrs *)call->attrs)->fft_length, true);
}

static tn_status plan(const tn_call *call, const fft_shape *f, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  const uint64_t each = x->dtype == TN_I16 ? 2 : 4;
  out->items[0] = tn_dims_size(x->shape, x->rank - 1);
  out->grain[0] = tn_grain(1, (double)f->n * 20);
  out->state_bytes = state_bytes(f, each);
  out->worker_scratch_bytes = 2 * (uint64_t)f->n * each;
  return TN_OK;
}

static tn_status prepare(const tn_call *call, const fft_shape *f) {
  switch (call->inputs[0]->dtype) {
    case TN_I16: i16_tables(f, call->state); break;
    case TN_I32: i32_tables(f, call->state); break;
    default: f32_tables(f, call->state); break;
  }
  return TN_OK;
}

static tn_status run(const tn_call *call, const fft_shape *f, int64_t begin, int64_t end,
                     uint32_t worker) {
  void *room = (uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes;
  switch (call->inputs[0]->dtype) {
    case TN_I16: i16_rows(call, f, begin, end, room); break;
    case TN_I32: i32_rows(call, f, begin, end, room); break;
    default: f32_rows(call, f, begin, end, room); break;
  }
  return TN_OK;
}

tn_status signal_rfft_plan(const tn_call *call, tn_kernel_plan *out) {
  const fft_shape f = forward_of(call);
  return plan(call, &f, out);
}
tn_status signal_rfft_prepare(const tn_call *call) {
  const fft_shape f = forward_of(call);
  return prepare(call, &f);
}
tn_status signal_rfft_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  const fft_shape f = forward_of(call);
  (void)stage;
  return run(call, &f, begin, end, worker);
}

tn_status signal_irfft_plan(const tn_call *call, tn_kernel_plan *out) {
  const fft_shape f = backward_of(call);
  return plan(call, &f, out);
}
tn_status signal_irfft_prepare(const tn_call *call) {
  const fft_shape f = backward_of(call);
  return prepare(call, &f);
}
tn_status signal_irfft_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  const fft_shape f = backward_of(call);
  (void)stage;
  return run(call, &f, begin, end, worker);
}
