/* Operators of StableHLO, and of bits, that ai.onnx has in other words. */
#include "lower.h"
#include "tenon/kit/onnx_dtype.h"
#include "tflite.gen.h"

/* ---- element by element ---- */

/* Least, value, most. */
tn_status tflite_stablehlo_clamp(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t below = tn_low_2(&t, "Min", tn_low_in(&t, 1), tn_low_in(&t, 2));
  return tn_low_done(&t, tn_low_2(&t, "Max", below, tn_low_in(&t, 0)));
}

static tn_status logic(const tn_call *call, tn_graph *graph, int32_t node, const char *of_bools,
                       const char *of_bits) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const char *op = tn_low_type(&t, 0)->dtype == TN_BOOL ? of_bools : of_bits;
  return tn_low_done(&t, tn_low_2(&t, op, tn_low_in(&t, 0), tn_low_in(&t, 1)));
}

tn_status tflite_stablehlo_and(const tn_call *call, tn_graph *graph, int32_t node) {
  return logic(call, graph, node, "And", "BitwiseAnd");
}
tn_status tflite_stablehlo_or(const tn_call *call, tn_graph *graph, int32_t node) {
  return logic(call, graph, node, "Or", "BitwiseOr");
}

/* With the sign of the dividend. */
tn_status tflite_stablehlo_remainder(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_attr fmod = tn_attr_int("fmod", 1);
  const int32_t in[] = {tn_low_in(&t, 0), tn_low_in(&t, 1)};
  return tn_low_done(&t, tn_low_emit(&t, "Mod", in, 2, &fmod, 1));
}

tn_status tflite_stablehlo_rsqrt(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t, tn_low_1(&t, "Reciprocal", tn_low_1(&t, "Sqrt", tn_low_in(&t, 0))));
}

tn_status tflite_stablehlo_compare(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const ops[] = {"Equal",   "Equal",       "GreaterOrEqual",
                                    "Greater", "LessOrEqual", "Less"};
  enum { NOT_EQUAL = 1, DIRECTIONS = 6 };
  const tn_lowering t = tn_low_open(call, graph, node);
  const int64_t way = tn_low_int(&t, "comparison_direction", 0);
  if (way < 0 || way >= DIRECTIONS) return tn_low_unsupported(&t, "a comparison of this number");
  const int32_t y = tn_low_2(&t, ops[way], tn_low_in(&t, 0), tn_low_in(&t, 1));
  return tn_low_done(&t, way == NOT_EQUAL ? tn_low_1(&t, "Not", y) : y);
}

tn_status tflite_stablehlo_convert(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int64_t to = tn_low_int(&t, "out_dtype", 0);
  return tn_low_done(&t, tn_low_1_int(&t, "Cast", tn_low_in(&t, 0), "to", to));
}

/* ---- bits ---- */

static tn_status shifted(const tn_call *call, tn_graph *graph, int32_t node, const char *way) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_attr direction = tn_attr_str("direction", way);
  const int32_t in[] = {tn_low_in(&t, 0), tn_low_in(&t, 1)};
  return tn_low_done(&t, tn_low_emit(&t, "BitShift", in, 2, &direction, 1));
}

tn_status tflite_right_shift(const tn_call *call, tn_graph *graph, int32_t node) {
  return shifted(call, graph, node, "RIGHT");
}
tn_status tflite_stablehlo_shift_left(const tn_call *call, tn_graph *graph, int32_t node) {
  return shifted(call, graph, node, "LEFT");
}

tn_status tflite_bitcast(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int64_t to = tn_low_int(&t, "out_dtype", 0);
  const uint32_t dtype = tn_dtype_of_onnx(to), from = tn_low_type(&t, 0)->dtype;
  if (!dtype || tn_dtype(dtype)->bits != tn_dtype(from)->bits)
    return tn_low_unsupported(&t, "types of different widths");
  return tn_low_done(&t, tn_low_1_int(&t, "BitCast", tn_low_in(&t, 0), "to", to));
}

