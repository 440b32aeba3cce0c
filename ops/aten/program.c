/* What programs of PyTorch ask of tensors beside computing: conditions, and numbers of dtypes. */
#include "aten.gen.h"
#include "aten.h"

/* ---- torch::Assert ---- */

tn_status torch_assert(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr *text = tn_pattern_attr(tn_low_node(&l), "text", TN_ATTR_STR);
  int64_t n;
  const tn_status s = tn_const_elements(call, 1, &n);
  if (s) return s;
  const tn_tensor *condition = tn_low_type(&l, 1);
  if (n != 1 || condition->dtype != TN_BOOL)
    return at_fail(&l, TN_ERR_INVALID, "its condition is not one bool");
  if (tn_load_i64(TN_BOOL, condition->data, 0)) return tn_low_done(&l, tn_low_in(&l, 0));
  return call->host->fail(call->ctx, TN_ERR_INVALID, "the program refuses these inputs: %.*s",
                          text ? (int)text->s.size : 0, text ? text->s.data : "");
}

/* ---- torch::DtypeNumber ---- */

tn_status torch_dtype_number(const tn_call *call, tn_graph *graph, int32_t node) {
  static const uint32_t dtypes[] = {TN_U8,   TN_I8,   TN_I16,  TN_I32,  TN_I64,  TN_F16,
                                    TN_F32,  TN_F64,  TN_NONE, TN_C64,  TN_C128, TN_BOOL,
                                    TN_NONE, TN_NONE, TN_NONE, TN_BF16, TN_NONE};
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  for (int64_t k = 0; k < (int64_t)(sizeof dtypes / sizeof *dtypes); k++)
    if (dtypes[k] == x->dtype) return tn_low_done(&l, at_int_const(&l, TN_I64, k));
  return tn_low_unsupported(&l, "PyTorch has no number for this dtype");
}
