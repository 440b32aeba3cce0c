/* tenon::GroupedMatMul in operators of ai.onnx, for files: a row takes the matrix of its group. */
#include "grouped_matmul.h"
#include "tenon/kit/lowering.h"

static int32_t row_numbers(const tn_lowering *l, int64_t rows) {
  const int32_t range[] = {tn_low_number(l, TN_I64, 0), tn_low_number(l, TN_I64, (double)rows),
                           tn_low_number(l, TN_I64, 1)};
  const int64_t shape[] = {rows, 1};
  return tn_low_reshape(l, tn_low_emit(l, "Range", range, 3, NULL, 0), 2, shape);
}

tn_status grouped_matmul_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  grouped p;
  const tn_status s = grouped_of(call, &p);
  if (s || !tn_low_for_onnx(&l) || !p.groups) return s ? s : TN_ERR_UNSUPPORTED;
  const int64_t one = 1, row[] = {p.rows, 1, p.k}, out[] = {p.rows, p.n};
  /* the groups that end at a row or before it come before its own */
  const int32_t is_past =
      tn_low_2(&l, "GreaterOrEqual", row_numbers(&l, p.rows), tn_low_in_i64(&l, GROUPED_ENDS));
  const int32_t before[] = {tn_low_cast(&l, is_past, TN_I64), tn_low_ints_const(&l, &one, 1)};
  const tn_attr keeps = tn_attr_int("keepdims", 1), drops = tn_attr_int("keepdims", 0);
  const int32_t group = tn_low_2(&l, "Min", tn_low_emit(&l, "ReduceSum", before, 2, &drops, 1),
                                 tn_low_number(&l, TN_I64, (double)(p.groups - 1)));
  const int32_t count = tn_low_emit(&l, "ReduceSum", before, 2, &keeps, 1);
  const int32_t has_one = tn_low_2(&l, "Less", count, tn_low_number(&l, TN_I64, (double)p.groups));
  const int32_t matrix = tn_low_2(&l, "Gather", tn_low_in(&l, GROUPED_B), group);
  const int32_t a = tn_low_reshape(&l, tn_low_in(&l, GROUPED_A), 3, row);
  const int32_t y = tn_low_reshape(&l, tn_low_2(&l, "MatMul", a, matrix), 2, out);
  return tn_low_done(&l, tn_low_3(&l, "Where", has_one, y, tn_low_number(&l, TN_F32, 0)));
}
