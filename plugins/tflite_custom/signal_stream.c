/* Operators that go on where the last run has ended. What a run leaves is their output `after`, and
 * comes back as `before`; without it they begin anew, as they do with zeros. Samples that wait are
 * few: one item of work. */
#include <string.h>

#include "signal.gen.h"
#include "signal_call.h"
#include "tenon/kit/checked.h"

static tn_status fail_shape(const tn_call *call, const char *what) {
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s", what);
}

/* Output `after` is of this type; `before` too, if it is there. */
static tn_status infer_state(const tn_call *call, uint32_t after, uint32_t dtype, int32_t rank,
                             const int64_t *dims) {
  const tn_tensor *before = tn_input(call, 1);
  bool same = !before || (before->rank == rank && before->dtype == dtype);
  for (int32_t k = 0; before && same && k < rank; k++) same = before->shape[k] == dims[k];
  if (!same) return fail_shape(call, "input 'before' does not have the shape that it leaves");
  tn_infer_shape(call, after, dtype, rank, dims);
  return TN_OK;
}

/* What is to be left begins as a copy of what was left. */
static void *take_over(const tn_call *call, uint32_t after) {
  const tn_tensor *before = tn_input(call, 1), *out = call->outputs[after];
  const size_t bytes = (size_t)tn_dtype_bytes(out->dtype, tn_elements(out));
  if (!bytes) return out->data;
  if (before)
    memmove(out->data, before->data, bytes);
  else
    memset(out->data, 0, bytes);
  return out->data;
}

/* ---- SignalDelay ---- */

tn_status signal_delay_infer(const tn_call *call) {
  const tn_signal_delay_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t dims[TN_MAX_RANK];
  tn_status s = check_outputs(call, 2);
  if (!s) s = check_int(call, "delay_length", a->delay_length, 0, INT32_MAX);
  if (s) return s;
  if (x->rank < 1) return fail_shape(call, "input is a scalar, but must have rows");
  memcpy(dims, x->shape, (size_t)x->rank * sizeof *dims);
  dims[x->rank - 1] = a->delay_length;
  s = infer_state(call, 1, x->dtype, x->rank, dims);
  return s ? s : tn_infer_like(call, 0, 0);
}

tn_status signal_delay_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  const tn_signal_delay_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const int64_t n = x->shape[x->rank - 1], late = a->delay_length,
                rows = tn_dims_size(x->shape, x->rank - 1);
  int16_t *waiting = take_over(call, 1);
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t row = 0; row < rows; row++) {
    const int16_t *in = (const int16_t *)x->data + row * n;
    int16_t *w = waiting + row * late, *y = (int16_t *)call->outputs[0]->data + row * n;
    const int64_t old = tn_min_i64(n, late);
    for (int64_t k = 0; k < n; k++) y[k] = k < late ? w[k] : in[k - late];
    for (int64_t k = 0; k + old < late; k++) w[k] = w[k + old];
    for (int64_t k = late - old; k < late; k++) w[k] = in[n - late + k];
  }
  return TN_OK;
}

/* ---- SignalFramer ---- */

/* Samples of a row that may wait: a frame in whole steps. */
static int64_t framer_room(const tn_signal_framer_attrs *a) {
  return tn_ceil_div(a->frame_size, a->frame_step) * a->frame_step;
}

static tn_status check_framer(const tn_call *call) {
  const tn_signal_framer_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  tn_status s = check_outputs(call, 3);
  if (!s) s = check_int(call, "frame_size", a->frame_size, 1, 1 << 24);
  if (!s) s = check_int(call, "frame_step", a->frame_step, 1, a->prefill ? a->frame_size : 1 << 24);
  if (s) return s;
  if (x->rank < 1 || x->rank >= TN_MAX_RANK || !x->shape[x->rank - 1] ||
      x->shape[x->rank - 1] % a->frame_step)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "input has no rows of whole steps: attribute 'frame_step' is %lld",
                            (long long)a->frame_step);
  return TN_OK;
}

tn_status signal_framer_infer(const tn_call *call) {
  const tn_signal_framer_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t dims[TN_MAX_RANK], waiting;
  tn_status s = check_framer(call);
  if (s) return s;
  memcpy(dims, x->shape, (size_t)x->rank * sizeof *dims);
  dims[x->rank - 1] /= a->frame_step;
  dims[x->rank] = a->frame_size;
  if (tn_mul_i64(tn_dims_size(x->shape, x->rank - 1), framer_room(a), &waiting) ||
      tn_add_i64(waiting, 1, &waiting))
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "the frames are too large");
  tn_infer_shape(call, 0, TN_I16, x->rank + 1, dims);
  tn_infer_shape(call, 1, TN_BOOL, 0, NULL);
  return infer_state(call, 2, TN_I32, 1, &waiting);
}

/* A step of samples goes in behind `n` that wait; a frame comes out if there is one, else zeros.
 * Answers how many wait now. */
