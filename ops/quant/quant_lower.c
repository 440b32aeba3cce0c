/* Quantised operators of Tenon's own in those of ai.onnx, for files: numbers between
 * DequantizeLinear and QuantizeLinear. They agree to one step, for those round elsewhere. */
#include "quant.gen.h"
#include "tenon/kit/lowering.h"

static tn_status two(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering l = tn_low_open(call, graph, node);
  if (!tn_low_for_onnx(&l)) return TN_ERR_UNSUPPORTED;
  const tn_quant_add_attrs *a = call->attrs;
  const bool subtracts = *op == 'A' && a->b_scale < 0;
  const int32_t x = tn_low_dequantize(&l, tn_low_in(&l, 0), tn_low_type(&l, 0)->dtype, a->a_scale,
                                      a->a_zero),
                y = tn_low_dequantize(&l, tn_low_in(&l, 1), tn_low_type(&l, 1)->dtype,
                                      subtracts ? -a->b_scale : a->b_scale, a->b_zero);
  return tn_low_done(
      &l, tn_low_quantize_within(&l, tn_low_2(&l, subtracts ? "Sub" : op, x, y),
                                 (uint32_t)a->y_dtype, a->y_scale, a->y_zero, a->lo, a->hi));
}

tn_status quant_add_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return two(call, graph, node, "Add");
}

tn_status quant_mul_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return two(call, graph, node, "Mul");
}

/* Places in the table count from its end where they are negative: code -1 is 255. */
tn_status quant_table_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  if (!tn_low_for_onnx(&l)) return TN_ERR_UNSUPPORTED;
  return tn_low_done(
      &l, tn_low_2(&l, "Gather", tn_low_in(&l, 1), tn_low_cast(&l, tn_low_in(&l, 0), TN_I32)));
}

/* The factors, in f64, along dim 1 if there are several. */
static int32_t factors(const tn_lowering *l, const tn_fixed_scale_attrs *a) {
  const int64_t n = a->multipliers.size, shape[TN_MAX_RANK] = {1, n, 1, 1, 1, 1, 1, 1};
  const int32_t rank = tn_low_type(l, 0)->rank;
  double *data = l->call->host->alloc(l->call->ctx, (uint64_t)(n + 1) * sizeof *data);
  if (!data) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++)
    data[k] = ldexp((double)a->multipliers.data[k], (int)(a->shifts.data[k] - 31 + a->before));
  const tn_tensor t = tn_tensor_make(TN_F64, 1, &n, data);
  const int32_t value = tn_emit_const(l->call, l->graph, &t);
  l->call->host->free(l->call->ctx, data);
  return n == 1 || rank < 2 ? value : tn_low_reshape(l, value, rank, shape);
}

tn_status fixed_scale_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_fixed_scale_attrs *a = call->attrs;
  if (!tn_low_for_onnx(&l)) return TN_ERR_UNSUPPORTED;
  const int32_t x = tn_low_cast(&l, tn_low_in(&l, 0), TN_F64);
  int32_t y = tn_low_1(&l, "Round", tn_low_2(&l, "Mul", x, factors(&l, a)));
  if (a->zero) y = tn_low_2(&l, "Add", y, tn_low_number(&l, TN_F64, (double)a->zero));
  y = tn_low_clip(&l, y, TN_F64, (double)a->lo, (double)a->hi);
  return tn_low_done(&l, tn_low_cast(&l, y, (uint32_t)a->y_dtype));
}
