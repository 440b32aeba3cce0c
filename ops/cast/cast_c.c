/* Portable kernels of Cast and BitCast between numbers: those of cast_number.h, and 8-bit floats
 * and types below a byte element by element. */
#include "cast.gen.h"
#include "cast.h"
#include "cast_number.h"
#include "tenon/kit/narrow.h"
#include "tenon/kit/onnx_dtype.h"

/* ---- Drivers ---- */

/* How 8-bit floats come about: do they saturate, and for f8e8m0 how they round. */
typedef enum round_mode { ROUND_UP, ROUND_DOWN, ROUND_NEAREST } round_mode;
typedef struct cast_options {
  bool saturate;
  round_mode mode;
} cast_options;

/* f8e8m0 as a power of two, 2^(bits - 127), of |value|, ties up. Out of range, zero and
 * infinity: the nearest of the range if it saturates, else NaN (255). */
static uint8_t cast_e8m0(double value, cast_options o) {
  union {
    double f;
    uint64_t u;
  } v;
  v.f = value;
  v.u &= UINT64_MAX >> 1;
  if (v.f != v.f) return 255;
  const uint64_t fraction = v.u << 12;
  int64_t exponent = (int64_t)(v.u >> 52) - 1023 + 127;
  if (o.mode == ROUND_UP) exponent += fraction != 0;
  if (o.mode == ROUND_NEAREST) exponent += fraction >> 63 != 0;
  if (exponent < 0) return o.saturate ? 0 : 255;
  if (exponent > 254) return o.saturate ? 254 : 255;
  return (uint8_t)exponent;
}

static void cast_odd(const tn_tensor *x, const tn_tensor *y, int64_t i, cast_options o) {
  switch (y->dtype) {
    case TN_F8E8M0:
      ((uint8_t *)y->data)[i] = cast_e8m0(tn_load_f64(x->dtype, x->data, i), o);
      break;
    case TN_F8E4M3FN:
    case TN_F8E4M3FNUZ:
    case TN_F8E5M2:
    case TN_F8E5M2FNUZ:
      ((uint8_t *)y->data)[i] =
          tn_f64_to_f8(y->dtype, tn_load_f64(x->dtype, x->data, i), o.saturate);
      break;
    default: cast_element(x, y, i);
  }
}

/* Types below a byte: zeroes the bytes of [begin, end), begin at a byte, so that bits behind the
 * last element are zero. */
static void clear_packed(const tn_tensor *y, int64_t begin, int64_t end) {
  const int64_t bits = tn_dtype(y->dtype)->bits;
  if (bits >= 8 || begin >= end) return;
  memset((uint8_t *)y->data + begin * bits / 8, 0, (size_t)tn_ceil_div((end - begin) * bits, 8));
}

static void cast_range(const tn_tensor *x, const tn_tensor *y, int64_t begin, int64_t end,
                       cast_options o) {
  if (!cast_block(x, y, begin, end)) {
    clear_packed(y, begin, end);
    for (int64_t i = begin; i < end; i++) cast_odd(x, y, i, o);
  }
  if (y->layout != TN_PLAIN) tn_pads_zero(y, begin, end);
}

/* Elements per item: types below a byte are handed out in whole bytes. */
static int64_t unit_of(const tn_call *call) {
  return tn_dtype(call->outputs[0]->dtype)->bits < 8 ? 8 : 1;
}

tn_status cast_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const bool fast = loops[x->dtype][y->dtype] || goes_by_f32(x->dtype, y->dtype);
  const double ns = fast ? 0.4 : 8.0;
  const int64_t unit = unit_of(call), n = tn_storage_elements(y);
  if (unit == 1) return tn_plan_elementwise(call, out, ns);
  out->items[0] = tn_ceil_div(n, unit);
  out->grain[0] = (int64_t)(5000.0 / ns / (double)unit) + 1;
  out->cost_ns = 20.0 + ns * (double)n;
  return TN_OK;
}

/* For tenon::Cast, too, which has no options: attributes are not looked at. */
tn_status cast_number_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  (void)stage, (void)worker;
  const int64_t unit = unit_of(call), n = tn_storage_elements(call->outputs[0]);
  const cast_options o = {true, ROUND_NEAREST};
  cast_range(call->inputs[0], call->outputs[0], begin * unit, tn_min_i64(end * unit, n), o);
  return TN_OK;
}

tn_status cast_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const tn_cast_attrs *a = call->attrs;
  const int64_t unit = unit_of(call), n = tn_storage_elements(call->outputs[0]);
  const round_mode mode = a->round_mode.size == 2   ? ROUND_UP
                          : a->round_mode.size == 4 ? ROUND_DOWN
                                                    : ROUND_NEAREST;
  const cast_options o = {a->saturate != 0, mode};
  cast_range(call->inputs[0], call->outputs[0], begin * unit, tn_min_i64(end * unit, n), o);
  return TN_OK;
}

/* ---- BitCast ---- */

tn_status bit_cast_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->in_place[0] = 0;
  return TN_OK;
}

tn_status bit_cast_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const int64_t bytes = tn_bytes(call->inputs[0]);
  if (bytes > 0 && call->outputs[0]->data != call->inputs[0]->data) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)bytes);
  }
  return TN_OK;
}