static int64_t frame_out(const tn_signal_framer_attrs *a, int32_t *waiting, int64_t n,
                         const int16_t *x, int16_t *y) {
  for (int64_t k = 0; k < a->frame_step; k++) waiting[n + k] = x[k];
  n += a->frame_step;
  const bool whole = n >= a->frame_size;
  for (int64_t k = 0; k < a->frame_size; k++) y[k] = whole ? (int16_t)waiting[k] : 0;
  if (!whole) return n;
  n -= a->frame_step;
  memmove(waiting, waiting + a->frame_step, (size_t)n * sizeof *waiting);
  return n;
}

tn_status signal_framer_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const tn_signal_framer_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const int64_t n_steps = x->shape[x->rank - 1] / a->frame_step, room = framer_room(a),
                rows = tn_dims_size(x->shape, x->rank - 1),
                first = a->prefill ? a->frame_size - a->frame_step : 0;
  int32_t *state = take_over(call, 2);
  const int64_t n = first + state[0];
  int64_t left = n;
  bool valid = true;
  (void)stage, (void)begin, (void)end, (void)worker;
  if (n < 0 || n > room - a->frame_step)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "%lld samples cannot wait for a frame",
                            (long long)n);
  for (int64_t row = 0; row < rows; row++) {
    left = n;
    for (int64_t k = 0; k < n_steps; k++) {
      const int64_t at = row * n_steps + k;
      valid = valid && left + a->frame_step >= a->frame_size;
      left =
          frame_out(a, state + 1 + row * room, left, (const int16_t *)x->data + at * a->frame_step,
                    (int16_t *)call->outputs[0]->data + at * a->frame_size);
    }
  }
  state[0] = (int32_t)(left - first);
  *(uint8_t *)call->outputs[1]->data = valid;
  return TN_OK;
}

/* ---- SignalStacker ---- */

static int64_t stacker_frames(const tn_signal_stacker_attrs *a) {
  return a->stacker_left_context + a->stacker_right_context + 1;
}

tn_status signal_stacker_infer(const tn_call *call) {
  const tn_signal_stacker_attrs *a = call->attrs;
  const int64_t most = 1 << 15;
  tn_status s = check_outputs(call, 3);
  if (!s) s = check_row(call, 0, "input");
  if (!s) s = check_int(call, "num_channels", a->num_channels, 1, most);
  if (!s) s = check_int(call, "stacker_left_context", a->stacker_left_context, 0, most);
  if (!s) s = check_int(call, "stacker_right_context", a->stacker_right_context, 0, most);
  if (!s) s = check_int(call, "stacker_step", a->stacker_step, 1, stacker_frames(a));
  if (s) return s;
  if (call->inputs[0]->shape[0] != a->num_channels)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "input has %lld elements, but attribute 'num_channels' is %lld",
                            (long long)call->inputs[0]->shape[0], (long long)a->num_channels);
  const int64_t n = stacker_frames(a) * a->num_channels, waiting = n + 2;
  tn_infer_shape(call, 0, TN_I16, 1, &n);
  tn_infer_shape(call, 1, TN_BOOL, 0, NULL);
  return infer_state(call, 2, TN_I32, 1, &waiting);
}

tn_status signal_stacker_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  const tn_signal_stacker_attrs *a = call->attrs;
  const int64_t channels = a->num_channels, whole = stacker_frames(a) * channels;
  const int16_t *x = call->inputs[0]->data;
  int32_t *state = take_over(call, 2), *waiting = state + 2;
  int64_t n = state[0] ? state[1] : 0;
  int16_t *y = call->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  if (n < 0 || n > whole - channels)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "%lld samples cannot wait to be stacked",
                            (long long)n);
  /* The first frame stands for those before it, too. */
  for (int64_t frame = state[0] ? a->stacker_left_context : 0; frame <= a->stacker_left_context;
       frame++, n += channels)
    for (int64_t k = 0; k < channels; k++) waiting[n + k] = x[k];
  const bool valid = n == whole;
  for (int64_t k = 0; k < whole; k++) y[k] = valid ? (int16_t)waiting[k] : 0;
  if (valid) {
    n -= a->stacker_step * channels;
    memmove(waiting, waiting + a->stacker_step * channels, (size_t)n * sizeof *waiting);
  }
  state[0] = 1;
  state[1] = (int32_t)n;
  *(uint8_t *)call->outputs[1]->data = valid;
  return TN_OK;
}

/* ---- SignalOverlapAdd ---- */

tn_status signal_overlap_add_infer(const tn_call *call) {
  const tn_signal_overlap_add_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t dims[TN_MAX_RANK];
  if (x->rank < 2) return fail_shape(call, "input has no frames: its rank is below 2");
  const int64_t size = x->shape[x->rank - 1], n_frames = x->shape[x->rank - 2];
  tn_status s = check_outputs(call, 2);
  if (!s) s = check_type(call, a->has_T, a->T);
  if (!s) s = check_int(call, "frame_step", a->frame_step, 1, size);
  if (s) return s;
  memcpy(dims, x->shape, (size_t)x->rank * sizeof *dims);
  dims[x->rank - 2] = size;
  s = infer_state(call, 1, x->dtype, x->rank - 1, dims);
  dims[x->rank - 2] = n_frames * a->frame_step;
  if (!s) tn_infer_shape(call, 0, x->dtype, x->rank - 1, dims);
  return s;
}

