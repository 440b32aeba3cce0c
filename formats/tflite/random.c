/* Operators that draw numbers: other ones than LiteRT does, by the seeds of the file; with none,
 * new ones each time. */
#include "lower.h"
#include "tenon/kit/onnx_dtype.h"
#include "tflite.gen.h"

/* Both seeds as one attribute, behind `n` others: how many there are then. */
static uint32_t with_seed(const tn_lowering *t, tn_attr *attrs, uint32_t n) {
  enum { PRIME = 8191, BITS = (1 << 24) - 1 }; /* numbers that f32 has */
  const uint64_t seed = (uint64_t)tn_low_int(t, "seed", 0),
                 second = (uint64_t)tn_low_int(t, "seed2", 0);
  if (!seed && !second) return n;
  attrs[n] = tn_attr_float("seed", (double)((seed * PRIME + second) & BITS));
  return n + 1;
}

/* Of the shape that input 0 says. */
static tn_status drawn(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering t = tn_low_open(call, graph, node);
  tn_attr attrs[2] = {tn_attr_int("dtype", tn_onnx_of_dtype(TN_F32))};
  const int32_t room = tn_low_1(&t, "ConstantOfShape", tn_low_in_i64(&t, 0));
  return tn_low_done(&t, tn_low_emit(&t, op, &room, 1, attrs, with_seed(&t, attrs, 1)));
}

tn_status tflite_random_uniform(const tn_call *call, tn_graph *graph, int32_t node) {
  return drawn(call, graph, node, "RandomUniformLike");
}
tn_status tflite_random_standard_normal(const tn_call *call, tn_graph *graph, int32_t node) {
  return drawn(call, graph, node, "RandomNormalLike");
}

tn_status tflite_multinomial(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t count[TN_MAX_RANK], n;
  const tn_status s = tfl_const_dims(&t, 1, count, &n);
  if (s) return s;
  if (n != 1 || count[0] < 0) return tn_low_unsupported(&t, "a number of draws like this");
  tn_attr attrs[3] = {tn_attr_int("sample_size", count[0]),
                      tn_attr_int("dtype", tn_low_int(&t, "out_dtype", tn_onnx_of_dtype(TN_I64)))};
  const int32_t x = tn_low_in(&t, 0);
  return tn_low_done(&t, tn_low_emit(&t, "Multinomial", &x, 1, attrs, with_seed(&t, attrs, 2)));
}