/* ---- moves ---- */

tn_status tflite_stablehlo_concatenate(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int32_t parts[256];
  const uint32_t n = call->n_inputs;
  if (!tfl_has_all(&t) || n > sizeof parts / sizeof *parts)
    return tn_low_unsupported(&t, "so many inputs");
  for (uint32_t k = 0; k < n; k++) parts[k] = tn_low_in(&t, k);
  return tn_low_done(&t, tfl_joined(&t, parts, n, tn_low_int(&t, "dimension", 0)));
}

tn_status tflite_stablehlo_slice(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t rank = tn_low_type(&t, 0)->rank;
  const tn_ints from = tn_low_ints(&t, "start_indices"), to = tn_low_ints(&t, "limit_indices"),
                steps = tn_low_ints(&t, "strides");
  if (from.size != rank || to.size != rank || steps.size != rank)
    return tn_low_unsupported(&t, "bounds that are not one for each dim");
  return tn_low_done(&t, tfl_slice(&t, tn_low_in(&t, 0), rank, from.data, to.data, steps.data));
}

tn_status tflite_stablehlo_transpose(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t rank = tn_low_type(&t, 0)->rank;
  const tn_ints perm = tn_low_ints(&t, "permutation");
  int32_t dims[TN_MAX_RANK];
  if (perm.size != rank) return tn_low_unsupported(&t, "a permutation of other dims");
  for (int32_t k = 0; k < rank; k++) {
    if (perm.data[k] < 0 || perm.data[k] >= rank)
      return tn_low_unsupported(&t, "a permutation of other dims");
    dims[k] = (int32_t)perm.data[k];
  }
  return tn_low_done(&t, tn_low_transpose(&t, tn_low_in(&t, 0), rank, dims));
}

/* The real root, of negative numbers, too. */
tn_status tflite_stablehlo_cbrt(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t x = tn_low_in(&t, 0), third = tn_low_number(&t, tn_low_type(&t, 0)->dtype, 1.0 / 3),
                root = tn_low_2(&t, "Pow", tn_low_1(&t, "Abs", x), third);
  return tn_low_done(&t, tn_low_2(&t, "Mul", tn_low_1(&t, "Sign", x), root));
}

/* Pad takes elements away where a number is negative, as this does. */
tn_status tflite_stablehlo_pad(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t rank = tn_low_type(&t, 0)->rank;
  const tn_ints low = tn_low_ints(&t, "edge_padding_low"),
                high = tn_low_ints(&t, "edge_padding_high"),
                between = tn_low_ints(&t, "interior_padding");
  int64_t pads[2 * TN_MAX_RANK], steps[TN_MAX_RANK], shape[TN_MAX_RANK];
  if (low.size != rank || high.size != rank || between.size != rank)
    return tn_low_unsupported(&t, "padding that is not one for each dim");
  bool is_dilated = false;
  for (int32_t k = 0; k < rank; k++) {
    if (between.data[k] < 0 || between.data[k] == INT64_MAX)
      return tn_low_unsupported(&t, "padding between elements below 0");
    is_dilated = is_dilated || between.data[k];
    pads[k] = low.data[k], pads[rank + k] = high.data[k];
    shape[k] = tn_low_type(&t, 0)->shape[k], steps[k] = between.data[k] + 1;
  }
  if (!is_dilated) return tn_low_done(&t, tfl_padded(&t, "constant", pads, tn_low_in(&t, 1)));
  const int32_t inputs[] = {tfl_dilated(&t, tn_low_in(&t, 0), rank, shape, steps, tn_low_in(&t, 1)),
                            tn_low_ints_const(&t, pads, 2 * rank), tn_low_in(&t, 1)};
  return tn_low_done(&t, tn_low_emit(&t, "Pad", inputs, 3, NULL, 0));
}
