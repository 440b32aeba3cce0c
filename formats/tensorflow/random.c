/* Numbers drawn at random: other ones than TensorFlow's, of the same distribution. */
#include "lower.h"
#include "tensorflow.gen.h"

static int32_t drawn(const tn_lowering *l, const char *op, uint32_t dtype, tn_status *out_status) {
  int64_t shape[TN_MAX_RANK], n;
  *out_status = lo_const_ints(l, 0, shape, TN_MAX_RANK, &n);
  if (*out_status) return TN_NO_ID;
  const int64_t seed = tn_low_int(l, "seed", 0);
  const tn_attr attrs[] = {tn_attr_ints("shape", (tn_ints){shape, n}),
                           tn_attr_int("dtype", tn_onnx_of_dtype(dtype)),
                           tn_attr_float("seed", (double)seed)};
  return tn_low_emit(l, op, NULL, 0, attrs, seed ? 3 : 2);
}

static tn_status draw(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering l = tn_low_open(call, graph, node);
  tn_status s;
  const uint32_t dtype = tn_dtype_of_onnx(tn_low_int(&l, "dtype", tn_onnx_of_dtype(TN_F32)));
  const int32_t y = drawn(&l, op, dtype, &s);
  return s ? s : tn_low_done(&l, y);
}

tn_status tf_random_uniform(const tn_call *call, tn_graph *graph, int32_t node) {
  return draw(call, graph, node, "RandomUniform");
}

tn_status tf_random_normal(const tn_call *call, tn_graph *graph, int32_t node) {
  return draw(call, graph, node, "RandomNormal");
}

/* Whole numbers from input 1 up to, and without, input 2. */
tn_status tf_random_uniform_int(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  tn_status s;
  const int32_t u = drawn(&l, "RandomUniform", TN_F64, &s);
  if (s) return s;
  const int32_t from = tn_low_cast(&l, tn_low_in(&l, 1), TN_F64),
                to = tn_low_cast(&l, tn_low_in(&l, 2), TN_F64);
  const int32_t y =
      tn_low_2(&l, "Add", tn_low_2(&l, "Mul", u, tn_low_2(&l, "Sub", to, from)), from);
  return tn_low_done(&l, tn_low_cast(&l, tn_low_1(&l, "Floor", y), tn_low_type(&l, 1)->dtype));
}