/* Adds frames of a row to what is left of those before: a step of each sum is done. */
static void add_i16(const int16_t *x, int16_t *sum, int64_t size) {
  for (int64_t k = 0; k < size; k++) {
    const int32_t v = x[k] + sum[k];
    sum[k] = (int16_t)(v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v);
  }
}
static void add_f32(const float *x, float *sum, int64_t size) {
  for (int64_t k = 0; k < size; k++) sum[k] += x[k];
}

tn_status signal_overlap_add_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                               uint32_t worker) {
  const tn_signal_overlap_add_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const int64_t size = x->shape[x->rank - 1], n_frames = x->shape[x->rank - 2],
                rows = tn_dims_size(x->shape, x->rank - 2);
  const size_t each = (size_t)tn_dtype_bytes(x->dtype, 1), step = (size_t)a->frame_step * each,
               frame = (size_t)size * each;
  const uint8_t *in = x->data;
  uint8_t *y = call->outputs[0]->data, *sum = take_over(call, 1);
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t row = 0; row < rows; row++, sum += frame)
    for (int64_t k = 0; k < n_frames; k++, in += frame, y += step) {
      if (x->dtype == TN_I16)
        add_i16((const int16_t *)(const void *)in, (int16_t *)(void *)sum, size);
      else
        add_f32((const float *)(const void *)in, (float *)(void *)sum, size);
      memcpy(y, sum, step);
      memmove(sum, sum + step, frame - step);
      memset(sum + frame - step, 0, step);
    }
  return TN_OK;
}

/* ---- SignalFilterBankSpectralSubtraction ---- */

tn_status signal_filter_bank_spectral_subtraction_infer(const tn_call *call) {
  const tn_signal_filter_bank_spectral_subtraction_attrs *a = call->attrs;
  const struct {
    const char *name;
    int64_t value, least, most;
  } bounds[] = {
      {"num_channels", a->num_channels, 0, INT32_MAX},
      {"smoothing", a->smoothing, INT32_MIN, INT32_MAX},
      {"one_minus_smoothing", a->one_minus_smoothing, INT32_MIN, INT32_MAX},
      {"alternate_smoothing", a->alternate_smoothing, INT32_MIN, INT32_MAX},
      {"alternate_one_minus_smoothing", a->alternate_one_minus_smoothing, INT32_MIN, INT32_MAX},
      {"min_signal_remaining", a->min_signal_remaining, INT32_MIN, INT32_MAX},
      {"smoothing_bits", a->smoothing_bits, 0, 31},
      {"spectral_subtraction_bits", a->spectral_subtraction_bits, 0, 63}};
  tn_status s = check_outputs(call, 3);
  if (!s) s = check_row(call, 0, "input");
  for (size_t k = 0; k < sizeof bounds / sizeof *bounds && !s; k++)
    s = check_int(call, bounds[k].name, bounds[k].value, bounds[k].least, bounds[k].most);
  if (s) return s;
  if (call->inputs[0]->shape[0] != a->num_channels)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "input has %lld elements, but attribute 'num_channels' is %lld",
                            (long long)call->inputs[0]->shape[0], (long long)a->num_channels);
  s = tn_infer_like(call, 0, 0);
  if (!s) s = tn_infer_like(call, 1, 0);
  return s ? s : infer_state(call, 2, TN_U32, 1, &a->num_channels);
}

/* The noise of a channel follows its signal, smoothed; what is left of the signal is not below a
 * part of it. */
tn_status signal_filter_bank_spectral_subtraction_c(const tn_call *call, uint32_t stage,
                                                    int64_t begin, int64_t end, uint32_t worker) {
  const tn_signal_filter_bank_spectral_subtraction_attrs *a = call->attrs;
  const uint32_t *x = call->inputs[0]->data;
  uint32_t *y = call->outputs[0]->data, *shown = call->outputs[1]->data,
           *noise = take_over(call, 2);
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < a->num_channels; k++) {
    const uint32_t signal = x[k] << a->smoothing_bits,
                   now = (uint32_t)(k % 2 ? a->alternate_smoothing : a->smoothing),
                   old = (uint32_t)(k % 2 ? a->alternate_one_minus_smoothing
                                          : a->one_minus_smoothing);
    const uint32_t estimate = (uint32_t)(((uint64_t)signal * now + (uint64_t)noise[k] * old) >>
                                         a->spectral_subtraction_bits);
    const uint32_t taken = estimate < signal ? estimate : signal,
                   rest = (signal - taken) >> a->smoothing_bits,
                   least = (uint32_t)((uint64_t)x[k] * (uint32_t)a->min_signal_remaining >>
                                      a->spectral_subtraction_bits);
    noise[k] = a->clamping ? taken : estimate;
    y[k] = rest > least ? rest : least;
    shown[k] = noise[k];
  }
  return TN_OK;
}
