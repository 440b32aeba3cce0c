/* Fourier transforms and complex numbers, which ai.onnx has as pairs in a last dim. */
#include "lower.h"
#include "tflite.gen.h"

static int32_t unsqueezed(const tn_lowering *t, int32_t x, int64_t axis) {
  return tn_low_2(t, "Unsqueeze", x, tn_low_ints_const(t, &axis, 1));
}

/* DFT of a dim cut or filled up with zeros to `length`. */
static int32_t dft(const tn_lowering *t, int32_t x, int64_t length, int64_t axis, bool half) {
  const tn_tensor of_axis = tn_tensor_make(TN_I64, 0, NULL, &axis),
                  of_length = tn_tensor_make(TN_I64, 0, NULL, &length);
  const int32_t inputs[] = {x, tn_emit_const(t->call, t->graph, &of_length),
                            tn_emit_const(t->call, t->graph, &of_axis)};
  const tn_attr onesided = tn_attr_int("onesided", half);
  return tn_low_emit(t, "DFT", inputs, 3, &onesided, 1);
}

/* Rows become half of a spectrum each, then columns whole ones. */
tn_status tflite_rfft2d(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  int64_t lengths[TN_MAX_RANK], n;
  const tn_status s = tfl_const_dims(&t, 1, lengths, &n);
  if (s) return s;
  if (x->dtype != TN_F32 || x->rank < 2 || x->rank == TN_MAX_RANK || n != 2 || lengths[0] < 1 ||
      lengths[1] < 1)
    return tn_low_unsupported(&t, "other than f32 with at least two dims and two positive lengths");
  const bool is_row = lengths[0] == 1 && x->shape[x->rank - 2] == 1;
  int32_t y = dft(&t, unsqueezed(&t, tn_low_in(&t, 0), -1), lengths[1], -2, true);
  if (!is_row) y = dft(&t, y, lengths[0], -3, false);
  return tn_low_done(&t, tn_low_1(&t, "tenon::Complex", y));
}

static int32_t part(const tn_lowering *t, double index) {
  const int32_t inputs[] = {tn_low_1(t, "tenon::ComplexParts", tn_low_in(t, 0)),
                            tn_low_number(t, TN_I64, index)};
  const tn_attr axis = tn_attr_int("axis", -1);
  return tn_low_emit(t, "Gather", inputs, 2, &axis, 1);
}

tn_status tflite_real(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t, part(&t, 0));
}

tn_status tflite_imag(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t, part(&t, 1));
}

tn_status tflite_complex_abs(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int64_t last = -1;
  const int32_t inputs[] = {tn_low_1(&t, "tenon::ComplexParts", tn_low_in(&t, 0)),
                            tn_low_ints_const(&t, &last, 1)};
  const tn_attr keeps = tn_attr_int("keepdims", 0);
  return tn_low_done(&t, tn_low_emit(&t, "ReduceL2", inputs, 2, &keeps, 1));
}
