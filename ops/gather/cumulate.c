/* CumSum and CumProd: inference and references. */
#include "cumulate.h"

tn_status cumulate_infer(const tn_call *call) {
  if (tn_elements(call->inputs[1]) != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "axis must be one element");
  return tn_infer_like(call, 0, 0);
}

/* Every element by itself, from all that come before it. */
static tn_status reference(const tn_call *call, const cumulation *c) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  bool ints = tn_dtype(in->dtype)->is_int;
  int64_t from[TN_MAX_RANK], coord[TN_MAX_RANK], size = in->shape[c->axis];
  for (int64_t i = 0; i < tn_elements(in); i++) {
    double x = c->product;
    uint64_t n = c->product;
    tn_coords_of(in, i, coord);
    for (int64_t k = 0; k < size; k++) {
      int64_t ahead = c->reverse ? k - coord[c->axis] : coord[c->axis] - k;
      if (ahead < 0 || (ahead == 0 && c->exclusive)) continue;
      memcpy(from, coord, sizeof from);
      from[c->axis] = k;
      double y = tn_load_f64(in->dtype, in->data, tn_index_of(in, from));
      uint64_t m = ints ? (uint64_t)tn_load_i64(in->dtype, in->data, tn_index_of(in, from)) : 0;
      x = c->product ? x * y : x + y;
      n = c->product ? n * m : n + m;
    }
    if (ints)
      tn_store_i64(out->dtype, out->data, i, (int64_t)n);
    else
      tn_store_f64(out->dtype, out->data, i, x);
  }
  return TN_OK;
}

tn_status cum_sum_reference(const tn_call *call) {
  cumulation c;
  tn_status s = cumulate_parse_sum(call, &c);
  return s ? s : reference(call, &c);
}

tn_status cum_prod_reference(const tn_call *call) {
  cumulation c;
  tn_status s = cumulate_parse_product(call, &c);
  return s ? s : reference(call, &c);
}
