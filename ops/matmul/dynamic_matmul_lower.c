/* tenon::DynamicMatMul in operators of ai.onnx, for files. */
#include "dynamic_matmul.h"
#include "tenon/kit/lowering.h"

/* Codes and their products are whole numbers in f32, exact up to 2^24. */
tn_status dynamic_matmul_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  static const int32_t swap[] = {1, 0};
  const int64_t last = -1;
  int32_t scale = TN_NO_ID;
  if (!tn_low_for_onnx(&l)) return TN_ERR_UNSUPPORTED;
  const bool trans = ((const tn_dynamic_mat_mul_attrs *)call->attrs)->transB != 0;
  int32_t b = tn_low_cast(&l, tn_low_in(&l, DYNAMIC_B), TN_F32);
  if (trans) b = tn_low_transpose(&l, b, 2, swap);
  const int32_t codes = tn_low_own_steps(&l, tn_low_in(&l, DYNAMIC_A), &last, 1, &scale);
  const int32_t factor = tn_low_2(&l, "Mul", scale, tn_low_in(&l, DYNAMIC_B_SCALE));
  int32_t y = tn_low_2(&l, "Mul", tn_low_2(&l, "MatMul", codes, b), factor);
  if (tn_low_type(&l, DYNAMIC_BIAS)) y = tn_low_2(&l, "Add", y, tn_low_in(&l, DYNAMIC_BIAS));
  return tn_low_done(&l, y);
}
